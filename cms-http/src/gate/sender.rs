//! Who is at the other end, also behind trusted proxies.

use std::{net::Ipv4Addr, sync::Once};

use cms_core::{Cms, traffic::address};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::call::{Client, Peer};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client of a request that `peer` sent.
pub(super) fn client(
    cms: &Cms,
    proxy_header: &HeaderName,
    peer: Option<Peer>,
    headers: &HeaderMap,
) -> Client {
    let is_trusted = |Peer(socket): Peer| {
        cms.settings().trusted_proxies.iter().any(|network| network.contains(socket.ip()))
    };
    let names = [proxy_header, &header::FORWARDED, &X_FORWARDED_FOR];
    let passed_on = match peer {
        Some(peer) => !is_trusted(peer) && names.iter().any(|name| headers.contains_key(*name)),
        // Nobody is near.
        None => true,
    };
    let Some(Peer(socket)) = peer else {
        return Client { address: Ipv4Addr::LOCALHOST.into(), passed_on };
    };
    let lines = headers.get_all(proxy_header).iter().map(HeaderValue::as_bytes);
    let address = address::client(socket.ip(), &cms.settings().trusted_proxies, lines);
    Client { address, passed_on }
}

/// Tells the log, once, that the embedding server does not pass addresses on.
pub(super) fn warn_of_strangers() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::warn!(
            "requests come without the extension cms_http::Peer: all visitors count as one, and \
             the limiter refuses them together"
        );
    });
}
