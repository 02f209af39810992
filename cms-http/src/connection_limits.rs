//! Limits the number of connections, in all and for each network.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use cms_core::settings::{Cidr, Http};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::{self, Budget, Network, Share};

/// The places for connections of one server.
pub(crate) struct ConnectionLimits {
    all: usize,
    of_one: u64,
    free: Arc<Semaphore>,
    proxies: Vec<Cidr>,
    /// Counts the places of each network.
    taken: Arc<Budget>,
}

/// The place of one connection, until it is given back or dropped.
pub(crate) struct ConnectionPermit {
    network: Network,
    held: Mutex<Option<(Share, OwnedSemaphorePermit)>>,
}

impl ConnectionLimits {
    /// As many places as the settings allow, and at most `bound`.
    pub(crate) fn new(settings: &Http, bound: usize, proxies: &[Cidr]) -> Self {
        let all = settings.max_connections.min(bound).max(1);
        Self {
            all,
            of_one: settings.max_connections_per_network.min(all / 2).max(1) as u64,
            free: Arc::new(Semaphore::new(all)),
            proxies: proxies.to_vec(),
            taken: Budget::new(u64::MAX),
        }
    }

    pub(crate) fn network(&self, peer: SocketAddr) -> Network {
        budget::network(peer.ip(), &self.proxies)
    }

    /// Whether the network has as many places as one network may have.
    pub(crate) fn is_full_for(&self, network: Network) -> bool {
        network.is_some_and(|network| self.taken.taken_by(network) >= self.of_one)
    }

    /// A place, if one is free.
    pub(crate) fn try_take(&self, network: Network) -> Option<ConnectionPermit> {
        let permit = self.free.clone().try_acquire_owned().ok()?;
        Some(self.slot(network, permit))
    }

    /// A place, once one is free.
    pub(crate) async fn take(&self, network: Network) -> std::io::Result<ConnectionPermit> {
        let permit = self.free.clone().acquire_owned().await.map_err(std::io::Error::other)?;
        Ok(self.slot(network, permit))
    }

    fn slot(&self, network: Network, permit: OwnedSemaphorePermit) -> ConnectionPermit {
        let mut place = self.taken.share(network);
        place.force(1);
        ConnectionPermit { network, held: Mutex::new(Some((place, permit))) }
    }

    /// Waits until every place is free.
    pub(crate) async fn all_free(&self) {
        let all = u32::try_from(self.all).unwrap_or(u32::MAX);
        let _ = self.free.acquire_many(all).await;
    }
}

impl ConnectionPermit {
    pub(crate) fn network(&self) -> Network {
        self.network
    }

    /// Frees the place for another connection while this one is being closed.
    pub(crate) fn give_back(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(crate) fn is_given_back(&self) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

#[cfg(test)]
mod tests {
    use cms_core::settings::Settings;

    use super::*;

    #[test]
    fn one_network_gets_half_at_most_and_a_proxy_all() {
        let proxies: Vec<Cidr> = vec!["10.0.0.0/8".parse().expect("a network")];
        let mut http = Settings::default().http;
        http.max_connections = 1024;
        let limits = ConnectionLimits::new(&http, 8, &proxies);
        let network = |text: &str| limits.network(text.parse().expect("an address"));
        let (one, same) = (network("[2001:db8::1]:9"), network("[2001:db8::2]:9"));
        let mut held: Vec<_> = (0..4).filter_map(|_| limits.try_take(one)).collect();
        assert!(limits.is_full_for(one) && limits.is_full_for(same));
        let proxy = network("10.1.2.3:9");
        held.extend((0..4).filter_map(|_| limits.try_take(proxy)));
        assert!(!limits.is_full_for(proxy) && !limits.is_full_for(network("1.2.3.4:9")));
        assert!(held.len() == 8 && limits.try_take(proxy).is_none(), "all are taken");
        held[0].give_back();
        assert!(!limits.is_full_for(one) && limits.try_take(proxy).is_some());
        drop(held);
        assert!(limits.taken.is_unused());
    }
}
