//! Which addresses deliveries may reach: public ones, and those that `webhooks.allow_cidrs` opens.
//! Pure.
//!
//! The rule applies to the dialled address, at every attempt: a name that was allowed when it was
//! saved may point elsewhere later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use crate::settings::{Cidr, Webhooks};

const MAX_URL_BYTES: usize = 2000;

/// The rule for addresses, from the settings.
#[derive(Clone, Debug)]
pub struct AddressRule {
    allow: Vec<Cidr>,
    allow_http: bool,
}

/// IPv4 networks that are not public (RFC 6890 and its updates), and metadata services of clouds.
const FORBIDDEN_V4: &[(&str, &str)] = &[
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by carriers"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "metadata of a cloud"),
    ("169.254.0.0/16", "link-local, metadata of clouds"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarks"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved, broadcast"),
];

/// IPv6 networks that are not public, or that carry an IPv4 address, which may be any.
const FORBIDDEN_V6: &[(&str, &str)] = &[
    ("::/8", "unspecified, loopback, IPv4 inside"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "local NAT64"),
    ("100::/64", "discard"),
    ("2001::/23", "protocol assignments, Teredo"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
    ("::/3", "not global unicast"),
    ("4000::/2", "not global unicast"),
    ("8000::/1", "not global unicast"),
];

/// Metadata services of clouds, which give a machine its secrets.
const METADATA: [&str; 9] = [
    "100.100.100.200",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "192.0.0.192",
    "fd00:ec2::23",
    "fd00:ec2::254",
    "fd20:ce::254",
];

impl AddressRule {
    pub(crate) fn new(settings: &Webhooks) -> Self {
        Self { allow: settings.allow_cidrs.clone(), allow_http: settings.allow_http }
    }

    /// Checks a URL without looking its host up.
    ///
    /// # Errors
    /// The fault as a sentence, without the URL.
    pub fn check_url(&self, text: &str) -> Result<Url, String> {
        if text.len() > MAX_URL_BYTES {
            return Err(format!("{MAX_URL_BYTES} bytes at most"));
        }
        let url = Url::parse(text).map_err(|e| format!("this is not a URL: {e}"))?;
        match url.scheme() {
            "https" => {}
            "http" if self.allow_http => {}
            "http" => {
                return Err(
                    "https is expected; webhooks.allow_http opens http for tests".to_owned()
                );
            }
            _ => return Err("https is expected".to_owned()),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the URL must hold no user and password: use a custom header".to_owned());
        }
        if url.fragment().is_some() {
            return Err("the URL must not contain a #fragment: receivers do not see it".to_owned());
        }
        if url.port() == Some(0) {
            return Err("port 0 does not exist".to_owned());
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("the URL has no host")?;
        // The parser has already turned decimal, octal and hexadecimal numbers into addresses.
        let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        if let Ok(address) = bare.parse() {
            self.check(address).map_err(|why| {
                format!("{address} is not delivered to: {why}; webhooks.allow_cidrs opens networks")
            })?;
        } else if bare.eq_ignore_ascii_case("localhost")
            || bare.to_ascii_lowercase().ends_with(".localhost")
        {
            let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
            self.check(loopback).map_err(|why| {
                format!("{bare} is not delivered to: {why}; webhooks.allow_cidrs opens networks")
            })?;
        }
        Ok(url)
    }

    /// Checks an address before it is dialled.
    ///
    /// # Errors
    /// The reason why the address is forbidden.
    pub fn check(&self, address: IpAddr) -> Result<(), &'static str> {
        let address = address.to_canonical();
        if let IpAddr::V6(v6) = address
            && let Some((v4, by)) = v4_inside(v6)
        {
            // The packet may end at the IPv4 address, so that one counts, whatever opens the
            // network around it.
            self.check(v4.into())?;
            if by == Carrier::Nat64 && self.is_open(v4.into()) {
                return Ok(());
            }
        }
        if self.is_open(address) {
            return Ok(());
        }
        let list = if address.is_ipv4() { FORBIDDEN_V4 } else { FORBIDDEN_V6 };
        let hit = list.iter().find(|(network, _)| {
            network.parse::<Cidr>().is_ok_and(|network| network.contains(address))
        });
        hit.map_or(Ok(()), |(_, why)| Err(*why))
    }

    /// Whether `allow_cidrs` opens an address. Only its exact address opens a metadata service,
    /// never a network around it.
    fn is_open(&self, address: IpAddr) -> bool {
        let is_metadata = METADATA.iter().any(|known| known.parse() == Ok(address));
        self.allow
            .iter()
            .any(|network| network.contains(address) && (!is_metadata || network.is_single()))
    }

    /// Checks all addresses of a name. One forbidden address refuses the name, so that nobody can
    /// repeat a mixed answer until the forbidden address is dialled.
    ///
    /// # Errors
    /// The forbidden address and the reason.
    pub fn check_all(&self, addresses: &[IpAddr]) -> Result<(), (IpAddr, &'static str)> {
        addresses.iter().try_for_each(|address| self.check(*address).map_err(|why| (*address, why)))
    }
}

/// What an IPv6 address carries an IPv4 address for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// RFC 6052, 2.1.
    Nat64,
    /// 6to4 (RFC 3056, 2), IPv4-compatible (RFC 4291, 2.5.5.1), translated (RFC 2765, 2.1).
    Other,
}

/// The IPv4 address inside an IPv6 address.
fn v4_inside(address: Ipv6Addr) -> Option<(Ipv4Addr, Carrier)> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((v4(high, low), Carrier::Nat64)),
        [0x2002, high, low, ..] => Some((v4(high, low), Carrier::Other)),
        // `::` and `::1` carry none.
        [0, 0, 0, 0, 0 | 0xffff, 0, high, low] if high > 0 => Some((v4(high, low), Carrier::Other)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rule(allow: &[&str], allow_http: bool) -> AddressRule {
        AddressRule {
            allow: allow.iter().map(|cidr| cidr.parse().expect("cidr")).collect(),
            allow_http,
        }
    }

    #[test]
    fn every_list_entry_is_a_network() {
        for (network, _) in FORBIDDEN_V4.iter().chain(FORBIDDEN_V6) {
            assert!(network.parse::<Cidr>().is_ok(), "{network}");
        }
    }

    #[test]
    fn forbidden_hosts_are_refused() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.0.1.",
            "0.0.0.0",
            "0",
            "0.1.2.3",
            "2130706433",
            "017700000001",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "3232235521",
            "0xa9fea9fe",
            "[::]",
            "[::1]",
            "[::7f00:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:10.0.0.1]",
            "[::ffff:0:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::808:808]",
            "[64:ff9b:1::1]",
            "[100::1]",
            "[2001::1]",
            "[2001:0:53aa:64c::1]",
            "[2001:1ff::1]",
            "[2001:db8::1]",
            "[2002:7f00:1::1]",
            "[2002:c0a8:1::]",
            "[3fff::1]",
            "[5f00::1]",
            "[fc00::1]",
            "[fd12:3456::1]",
            "[fe80::1]",
            "[febf::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[ff0e::1]",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "%6c%6f%63%61%6c%68%6f%73%74",
            "１２７.0.0.1",
        ] {
            assert!(rule(&[], false).check_url(&format!("https://{host}/hook")).is_err(), "{host}");
        }
    }

    #[test]
    fn public_hosts_are_allowed() {
        for host in [
            "example.org",
            "hooks.example.org.",
            "8.8.8.8",
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.17",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.1",
            "223.255.255.255",
            "[2606:4700::1111]",
            "[2001:4860:4860::8888]",
            "[2a00:1450::1]",
            "xn--bcher-kva.example",
            "localhost.example.org",
        ] {
            assert!(
                rule(&[], false).check_url(&format!("https://{host}:8443/hook?x=1")).is_ok(),
                "{host}"
            );
        }
    }

    #[test]
    fn malformed_urls_are_refused() {
        for url in [
            "",
            "example.org",
            "//example.org/",
            "http://example.org/",
            "ftp://example.org/",
            "file:///etc/passwd",
            "gopher://example.org/",
            "https://",
            "https://user@example.org/",
            "https://user:pw@example.org/",
            "https://example.org/#x",
            "https://example.org:0/",
            "https://example.org:99999/",
            "https://exa mple.org/",
            "https://%00/",
            "https://[::1",
            "https://256.1.1.1/",
            "https://1.2.3.4.5/",
            "javascript:alert(1)",
        ] {
            assert!(rule(&[], false).check_url(url).is_err(), "{url}");
        }
        assert!(
            rule(&[], false)
                .check_url(&format!("https://example.org/{}", "x".repeat(2000)))
                .is_err()
        );
        assert!(rule(&[], true).check_url("http://example.org/").is_ok());
    }

    #[test]
    fn networks_can_be_opened() {
        let open = rule(&["127.0.0.1/32", "fd00::/8", "192.168.7.0/24"], true);
        for host in [
            "127.0.0.1",
            "localhost",
            "0x7f.1",
            "[::ffff:127.0.0.1]",
            "[fd00::1]",
            "192.168.7.9",
            "[64:ff9b::c0a8:709]",
        ] {
            assert!(open.check_url(&format!("http://{host}/")).is_ok(), "{host}");
        }
        let wide = rule(&["0.0.0.0/0", "::/0", "100.100.100.200/32"], true);
        for (host, opened) in [
            ("10.0.0.1", true),
            ("100.100.100.200", true),
            ("169.254.169.254", false),
            ("169.254.170.23", false),
            ("192.0.0.192", false),
            ("[fd00:ec2::254]", false),
            ("[fd00:ec2::23]", false),
            ("[fd20:ce::254]", false),
            ("[64:ff9b::a9fe:a9fe]", false),
            ("[2002:a9fe:a9fe::1]", false),
            ("[::a9fe:a9fe]", false),
            ("[::ffff:0:a9fe:a9fe]", false),
            ("[fd00::1]", true),
            ("[::1]", true),
        ] {
            assert_eq!(wide.check_url(&format!("http://{host}/")).is_ok(), opened, "{host}");
        }
        // A network that carries IPv4 addresses opens no address inside that is closed itself.
        let carriers = rule(&["64:ff9b::/96", "2002::/16", "::/0"], true);
        for (inside, opened) in [("7f00:1", false), ("a00:1", false), ("808:808", true)] {
            for host in [format!("64:ff9b::{inside}"), format!("2002:{inside}::1")] {
                let url = format!("http://[{host}]/");
                assert_eq!(carriers.check_url(&url).is_ok(), opened, "{host}");
            }
        }
        for host in ["127.0.0.2", "[::1]", "192.168.8.1", "[fe80::1]", "[64:ff9b::c0a8:801]"] {
            assert!(open.check_url(&format!("http://{host}/")).is_err(), "{host}");
        }
    }

    #[test]
    fn one_forbidden_answer_refuses_the_name() {
        let (good, bad): (IpAddr, IpAddr) =
            ("8.8.8.8".parse().expect("address"), "10.0.0.1".parse().expect("address"));
        assert!(rule(&[], false).check_all(&[good, good]).is_ok());
        assert_eq!(rule(&[], false).check_all(&[good, bad]), Err((bad, "private")));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(https?://)?\\PC{0,40}") {
            let _ = rule(&[], true).check_url(&text);
        }

        #[test]
        fn an_ipv4_address_is_judged_the_same_in_every_notation(bits: u32) {
            let address = Ipv4Addr::from(bits);
            let plain = rule(&[], false).check(address.into()).is_ok();
            let mapped = rule(&[], false).check(address.to_ipv6_mapped().into()).is_ok();
            let decimal = rule(&[], false).check_url(&format!("https://{bits}/")).is_ok();
            prop_assert_eq!((plain, plain), (mapped, decimal));
        }
    }
}
