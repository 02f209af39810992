//! Files that may have no row: their change has not ended well, or not yet. `Media::tidy` goes
//! through them in turn, so that one that cannot be removed keeps no others.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::name::Name;

/// The files in doubt.
#[derive(Default)]
pub(super) struct Doubtful(Mutex<State>);

#[derive(Default)]
struct State {
    names: BTreeSet<Name>,
    /// The last that was tried.
    tried: Option<Name>,
}

impl Doubtful {
    pub(super) fn add(&self, name: &Name) {
        self.state().names.insert(name.clone());
    }

    /// Nothing is left to do for it.
    pub(super) fn settle(&self, name: &Name) {
        self.state().names.remove(name);
    }

    /// It is its turn.
    pub(super) fn tries(&self, name: &Name) {
        self.state().tried = Some(name.clone());
    }

    /// All, first those behind the one that was tried last.
    pub(super) fn in_turn(&self) -> Vec<Name> {
        let state = self.state();
        let mut names: Vec<_> = state.names.iter().cloned().collect();
        let first = names.partition_point(|name| Some(name) <= state.tried.as_ref());
        names.rotate_left(first);
        names
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turn() {
        let [a, b, c] = ["a", "b", "c"]
            .map(|digit| Name::read("ab", &format!("{}.png", digit.repeat(62))).expect("a name"));
        let doubtful = Doubtful::default();
        assert!(doubtful.in_turn().is_empty());
        for name in [&c, &a, &b] {
            doubtful.add(name);
        }
        assert_eq!(doubtful.in_turn(), [a.clone(), b.clone(), c.clone()]);
        doubtful.tries(&a);
        assert_eq!(doubtful.in_turn(), [b.clone(), c.clone(), a.clone()]);
        doubtful.tries(&b);
        doubtful.settle(&b);
        assert_eq!(doubtful.in_turn(), [c.clone(), a.clone()]);
        doubtful.tries(&c);
        assert_eq!(doubtful.in_turn(), [a, c]);
    }
}
