//! The limiter: a token bucket for each caller, and for some routes one more.

pub mod bucket;
mod memory;

pub use bucket::{Bucket, Owner, Quota};
pub use memory::Memory;

use crate::{
    Clock,
    settings::{LimiterStore, Settings},
};

/// The limiter of a site.
pub struct Limiter {
    store: Store,
    clock: Clock,
}

enum Store {
    Memory(Memory),
    Off,
}

impl Limiter {
    pub(crate) fn new(settings: &Settings, clock: Clock) -> Self {
        let store = match settings.limiter.store {
            LimiterStore::Off => Store::Off,
            _ => Store::Memory(Memory::default()),
        };
        Self { store, clock }
    }

    /// Takes one token from every bucket that applies to a request: the caller's own (`identity`) and the route's. None: the limiter
    /// is off.
    pub async fn take(&self, owner: Owner, identity: Bucket, path: &str) -> Option<Quota> {
        let both = [identity, bucket::of_route(path).unwrap_or(identity)];
        let applying = if both[1].name == identity.name { &both[..1] } else { &both[..] };
        match &self.store {
            Store::Memory(memory) => Some(memory.take(owner, applying, self.clock.now())),
            Store::Off => None,
        }
    }

    /// What `/readyz` says of it.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.store {
            Store::Memory(_) => "memory",
            Store::Off => "off",
        }
    }

    /// Drops what is full again.
    pub fn tidy(&self) {
        if let Store::Memory(memory) = &self.store {
            memory.drop_full(self.clock.now());
        }
    }
}
