//! A row of values: bars of eighths of a line, over as many lines as there are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::timeline::Timeline;
use crate::store::Level;

/// Draws values between `scale.0` and `scale.1` as bars over the lines of `area`: up to the mean in `color(level)`, and from
/// there to the greatest value fainter, where there are several lines. What is more than nothing never looks like
/// nothing.
pub(super) fn draw(
    timeline: &Timeline,
    area: Rect,
    levels: &[Option<Level>],
    scale: (f64, f64),
    color: impl Fn(&Level) -> Color,
    buffer: &mut Buffer,
) {
    let steps = 8.0 * f64::from(area.height);
    let eighths = |value: f64| {
        let share = ((value - scale.0) / (scale.1 - scale.0)).clamp(0.0, 1.0);
        let eighths = (share * steps).round();
        if share > 0.0 { eighths.max(1.0) as u16 } else { 0 }
    };
    let visible = levels.iter().skip(1).take(usize::from(area.width));
    for (k, level) in visible.enumerate().filter_map(|(k, level)| Some((k, level.as_ref()?))) {
        let (mean, max) = (eighths(level.mean), eighths(level.max));
        let color = color(level);
        let x = area.x + k as u16;
        for line in 0..area.height {
            let below = 8 * (area.height - 1 - line);
            let Some(cell) = buffer.cell_mut((x, area.y + line)) else { continue };
            let part = mean.saturating_sub(below).min(8);
            let most = if area.height > 1 { max.saturating_sub(below).min(8) } else { part };
            let faint = timeline.theme.faint;
            let glyphs = timeline.glyphs;
            match (part, most) {
                (0, 0) if line + 1 == area.height => {
                    // Recorded, and nothing; in ASCII a dot is the second level.
                    let nothing = if glyphs.ascii { glyphs.blank } else { glyphs.tick_minor };
                    cell.set_symbol(nothing).set_style(Style::new().fg(faint));
                }
                (0, 0) => {}
                (0, _) if timeline.plain => {
                    cell.set_symbol(glyphs.shades[0]);
                }
                (0, most) => {
                    cell.set_symbol(glyphs.levels[usize::from(most) - 1]).set_style(Style::new().fg(faint));
                }
                (part, most) => {
                    let style = Style::new().fg(color);
                    // What lies above the mean in the same line shows behind it.
                    let style = if most == 8 && part < 8 && !timeline.plain { style.bg(faint) } else { style };
                    cell.set_symbol(glyphs.levels[usize::from(part) - 1]).set_style(style);
                }
            }
        }
    }
}
