//! The names that consumers of this process hold. [`Cms::close`](crate::Cms::close) gives all of
//! them back. A new consumer takes over from one that was dropped in this process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{Millis, jobs::Lease};

/// The leases of this process, by name.
#[derive(Default)]
pub(in crate::webhooks) struct Leases(Mutex<All>);

#[derive(Default)]
struct All {
    /// The number of the last consumer.
    last: u64,
    held: BTreeMap<String, Held>,
    is_closed: bool,
}

struct Held {
    /// The number of the consumer; `None`: the consumer was dropped.
    by: Option<u64>,
    /// The lease as the consumer took it.
    lease: Lease,
    /// Whether the consumer saw the commit of the lease.
    is_sure: bool,
}

impl Leases {
    /// A number for a new consumer.
    pub(super) fn number(&self) -> u64 {
        let mut all = self.all();
        all.last += 1;
        all.last
    }

    /// Records the lease that a consumer takes, and whether that is committed. False:
    /// the site closes.
    pub(super) fn enter(&self, name: &str, by: u64, (lease, is_sure): (Lease, bool)) -> bool {
        let mut all = self.all();
        if !all.is_closed {
            all.held.insert(name.to_owned(), Held { by: Some(by), lease, is_sure });
        }
        !all.is_closed
    }

    /// The lease that a consumer has taken, and whether the consumer saw its commit.
    pub(super) fn of(&self, name: &str, by: u64) -> Option<(Lease, bool)> {
        let all = self.all();
        let held = all.held.get(name).filter(|held| held.by == Some(by))?;
        Some((held.lease, held.is_sure))
    }

    /// Forgets the lease that a consumer has given back.
    pub(super) fn forget(&self, name: &str, by: u64) {
        let mut all = self.all();
        if all.held.get(name).is_some_and(|held| held.by == Some(by)) {
            all.held.remove(name);
        }
    }

    /// Notes that a consumer was dropped. Its lease may still run.
    pub(super) fn leave(&self, name: &str, by: u64) {
        let mut all = self.all();
        if let Some(held) = all.held.get_mut(name).filter(|held| held.by == Some(by)) {
            held.by = None;
        }
    }

    /// Whether a consumer may take a lease that has not ended. It may if the holder was dropped in
    /// this process, or if the lease is the consumer's own and its call was dropped before it saw
    /// the commit.
    pub(super) fn is_left(&self, name: &str, by: u64, stored: Lease) -> bool {
        self.all().held.get(name).is_some_and(|held| match held.by {
            None if held.is_sure => held.lease.token == stored.token,
            // After a rollback another process may have the token.
            None => held.lease == stored,
            Some(holder) => holder == by && held.lease == stored,
        })
    }

    /// The lease to write. Once the site closes, the lease ends at once.
    pub(super) fn until_closed(&self, lease: Lease, now: Millis) -> Lease {
        if self.is_closed() { Lease { until: now, ..lease } } else { lease }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.all().is_closed
    }

    /// Stops all leases from being taken or renewed. Returns the held leases by name, each with
    /// whether its commit was seen.
    pub(super) fn close(&self) -> BTreeMap<String, (Lease, bool)> {
        let mut all = self.all();
        all.is_closed = true;
        let held = std::mem::take(&mut all.held);
        held.into_iter().map(|(name, held)| (name, (held.lease, held.is_sure))).collect()
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_whose_commit_nobody_saw_must_be_the_very_same() {
        let (leases, taken) = (Leases::default(), Lease { until: 30, token: 7 });
        let later = Lease { until: 31, ..taken };
        for is_sure in [false, true] {
            assert!(leases.enter("index", 1, (taken, is_sure)));
            leases.leave("index", 1);
            assert!(leases.is_left("index", 2, taken));
            assert_eq!(leases.is_left("index", 2, later), is_sure, "renewed, or another's");
        }
        assert_eq!(leases.close()["index"], (taken, true));
        assert!(!leases.enter("index", 2, (taken, true)), "the site closes");
    }
}
