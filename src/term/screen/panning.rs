//! How many bytes panning takes on a busy timeline, over every step.

use super::tests::Bench;
use super::*;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

const AREA: Rect = Rect::new(0, 0, 200, 60);
const LABELS: u16 = 18;
const TRACKS: std::ops::Range<u16> = 3..52;

/// A reproducible number for a pair.
fn hash(a: u64, b: u64) -> u64 {
    let mut h = (a ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ b.wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^= h >> 29;
    h.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 17
}

const FILLS: [Color; 8] = [
    Color::Rgb(246, 163, 27),
    Color::Rgb(4, 180, 232),
    Color::Rgb(242, 102, 62),
    Color::Rgb(177, 184, 147),
    Color::Rgb(112, 120, 248),
    Color::Rgb(254, 218, 87),
    Color::Rgb(163, 129, 163),
    Color::Rgb(188, 54, 15),
];

/// A frame of a busy profile: header, overview and ruler, tracks full of slices of 2 to 13 columns with their names,
/// every third track a density row, a pane and a footer. Column `from` of the profile is the leftmost one shown.
fn timeline(from: i64, background: Color) -> Buffer {
    let back = Style::new().fg(Color::Rgb(216, 220, 227)).bg(background);
    let mut frame = Buffer::empty(AREA);
    frame.set_style(AREA, back);
    frame.set_string(0, 0, format!(" neuron-scope  fused_exec_2   window {from}–{} µs", from + 182), back);
    frame.set_string(0, 1, " overview  ▁▂▅▇█▇▆▅▅▅▆▇▇███▇▅▃▂▁", back);
    for x in LABELS..AREA.width {
        let column = from + i64::from(x - LABELS);
        if column % 20 == 0 {
            frame.set_string(x, 2, "╷", back.fg(Color::Rgb(164, 173, 187)));
        }
    }
    for y in TRACKS {
        frame.set_string(1, y, format!("Track {y:02}      {:02}", hash(u64::from(y), 7) % 100), back);
        for x in LABELS..AREA.width {
            let column = from + i64::from(x - LABELS);
            let cell = &mut frame[(x, y)];
            if y % 3 == 0 {
                let level = hash(u64::from(y), (column / 2) as u64) % 8;
                cell.set_symbol(["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"][level as usize]).set_fg(FILLS[1]);
                continue;
            }
            // Slices start at the multiples of a pitch of the track's own and leave the last column of it free.
            let pitch = 3 + i64::from(y % 12);
            let (slice, at) = (column.div_euclid(pitch), column.rem_euclid(pitch));
            let kind = hash(u64::from(y), slice as u64);
            match kind % 8 {
                6 if at + 1 < pitch => {
                    cell.set_symbol("─").set_fg(Color::Rgb(154, 123, 200));
                }
                7 => {}
                _ if at + 1 < pitch => {
                    let name = b"MATMUL      ";
                    let c = char::from(name[at as usize % name.len()]);
                    cell.set_char(c).set_style(Style::new().fg(Color::Rgb(0, 0, 0)).bg(FILLS[kind as usize % 6]));
                }
                _ => {}
            }
        }
    }
    frame.set_string(0, 52, "─".repeat(200), back);
    frame.set_string(1, 53, "MATMUL  pc 316  TensorMatrix nc0   18.172 014 – 18.444 286   272 ns", back);
    frame.set_string(0, 59, " a/d pan  w/s zoom  h/l cursor  ? help", back);
    frame
}

/// The most bytes a pan takes for each step, and what repainting takes.
fn measure(background: Color, repeat: bool) -> Vec<(i64, usize, usize)> {
    let rows = usize::from(TRACKS.end - TRACKS.start) + 1;
    let area = Rect::new(LABELS, 2, AREA.width - LABELS, TRACKS.end - 2);
    let mut bench = Bench::new(AREA, Capabilities { repeat, ..Capabilities::default() });
    let mut from = 100_000;
    bench.draw(&timeline(from, background), None, None);
    let steps = [1, 2, 4, 8, 16, 23, 45, 90].map(|step| {
        let mut most = 0;
        for direction in [1, 1, -1, 1, -1, -1] {
            from += step * direction;
            let hint = ShiftHint { area, columns: (-step * direction) as i16 };
            let stats = bench.draw(&timeline(from, background), None, Some(hint));
            assert!(stats.shifted_rows + 2 >= rows, "only {} rows were moved", stats.shifted_rows);
            most = most.max(stats.bytes);
        }
        from += step;
        (step, most, bench.draw(&timeline(from, background), None, None).bytes)
    });
    steps.to_vec()
}

#[test]
fn panning_stays_within_its_bytes() {
    for (background, repeat) in [(Color::Reset, false), (Color::Rgb(18, 20, 26), false), (Color::Rgb(18, 20, 26), true)]
    {
        let table = measure(background, repeat);
        println!("background {background}, repeat {repeat}: {table:?}");
        for &(step, most, painted) in &table {
            let limit = match step {
                ..=4 => 4096,
                5..=23 => 1024 + 90 * usize::from(AREA.height),
                // Here every column differs from its neighbours, unlike in profiles: their characters alone take more.
                _ => painted * 2 / 3,
            };
            assert!(most <= limit, "step {step} took {most} bytes, {painted} without moving: {table:?}");
        }
    }
}
