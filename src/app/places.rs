//! The places visited, to go back and forth along them.

/// How many places are kept.
const MOST: usize = 500;

/// A list of places with a position in it, as a browser keeps pages.
#[derive(Clone, Debug)]
pub struct Places<P> {
    past: Vec<P>,
    future: Vec<P>,
}

impl<P> Default for Places<P> {
    fn default() -> Places<P> {
        Places { past: Vec::new(), future: Vec::new() }
    }
}

impl<P: PartialEq> Places<P> {
    /// Notes that `here` is about to be left for somewhere else.
    pub fn leave(&mut self, here: P) {
        if self.past.last() != Some(&here) {
            if self.past.len() == MOST {
                self.past.remove(0);
            }
            self.past.push(here);
        }
        self.future.clear();
    }

    /// The place before `here`, if there is one.
    pub fn back(&mut self, here: P) -> Option<P> {
        let mut place = self.past.pop()?;
        if place == here {
            place = self.past.pop()?;
        }
        self.future.push(here);
        Some(place)
    }

    /// The place after `here`, if one has been left by going back.
    pub fn forth(&mut self, here: P) -> Option<P> {
        let place = self.future.pop()?;
        self.past.push(here);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_and_forth_as_a_browser_does() {
        let mut places = Places::default();
        places.leave(1);
        places.leave(2);
        places.leave(2);
        assert_eq!(places.back(3), Some(2));
        assert_eq!(places.back(2), Some(1));
        assert_eq!(places.back(1), None);
        assert_eq!(places.forth(1), Some(2));
        assert_eq!(places.forth(2), Some(3));
        assert_eq!(places.forth(3), None);
        assert_eq!(places.back(3), Some(2));
        places.leave(2);
        assert_eq!(places.forth(9), None, "going somewhere new forgets the way forth");
    }
}
