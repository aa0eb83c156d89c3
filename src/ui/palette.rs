//! Which colour an event has.

use std::cell::RefCell;

use ratatui::style::Color;
use rustc_hash::FxHashMap;

use super::theme::Theme;
use super::timeline::Coloring;
use crate::model::queue::base_name;
use crate::query::emphasis::Emphasis;
use crate::query::tracks::Node;
use crate::store::{EventTable, LabelKind};

/// Colours of events: by a hash of what is told apart, so they are the same at every zoom and in every run.
pub struct Palette<'a> {
    theme: &'a Theme,
    coloring: Coloring,
    /// Hashing a long path for every slice would cost more than drawing it.
    known: RefCell<FxHashMap<(u16, LabelKind, u32), Color>>,
}

impl<'a> Palette<'a> {
    /// The colours of a theme.
    #[must_use]
    pub fn new(theme: &'a Theme, coloring: Coloring) -> Palette<'a> {
        Palette { theme, coloring, known: RefCell::default() }
    }

    /// By which label of `table` event `e` has its colour, and the label's key; `None` where it has that of its track.
    #[must_use]
    pub fn key(&self, table: &EventTable, e: u32) -> Option<(LabelKind, u32)> {
        let kinds: &[LabelKind] = match self.coloring {
            Coloring::Engine => &[],
            Coloring::Operator | Coloring::Layer => &[LabelKind::Operator, LabelKind::Queue, LabelKind::Name],
            Coloring::Opcode => &[LabelKind::Name],
            Coloring::SourceLine => &[LabelKind::SourceLine, LabelKind::Queue, LabelKind::Name],
        };
        let keys = kinds.iter().filter_map(|&kind| Some((kind, table.label(kind)?.key(e as usize))));
        keys.into_iter().find(|&(_, key)| key != 0)
    }

    /// The colour of an event with this [`Palette::key`] of `table`, which is the store's table number `index`, on the
    /// track `node`.
    #[must_use]
    pub fn color(&self, table: &EventTable, index: u16, key: Option<(LabelKind, u32)>, node: &Node) -> Color {
        let Some((kind, key)) = key else { return self.engine(table, node) };
        let text = || table.label(kind).and_then(|labels| labels.entries.get(key as usize)).map_or("", String::as_str);
        *self.known.borrow_mut().entry((index, kind, key)).or_insert_with(|| self.of(kind, text()))
    }

    fn of(&self, kind: LabelKind, text: &str) -> Color {
        self.theme.category_of(match (kind, self.coloring) {
            (LabelKind::Operator, Coloring::Layer) => layer(text),
            (LabelKind::Queue, _) => base_name(text),
            _ => text,
        })
    }

    fn engine(&self, table: &EventTable, node: &Node) -> Color {
        match table.name.as_str() {
            "DmaPacket" | "DmaPacketAggregated" => self.theme.engine_dma,
            "CcOp" | "CcInstruction" => self.theme.engine_collective,
            "Error" => self.theme.error,
            "Throttle" => self.theme.throttle,
            _ => self.theme.engine(&node.label),
        }
    }

    /// The colour of what stands out, if it does.
    #[must_use]
    pub fn emphasis(&self, emphasis: Emphasis) -> Option<Color> {
        let theme = self.theme;
        Some(match emphasis {
            Emphasis::None => return None,
            Emphasis::SameName => theme.highlight,
            Emphasis::Match => theme.matched,
            Emphasis::PsumBank => theme.psum_bank,
            Emphasis::Ordered => theme.ordered,
            Emphasis::Output => theme.output,
            Emphasis::Anti => theme.anti,
            Emphasis::Flow => theme.flow,
            Emphasis::Transfer => theme.transfer,
            Emphasis::DmaStarter => theme.dma_starter,
            Emphasis::Chain => theme.window,
            Emphasis::CurrentMatch => theme.current_match,
            Emphasis::Selected => theme.selection,
        })
    }
}

/// The layer that an operator's path lies in: up to the last part with a number in brackets (`layers[3]`), else
/// without the operator itself.
#[must_use]
pub fn layer(path: &str) -> &str {
    let mut end = 0;
    let mut at = 0;
    for part in path.split('/') {
        let next = at + part.len();
        // `name[.3]` repeats the number of a layer above; `name[3]` is a layer.
        let numbered = part.split_once('[').and_then(|(_, n)| n.strip_suffix(']'));
        if numbered.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
            end = next;
        }
        at = next + 1;
    }
    if end > 0 { &path[..end] } else { path.rsplit_once('/').map_or(path, |(above, _)| above) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_found_in_paths() {
        assert_eq!(layer("Model/Decoder[1]/MLP[.1]/down_proj[.1]/aten.linear"), "Model/Decoder[1]");
        assert_eq!(layer("Model/lm_head/aten.linear"), "Model/lm_head");
        assert_eq!(layer("dot.4"), "dot.4");
        assert_eq!(layer(""), "");
    }
}
