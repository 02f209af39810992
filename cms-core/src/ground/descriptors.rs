//! The limit on open files, and how it is shared out: connections of callers must leave enough for
//! deliveries and the database.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files of the process itself: standard streams, the event loop, the database's connections.
const OWN: u64 = 32;
/// What each part gets at least, however low the limit is.
const LEAST: u64 = 4;

/// The share of each part. The rest is for lookups of names and for connections that are closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Descriptors {
    /// The limit on open files.
    pub limit: u64,
    /// Most connections of callers: half of what the process does not need itself.
    pub connections: usize,
    /// Most deliveries under way: a quarter.
    pub deliveries: usize,
}

impl Descriptors {
    /// Raises the limit of this process, as far as the system lets it, to what these numbers of
    /// connections and deliveries need.
    pub fn raise(connections: usize, deliveries: usize) {
        let wanted = Self::wanted(connections, deliveries);
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let possible = maximum.map_or(wanted, |maximum| wanted.min(maximum));
        if current.is_none_or(|current| current >= possible) {
            return;
        }
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(possible), maximum })
        {
            tracing::warn!(%error, "the limit on open files stays as it is");
        }
    }

    /// The limit on open files that these numbers of connections and deliveries need.
    #[must_use]
    pub fn wanted(connections: usize, deliveries: usize) -> u64 {
        OWN + (2 * connections as u64).max(4 * deliveries as u64)
    }

    /// The shares under the present limit.
    #[must_use]
    pub fn shares() -> Self {
        Self::of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    fn of(limit: u64) -> Self {
        let left = limit.saturating_sub(OWN);
        let share = |part: u64| usize::try_from(part.max(LEAST)).unwrap_or(usize::MAX);
        Self { limit, connections: share(left / 2), deliveries: share(left / 4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_for_callers_and_a_quarter_for_deliveries() {
        for (limit, connections, deliveries) in
            [(0, 4, 4), (32, 4, 4), (64, 16, 8), (256, 112, 56), (1024, 496, 248)]
        {
            let shares = Descriptors::of(limit);
            assert_eq!((shares.connections, shares.deliveries), (connections, deliveries));
        }
    }
}
