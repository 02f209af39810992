//! Who is at the other end, also behind trusted proxies.

use std::{net::Ipv4Addr, sync::Once};

use cms_core::{Cms, traffic::address};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::call::{Client, Peer};

/// The client of a request that `peer` sent.
pub(super) fn client(
    cms: &Cms,
    proxy_header: &HeaderName,
    peer: Option<Peer>,
    headers: &HeaderMap,
) -> Client {
    let Some(Peer(socket)) = peer else {
        return Client { address: Ipv4Addr::LOCALHOST.into(), is_known: false };
    };
    let lines = headers.get_all(proxy_header).iter().map(HeaderValue::as_bytes);
    let address = address::client(socket.ip(), &cms.settings().trusted_proxies, lines);
    Client { address, is_known: true }
}

/// Tells the log, once, that the embedding server does not pass addresses on.
pub(super) fn warn_of_strangers(told: &Once) {
    told.call_once(|| {
        tracing::warn!(
            "requests come without the extension cms_http::Peer: all visitors count as one, and \
             the limiter refuses them together"
        );
    });
}
