//! The area selection: a stretch of time on some neighbouring tracks.

use crate::model::{Nanos, Window};

/// Two corners: where the selection was begun, and where it reaches to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// The time and the key of the track at which it was begun.
    pub from: (Nanos, String),
    /// The time and the key of the track to which it reaches.
    pub to: (Nanos, String),
    /// Whether it still follows the cursor.
    pub growing: bool,
}

impl Area {
    /// An area that is being begun.
    #[must_use]
    pub fn begin(time: Nanos, track: String) -> Area {
        Area { from: (time, track.clone()), to: (time, track), growing: true }
    }

    /// Its time, both ends included.
    #[must_use]
    pub fn window(&self) -> Window {
        let (a, b) = (self.from.0.min(self.to.0), self.from.0.max(self.to.0));
        Window::new(a, b.saturating_add(1))
    }

    /// The keys of its first and last track, in the order in which `position` counts.
    pub fn tracks(&self, position: impl Fn(&str) -> Option<usize>) -> Option<(usize, usize)> {
        let (a, b) = (position(&self.from.1), position(&self.to.1));
        let (a, b) = (a.or(b)?, b.or(a)?);
        Some((a.min(b), a.max(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_may_come_in_any_order() {
        let mut area = Area::begin(50, "b".into());
        area.to = (20, "a".into());
        assert_eq!(area.window(), Window::new(20, 51));
        let position = |key: &str| ["a", "b"].iter().position(|k| *k == key);
        assert_eq!(area.tracks(position), Some((0, 1)));
        area.to.1 = "gone".into();
        assert_eq!(area.tracks(position), Some((1, 1)), "a track that is hidden now");
    }
}
