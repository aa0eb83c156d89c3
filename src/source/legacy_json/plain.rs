//! Event tables that need no more than times, a subgraph and a text or two per row.

use super::events::{EventRows, From, When};
use super::interner::{Texts, Values};
use super::token::Raw;
use crate::store::builder::TableInput;
use crate::store::{GroupKey, LabelKind};

/// Rows of such a table.
pub struct Plain {
    /// Times and codes of the rows.
    pub rows: EventRows,
    /// Subgraph and text of each lane.
    lanes: Values<(u32, u32)>,
    texts: Texts,
    names: Texts,
}

impl Default for Plain {
    fn default() -> Plain {
        Plain {
            rows: EventRows::with_columns(1),
            lanes: Values::starting_with((u32::MAX, 0)),
            texts: Texts::default(),
            names: Texts::default(),
        }
    }
}

impl Plain {
    /// Adds a row; `text` decides, with the subgraph, on its group.
    pub fn push(&mut self, when: Option<When>, flags: u8, subgraph: u32, text: Raw, name: Raw) {
        let lane = self.lanes.key((subgraph, self.texts.key(text)));
        self.rows.push(when, flags, lane, &[self.names.key(name)]);
    }

    /// The table. `group` makes a group of a lane's subgraph and text, and says what its events are called where the rows
    /// have no names of their own.
    pub fn table(&self, name: &str, unit: i64, group: impl Fn(u32, &str) -> (GroupKey, String)) -> TableInput {
        let lanes = self.lanes.entries().iter().map(|&(subgraph, text)| group(subgraph, self.texts.get(text)));
        let (groups, lane_names) = lanes.unzip();
        let label = match self.names.entries() {
            [_] => (LabelKind::Name, From::Lane, lane_names),
            names => (LabelKind::Name, From::Column(0), names.to_vec()),
        };
        self.rows.table(name, unit, groups, vec![label], Vec::new(), false)
    }
}
