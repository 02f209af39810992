//! Who is at the other end, also behind trusted proxies.

use std::net::Ipv4Addr;

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
    // An embedding server that does not say who is there speaks for everybody: all are one.
    let address = peer.map_or(Ipv4Addr::LOCALHOST.into(), |Peer(socket)| {
        let lines = headers.get_all(proxy_header).iter().map(HeaderValue::as_bytes);
        address::client(socket.ip(), &cms.settings().trusted_proxies, lines)
    });
    Client { address, passed_on }
}
