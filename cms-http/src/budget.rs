//! A budget of bytes that clients share. One network gets at most a quarter of it. The places for
//! connections are counted by it too, within limits of their own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use cms_core::{settings::Cidr, traffic::address};

/// One network gets the budget divided by this.
const SHARES: u64 = 4;

/// The network that bytes count for. `None` has no limit of its own: a trusted proxy, which acts
/// for many clients, or a caller within this process.
pub(crate) type Network = Option<u128>;

/// The network of an address.
pub(crate) fn network(address: std::net::IpAddr, proxies: &[Cidr]) -> Network {
    let is_proxy = proxies.iter().any(|network| network.contains(address));
    (!is_proxy).then(|| address::network(address))
}

pub(crate) struct Budget {
    most: u64,
    held: Mutex<Usage>,
}

/// Bytes held: in all, and by each network.
#[derive(Default)]
struct Usage {
    all: u64,
    of: HashMap<u128, u64>,
}

/// Bytes taken from a budget. Dropping a share gives them back.
pub(crate) struct Share {
    budget: Arc<Budget>,
    network: Network,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, held: Mutex::default() })
    }

    /// A share that holds nothing yet.
    pub(crate) fn share(self: &Arc<Self>, network: Network) -> Share {
        Share { budget: self.clone(), network, bytes: 0 }
    }

    /// What a network has taken.
    pub(crate) fn taken_by(&self, network: u128) -> u64 {
        self.held().of.get(&network).copied().unwrap_or_default()
    }

    /// Whether a network has taken more than half of its quarter.
    pub(crate) fn is_half_taken(&self, network: u128) -> bool {
        self.taken_by(network) > self.most / SHARES / 2
    }

    #[cfg(test)]
    pub(crate) fn is_unused(&self) -> bool {
        let held = self.held();
        held.all == 0 && held.of.is_empty()
    }

    fn held(&self) -> MutexGuard<'_, Usage> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Takes more bytes if they are free. A limit does not bind a share that holds all bytes
    /// under it, so one large request alone always fits.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: u64) -> bool {
        let mut held = self.budget.held();
        let own = self.network.and_then(|network| held.of.get(&network)).copied().unwrap_or(0);
        let fits = |held: u64, most: u64| held == self.bytes || held + bytes <= most;
        let has_share = self.network.is_none() || fits(own, self.budget.most / SHARES);
        if !(has_share && fits(held.all, self.budget.most)) {
            return false;
        }
        held.add(self.network, bytes);
        drop(held);
        self.bytes += bytes;
        true
    }

    /// Takes more bytes even when none are free.
    pub(crate) fn force(&mut self, bytes: u64) {
        self.budget.held().add(self.network, bytes);
        self.bytes += bytes;
    }
}

impl Usage {
    fn add(&mut self, network: Network, bytes: u64) {
        self.all += bytes;
        if let Some(network) = network {
            *self.of.entry(network).or_default() += bytes;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.budget.held();
        held.all -= self.bytes;
        if let Some(network) = self.network
            && let Some(own) = held.of.get_mut(&network)
        {
            *own -= self.bytes;
            if *own == 0 {
                held.of.remove(&network);
            }
        }
    }
}
