//! A key held down goes faster and faster.

use std::time::Duration;

use super::action::Action;

/// Presses of one key further apart than this are not a key held down.
const GAP: Duration = Duration::from_millis(180);
/// When the acceleration begins and how long it takes.
const BEGIN: Duration = Duration::from_millis(500);
const RAMP: Duration = Duration::from_millis(2500);
/// How many times faster it gets.
const FASTEST: f64 = 6.0;

/// Which action is being repeated, and since when.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    action: Option<Action>,
    since: Duration,
    last: Duration,
    owed: f64,
}

impl Hold {
    /// Takes note of `action` at `now`; says whether it continues the one before.
    pub fn note(&mut self, action: &Action, now: Duration) -> bool {
        let continued = self.action.as_ref() == Some(action) && now.saturating_sub(self.last) < GAP;
        if !continued {
            *self = Hold { action: Some(action.clone()), since: now, last: now, owed: 0.0 };
        }
        self.last = now;
        continued
    }

    /// `step` times how fast it goes by now. Parts of a whole are not lost, so that small steps speed up smoothly too.
    pub fn scaled(&mut self, step: i64) -> i64 {
        let held = self.last.saturating_sub(self.since).saturating_sub(BEGIN);
        let share = (held.as_secs_f64() / RAMP.as_secs_f64()).min(1.0);
        let exact = step as f64 * (1.0 + share * (FASTEST - 1.0)) + self.owed;
        let whole = exact.trunc();
        self.owed = exact - whole;
        whole as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_speeds_up_smoothly_and_starts_afresh() {
        let mut hold = Hold::default();
        let right = Action::PanRight(None);
        let mut steps = Vec::new();
        for press in 0..140 {
            hold.note(&right, Duration::from_millis(30 * press));
            steps.push(hold.scaled(10));
        }
        assert_eq!(steps[..16], [10; 16]);
        assert!(steps.windows(2).all(|w| w[1] - w[0] <= 2 && w[0] - w[1] <= 1), "{steps:?}");
        assert_eq!(*steps.last().unwrap(), 60);
        hold.note(&Action::PanLeft(None), Duration::from_millis(4200));
        assert_eq!(hold.scaled(10), 10);
    }

    #[test]
    fn keys_that_arrive_at_once_are_not_faster() {
        let mut hold = Hold::default();
        for _ in 0..200 {
            hold.note(&Action::ZoomIn, Duration::ZERO);
            assert_eq!(hold.scaled(1), 1);
        }
    }
}
