//! Records of keys in memory, good as long as nobody has committed anything since they were read:
//! so a key that another process revokes is refused at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::sql::Found;
use crate::db::Mark;

/// More keys than this are rarely in use between two commits.
const MOST: usize = 10_000;

#[derive(Default)]
pub(crate) struct Known(Mutex<Records>);

#[derive(Default)]
struct Records {
    mark: Option<Mark>,
    by_hash: HashMap<String, Arc<Found>>,
}

impl Known {
    /// The record, if it was read while the database stood at `mark`.
    pub(super) fn get(&self, mark: Mark, hash: &str) -> Option<Arc<Found>> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.by_hash.get(hash).filter(|_| records.mark == Some(mark)).cloned()
    }

    /// Keeps a record. `mark` was taken before it was read: a commit in between makes the next
    /// request read again.
    pub(super) fn keep(&self, mark: Mark, hash: String, found: Arc<Found>) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.mark != Some(mark) || records.by_hash.len() >= MOST {
            *records = Records { mark: Some(mark), by_hash: HashMap::new() };
        }
        records.by_hash.insert(hash, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_good_for_one_state_of_the_database() {
        let found = || {
            Arc::new(Found {
                id: 1,
                name: String::new(),
                expires_on: None,
                active: true,
                rights: Vec::new(),
                valid_until: None,
            })
        };
        let (known, before, after) = (Known::default(), [1; 48], [2; 48]);
        known.keep(before, "a".to_owned(), found());
        assert!(
            known.get(before, "a").is_some()
                && known.get(before, "b").is_none()
                && known.get(after, "a").is_none()
        );
        known.keep(after, "b".to_owned(), found());
        assert!(
            known.get(after, "b").is_some()
                && known.get(after, "a").is_none()
                && known.get(before, "a").is_none()
        );
    }

    #[test]
    fn memory_is_bounded() {
        let known = Known::default();
        for n in 0..=MOST {
            let found = Found {
                id: 1,
                name: String::new(),
                expires_on: None,
                active: true,
                rights: Vec::new(),
                valid_until: None,
            };
            known.keep([1; 48], n.to_string(), Arc::new(found));
        }
        assert_eq!(known.0.lock().expect("no panic").by_hash.len(), 1);
    }
}
