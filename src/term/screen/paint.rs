//! What has to be painted to turn one screen into another, and the shortest order to paint it in.
//!
//! In a busy timeline colours cost more than characters: a change to a 24-bit colour takes up to 19 bytes, a movement
//! to the next slice of the same colour four to eight. So what has one look is painted in one go, all over the screen,
//! unless going row by row turns out shorter.

use super::super::pen::Pen;
use super::super::tile::{Grid, Ink, Look, Tile};

/// Neighbours of one look in one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    y: usize,
    from: usize,
    to: usize,
    look: Look,
    /// Whether it holds nothing but blanks so far, whose text colour does not matter.
    blank: bool,
    /// Whether terminals may differ about its width.
    unsteady: bool,
    /// Whether only blanks follow, up to the end of the row.
    erase: bool,
}

impl Run {
    /// Whether a tile can be painted along with it; takes on the tile's look where only blanks came before.
    fn take(&mut self, tile: &Tile) -> bool {
        if tile.is_blank() && tile.look.on_blank(self.look) == self.look {
            return true;
        }
        if self.blank && !tile.is_blank() && self.look.on_blank(tile.look) == tile.look {
            (self.look, self.blank) = (tile.look, false);
            return true;
        }
        self.look == tile.look && self.blank == tile.is_blank()
    }

    /// Runs with equal keys follow each other at no cost but movement. What may be wider than it should comes first,
    /// row by row, so that its neighbours win.
    fn key(&self) -> (bool, Ink, u16, Ink) {
        match self.unsteady {
            true => (false, Ink::Default, 0, Ink::Default),
            false => (true, self.look.bg, self.look.modifier.bits(), self.look.fg),
        }
    }
}

/// Adds to `runs` what turns a row from `now` into `next`.
pub(super) fn row(y: usize, now: &[Tile], next: &[Tile], runs: &mut Vec<Run>) {
    let Some(last) = (0..next.len()).rev().find(|x| now[*x] != next[*x]) else {
        return;
    };
    let blank_from = next.iter().rposition(|tile| *tile != Tile::BLANK).map_or(0, |x| x + 1);
    let first = runs.len();
    let mut x = 0;
    while x <= last {
        let tile = &next[x];
        if now[x] == *tile {
            x += 1;
            continue;
        }
        // Nothing but blanks follows: erasing is three bytes, however many they are.
        let erase = x >= blank_from && last - x >= 3;
        let wide = next.get(x + 1).is_some_and(Tile::is_continuation);
        let to = if erase { next.len() } else { x + 1 + usize::from(wide) };
        let joined = runs[first..].last_mut().is_some_and(|run| !erase && joins(run, x, next));
        if let (true, Some(run)) = (joined, runs.last_mut()) {
            (run.to, run.unsteady) = (to, run.unsteady || !tile.is_steady(wide));
        } else {
            let unsteady = !tile.is_steady(wide);
            runs.push(Run { y, from: x, to, look: tile.look, blank: tile.is_blank(), unsteady, erase });
        }
        x = to;
    }
}

/// Whether a run can go on with the tile at `x`, painting again what lies between where that is shorter than moving.
fn joins(run: &mut Run, x: usize, next: &[Tile]) -> bool {
    let gap = &next[run.to..x];
    // The shortest movement to the right is three bytes, four from two columns on.
    let bytes: usize = gap.iter().map(|tile| tile.bytes().len()).sum();
    if gap.len() > 3 || bytes > if gap.len() == 1 { 2 } else { 3 } || !gap.iter().all(Tile::is_single) {
        return false;
    }
    let mut trial = *run;
    if !gap.iter().chain([&next[x]]).all(|tile| trial.take(tile)) {
        return false;
    }
    *run = trial;
    true
}

/// The bytes for all runs, in the order that is shorter; returns how many tiles were painted.
pub(super) fn paint(runs: &mut [Run], next: &Grid, repeat: bool, pen: &mut Pen, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let mut by_place = *pen;
    let tiles = encode(runs, next, repeat, &mut by_place, out);
    runs.sort_by_key(Run::key);
    let mut other = Vec::with_capacity(out.len() - start);
    let mut by_look = *pen;
    let again = encode(runs, next, repeat, &mut by_look, &mut other);
    if other.len() < out.len() - start {
        out.truncate(start);
        out.append(&mut other);
        *pen = by_look;
        return again;
    }
    *pen = by_place;
    tiles
}

/// The bytes for runs of one row, given the tiles of that row: what it costs.
pub(super) fn cost(runs: &[Run], row: &[Tile], repeat: bool, pen: Pen, scratch: &mut Vec<u8>) -> usize {
    scratch.clear();
    let mut pen = pen.adrift();
    for run in runs {
        one(run, row, repeat, &mut pen, scratch);
    }
    scratch.len()
}

fn encode(runs: &[Run], next: &Grid, repeat: bool, pen: &mut Pen, out: &mut Vec<u8>) -> usize {
    runs.iter().map(|run| one(run, next.row(run.y), repeat, pen, out)).sum()
}

/// Paints one run; returns how many tiles.
fn one(run: &Run, row: &[Tile], repeat: bool, pen: &mut Pen, out: &mut Vec<u8>) -> usize {
    let (y, width) = (run.y as u16, row.len() as u16);
    pen.go(run.from as u16, y, out);
    if run.erase {
        pen.erase_rest(out);
        return 0;
    }
    pen.dress(run.look, run.blank, out);
    let mut x = run.from;
    while x < run.to {
        let tile = &row[x];
        let wide = row.get(x + 1).is_some_and(Tile::is_continuation);
        // Behind what terminals see differently the column is not known.
        pen.go(x as u16, y, out);
        pen.put(tile, wide, width, out);
        x += 1 + usize::from(wide);
        if repeat && !wide && tile.is_single() {
            let same = row[x..run.to.max(x)].iter().take_while(|t| t.bytes() == tile.bytes()).count();
            let sequence = 4 + same.max(1).ilog10() as usize;
            if same * tile.bytes().len() > sequence {
                pen.repeat(same as u16, width, out);
                x += same;
            }
        }
    }
    run.to - run.from
}
