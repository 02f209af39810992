//! The address of a client, also behind proxies.

use std::net::{IpAddr, Ipv4Addr};

pub use crate::ground::network;
use crate::settings::Cidr;

/// The address that counts as the client's. This is the socket's address, unless that belongs to a
/// trusted proxy. Behind a trusted proxy it is the right-most entry of the proxy's header that is
/// not a trusted proxy itself. Entries further left can be forged.
///
/// ```
/// use cms_core::traffic::address::client;
/// let trusted = ["10.0.0.0/8".parse()?];
/// let header = [&b"6.6.6.6, 203.0.113.7, 10.0.0.2"[..]];
/// let (proxy, direct) = ("10.0.0.1".parse()?, "9.9.9.9".parse()?);
/// assert_eq!(client(proxy, &trusted, header).to_string(), "203.0.113.7");
/// assert_eq!(client(direct, &trusted, header), direct);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client<'a>(
    socket: IpAddr,
    trusted: &[Cidr],
    header: impl IntoIterator<Item = &'a [u8], IntoIter: DoubleEndedIterator>,
) -> IpAddr {
    let is_proxy = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut address = socket.to_canonical();
    if !is_proxy(address) {
        return address;
    }
    for entry in header.into_iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b',')) {
        // An entry that is not an address cannot come from a trusted proxy. The last valid
        // entry counts.
        let entry = entry.trim_ascii();
        let other = || std::str::from_utf8(entry).ok().and_then(parse);
        let Some(entry) = quad(entry).map(IpAddr::V4).or_else(other) else { return address };
        address = entry;
        if !is_proxy(address) {
            return address;
        }
    }
    address
}

/// Parses a plain IPv4 address, which nearly all entries are: the standard library parses
/// only text.
fn quad(entry: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = entry.split(|byte| *byte == b'.');
    for octet in &mut octets {
        let digits = parts.next().filter(|digits| {
            (1..=3).contains(&digits.len()) && (digits.len() == 1 || digits[0] != b'0')
        })?;
        let number = digits.iter().try_fold(0_u16, |n, digit| {
            digit.is_ascii_digit().then(|| n * 10 + u16::from(digit - b'0'))
        })?;
        *octet = u8::try_from(number).ok()?;
    }
    parts.next().is_none().then(|| octets.into())
}

/// Parses an address, also with a port or in brackets.
fn parse(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or(entry);
    let parsed = bare
        .parse()
        .ok()
        .or_else(|| entry.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip()));
    parsed.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_of_trusted_proxies_count() {
        let trusted: Vec<Cidr> =
            ["10.0.0.0/8", "fd00::/8"].iter().map(|cidr| cidr.parse().expect("cidr")).collect();
        for (socket, header, expected) in [
            ("192.0.2.1", vec![], "192.0.2.1"),
            ("192.0.2.1", vec!["203.0.113.7"], "192.0.2.1"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", vec!["203.0.113.7"], "203.0.113.7"),
            ("10.0.0.1", vec!["1.1.1.1, 203.0.113.7"], "203.0.113.7"),
            ("10.0.0.1", vec!["1.1.1.1", "203.0.113.7, 10.9.9.9"], "203.0.113.7"),
            ("10.0.0.1", vec!["203.0.113.7:8080"], "203.0.113.7"),
            ("10.0.0.1", vec!["[2001:db8::1]:80"], "2001:db8::1"),
            ("10.0.0.1", vec!["203.0.113.7, nonsense"], "10.0.0.1"),
            ("10.0.0.1", vec!["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("::ffff:10.0.0.1", vec!["203.0.113.7"], "203.0.113.7"),
            ("fd00::1", vec!["::ffff:203.0.113.7"], "203.0.113.7"),
        ] {
            let found = client(
                socket.parse().expect("socket"),
                &trusted,
                header.iter().map(|line| line.as_bytes()),
            );
            assert_eq!(found, expected.parse::<IpAddr>().expect("address"), "{socket} {header:?}");
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_standard_library() {
        for text in [
            "0.0.0.0", "255.255.255.255", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1..2.3",
            "", ".", "1.2.3.4x", "+1.2.3.4", "1.2.3.4:5",
        ] {
            assert_eq!(quad(text.as_bytes()), text.parse().ok(), "{text}");
        }
    }
}
