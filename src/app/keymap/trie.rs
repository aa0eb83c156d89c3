//! Sequences of keys as a tree, kept in the order in which they were bound so that the pop-up
//! lists them as the key file does.

use super::key::Key;
use crate::app::action::Action;

/// The keys that can come next, each with what it does or what can follow it.
#[derive(Clone, Debug, Default)]
pub(super) struct Trie {
    entries: Vec<(Key, Node)>,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Action(Action),
    Prefix(Trie),
}

/// What a sequence leads to.
#[derive(Debug)]
pub(super) enum Found<'a> {
    /// An action; the sequence is complete.
    Action(&'a Action),
    /// More keys are needed.
    Prefix(&'a Trie),
    /// Nothing is bound there.
    Nothing,
}

impl Trie {
    pub(super) fn entries(&self) -> &[(Key, Node)] {
        &self.entries
    }

    /// Binds a sequence. What is in its way, an action on a shorter one or everything on longer
    /// ones, makes room for it. An empty sequence binds nothing.
    pub(super) fn insert(&mut self, keys: &[Key], action: Action) {
        let Some((first, rest)) = keys.split_first() else { return };
        let at = match self.entries.iter().position(|(key, _)| key == first) {
            Some(at) => at,
            None => {
                self.entries.push((*first, Node::Prefix(Trie::default())));
                self.entries.len() - 1
            }
        };
        let node = &mut self.entries[at].1;
        match node {
            _ if rest.is_empty() => *node = Node::Action(action),
            Node::Prefix(trie) => trie.insert(rest, action),
            Node::Action(_) => {
                let mut trie = Trie::default();
                trie.insert(rest, action);
                *node = Node::Prefix(trie);
            }
        }
    }

    pub(super) fn find(&self, keys: &[Key]) -> Found<'_> {
        let Some((first, rest)) = keys.split_first() else { return Found::Prefix(self) };
        match self.entries.iter().find(|(key, _)| key == first) {
            Some((_, Node::Prefix(trie))) => trie.find(rest),
            Some((_, Node::Action(action))) if rest.is_empty() => Found::Action(action),
            _ => Found::Nothing,
        }
    }

    /// Every complete sequence with its action, in order.
    pub(super) fn bindings(&self) -> Vec<(Vec<Key>, &Action)> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect<'a>(&'a self, path: &mut Vec<Key>, out: &mut Vec<(Vec<Key>, &'a Action)>) {
        for (key, node) in &self.entries {
            path.push(*key);
            match node {
                Node::Action(action) => out.push((path.clone(), action)),
                Node::Prefix(trie) => trie.collect(path, out),
            }
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(index: u8) -> Key {
        Key::parse(&char::from(b'a' + index).to_string()).unwrap()
    }

    fn sequences() -> impl Strategy<Value = Vec<(Vec<u8>, usize)>> {
        // Few keys, so that sequences often share prefixes and clash.
        prop::collection::vec((prop::collection::vec(0u8..3, 1..4), 0..Action::ALL.len()), 0..24)
    }

    proptest! {
        /// Against the plainest thing that could work: a list in which a new binding first
        /// removes whatever clashes with it.
        #[test]
        fn a_trie_is_a_list_without_clashes(bindings in sequences(), probe in prop::collection::vec(0u8..3, 0..5)) {
            let mut trie = Trie::default();
            let mut list: Vec<(Vec<u8>, usize)> = Vec::new();
            for (keys, action) in bindings {
                trie.insert(&keys.iter().map(|&k| key(k)).collect::<Vec<_>>(), Action::ALL[action].action());
                list.retain(|(other, _)| !other.starts_with(&keys) && !keys.starts_with(other));
                list.push((keys, action));
            }
            let found = trie.find(&probe.iter().map(|&k| key(k)).collect::<Vec<_>>());
            let exact = list.iter().find(|(keys, _)| *keys == probe);
            let longer = probe.is_empty() || list.iter().any(|(keys, _)| keys.starts_with(&probe));
            match (found, exact) {
                (Found::Action(action), Some((_, index))) => prop_assert_eq!(action, &Action::ALL[*index].action()),
                (Found::Prefix(_), None) => prop_assert!(longer),
                (Found::Nothing, None) => prop_assert!(!longer),
                (found, exact) => prop_assert!(false, "{:?} but {:?}", found, exact),
            }
            prop_assert_eq!(trie.bindings().len(), list.len());
            for (keys, action) in trie.bindings() {
                prop_assert!(matches!(trie.find(&keys), Found::Action(found) if found == action));
            }
        }
    }
}
