//! The two lines at the top: which profile and window, and the window's figures.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::theme::Theme;
use crate::model::format::format_rate;
use crate::model::time::{TimeFormat, format_duration};
use crate::model::{Engine, Window};
use crate::query::window::{Bound, Figures};
use crate::term::glyphs::Glyphs;
use crate::term::text;

/// What the header says.
pub struct Header<'a> {
    /// Name of the profile.
    pub name: &'a str,
    /// The instance it ran on, where known: `trn2.48xlarge`.
    pub instance: Option<&'a str>,
    /// Number of physical cores.
    pub cores: usize,
    /// The whole profile.
    pub whole: Window,
    /// The window on screen.
    pub window: Window,
    /// Number of warnings and problems.
    pub warnings: usize,
    /// What is being done, while the profile opens.
    pub progress: Option<&'a str>,
    /// The figures of the window.
    pub figures: &'a Figures,
}

/// A piece of a line: the higher the rank, the sooner it is left out where there is no room.
struct Piece<'a> {
    text: Cow<'a, str>,
    style: Style,
    rank: u8,
    /// Whether it stands at the right end.
    right: bool,
}

impl Header<'_> {
    /// Draws both lines into `area`.
    pub fn draw(&self, area: Rect, theme: &Theme, glyphs: &Glyphs, buffer: &mut Buffer) {
        buffer.set_style(Rect { height: area.height.min(2), ..area }, Style::new().fg(theme.text).bg(theme.bar));
        if area.height > 0 {
            line(Rect { height: 1, ..area }, self.first(theme, glyphs), buffer);
        }
        if area.height > 1 {
            line(Rect { y: area.y + 1, height: 1, ..area }, self.second(theme), buffer);
        }
    }

    fn first(&self, theme: &Theme, glyphs: &Glyphs) -> Vec<Piece<'_>> {
        let plain = Style::new().fg(theme.text);
        let dim = Style::new().fg(theme.dim);
        let bold = Style::new().fg(theme.title).add_modifier(Modifier::BOLD);
        let length = self.window.length();
        let largest = self.window.start.unsigned_abs().max(self.window.end.unsigned_abs());
        let format = TimeFormat::new(largest, (length / 100).max(1));
        let us = |text: String| if glyphs.ascii { text.replace("µs", glyphs.us) } else { text };
        let span = us(format!("{}{}{}", format.number(self.window.start), glyphs.dash, format.text(self.window.end)));
        let mut pieces = vec![
            Piece { text: "neuron-scope".into(), style: dim, rank: 9, right: false },
            Piece { text: text::truncate(self.name, 40), style: bold, rank: 0, right: false },
            Piece { text: cores_text(self.cores).into(), style: plain, rank: 5, right: false },
            Piece { text: us(format_duration(self.whole.length())).into(), style: plain, rank: 4, right: false },
            Piece { text: "window".into(), style: dim, rank: 8, right: true },
            Piece { text: span.into(), style: plain, rank: 1, right: true },
            Piece { text: us(format!("({})", format_duration(length))).into(), style: plain, rank: 3, right: true },
        ];
        if let Some(instance) = self.instance.filter(|i| !i.is_empty()) {
            pieces.insert(2, Piece { text: text::truncate(instance, 24), style: plain, rank: 7, right: false });
        }
        if self.warnings > 0 {
            let style = Style::new().fg(theme.warning).add_modifier(Modifier::BOLD);
            let words = if self.warnings == 1 { "warning" } else { "warnings" };
            pieces.push(Piece {
                text: format!("{}{}", glyphs.warning, self.warnings).into(),
                style,
                rank: 2,
                right: true,
            });
            pieces.push(Piece { text: words.into(), style, rank: 6, right: true });
        }
        if let Some(progress) = self.progress {
            pieces.push(Piece {
                text: text::truncate(progress, 40),
                style: Style::new().fg(theme.info),
                rank: 2,
                right: true,
            });
        }
        pieces
    }

    fn second(&self, theme: &Theme) -> Vec<Piece<'_>> {
        let figures = self.figures;
        let mut pieces = Vec::new();
        let mut add =
            |text: String, style: Style, rank, right| pieces.push(Piece { text: text.into(), style, rank, right });
        let plain = Style::new().fg(theme.text);
        let value = Style::new().fg(theme.value);
        let dim = Style::new().fg(theme.dim);
        for (engine, rank) in Engine::ALL.into_iter().zip([1, 8, 9, 10, 11]) {
            let text = self.engine(engine);
            if !text.is_empty() {
                add(text, if rank == 1 { value } else { plain }, rank, false);
            }
        }
        if figures.cores > 1 && figures.mfu.or(figures.mbu).is_some() {
            add("both cores:".replace("both", if figures.cores == 2 { "both" } else { "all" }), dim, 7, false);
        }
        let mut share = |name: &str, share: Option<f64>, rank: u8, missing: bool| match share {
            Some(share) => add(format!("{name} {}", percent(share)), plain, rank, false),
            None if missing => add(format!("{name} n/a"), dim, rank + 3, false),
            None => {}
        };
        share("MFU", figures.mfu, 2, true);
        share("HFU", figures.hfu, 3, false);
        share("MBU", figures.mbu, 2, true);
        share("spill/read", figures.spill, 5, false);
        share("throttled", figures.throttled, 4, false);
        if let Some(rate) = figures.dma_rate {
            add(format!("DMA {}", format_rate(rate)), plain, 4, false);
        }
        if let Some(bound) = figures.bound {
            let text = match bound {
                Bound::Compute => "compute-bound here",
                Bound::Memory => "memory-bound here",
                Bound::Latency => "latency-bound here",
            };
            add(text.into(), value, 3, true);
        }
        pieces
    }

    /// How active an engine is, of each core; empty where not recorded.
    fn engine(&self, engine: Engine) -> String {
        let name = if engine == Engine::Tensor { "TensorE" } else { engine.name() };
        let of_core: Vec<_> = self.figures.engines.iter().filter(|e| e.engine == engine).collect();
        let active = if engine == Engine::Tensor { " active" } else { "" };
        match of_core.as_slice() {
            [] => String::new(),
            [only] => format!("{name} {}{active}", percent(only.active)),
            several => {
                let each = |e: &&crate::query::window::EngineShare| {
                    format!("·{} {}", e.core.unwrap_or_default(), percent(e.active))
                };
                format!("{name}{}{active}", several.iter().map(each).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// A share in percent: with a decimal below ten, and never 0 for what is more than nothing.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0%".into(),
        p if p < 0.05 => "<0.1%".into(),
        p if p < 9.95 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

/// Draws pieces, two columns apart, leaving out what does not fit.
fn line(area: Rect, mut pieces: Vec<Piece>, buffer: &mut Buffer) {
    let room = usize::from(area.width).saturating_sub(2);
    let width = |pieces: &[Piece]| pieces.iter().map(|p| text::width(&p.text) + 2).sum::<usize>().saturating_sub(2);
    while width(&pieces) > room && pieces.len() > 1 {
        let Some(least) = (0..pieces.len()).rev().max_by_key(|&i| pieces[i].rank) else { break };
        pieces.remove(least);
    }
    let (right, left): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(|p| p.right);
    let mut draw = |x: u16, pieces: &[Piece]| {
        let mut x = x;
        for piece in pieces {
            let columns = usize::from(area.right().saturating_sub(x));
            buffer.set_string(x, area.y, text::truncate(&piece.text, columns), piece.style);
            x = x.saturating_add(text::width(&piece.text) as u16 + 2);
        }
    };
    draw(area.x + 1, &left);
    draw(area.right().saturating_sub(width(&right) as u16 + 1).max(area.x), &right);
}
/// A logical core has at most two physical ones; more are of several captures.
fn cores_text(cores: usize) -> String {
    if cores > 2 { format!("{cores} cores") } else { format!("LNC{cores}") }
}
