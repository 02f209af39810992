//! A budget of bytes that clients share. One network gets a quarter, so that none takes all.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use cms_core::{settings::Cidr, traffic::address};

/// Of the budget, one network gets this part.
const SHARES: u64 = 4;

/// Who holds bytes: a network; `None`, which may hold everything: a trusted proxy, which acts for
/// many, or a caller within this process.
pub(crate) type Network = Option<u128>;

/// The network of an address.
pub(crate) fn network(address: std::net::IpAddr, proxies: &[Cidr]) -> Network {
    let is_proxy = proxies.iter().any(|network| network.contains(address));
    (!is_proxy).then(|| address::network(address))
}

pub(crate) struct Budget {
    most: u64,
    held: Mutex<Held>,
}

/// Bytes that are held: all of them, and those of each network.
#[derive(Default)]
struct Held {
    all: u64,
    of: HashMap<u128, u64>,
}

/// Bytes of a budget, given back when this is dropped.
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

    /// Whether a network has taken more than half of what it may.
    pub(crate) fn is_half_taken(&self, network: u128) -> bool {
        self.held().of.get(&network).is_some_and(|bytes| *bytes > self.most / SHARES / 2)
    }

    #[cfg(test)]
    pub(crate) fn is_unused(&self) -> bool {
        let held = self.held();
        held.all == 0 && held.of.is_empty()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Takes more bytes, if they are free. Where nobody else holds any, every number is.
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

    /// Takes more bytes, free or not.
    pub(crate) fn force(&mut self, bytes: u64) {
        self.budget.held().add(self.network, bytes);
        self.bytes += bytes;
    }
}

impl Held {
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
