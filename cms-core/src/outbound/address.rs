//! Which addresses deliveries may reach: public ones, and those that `webhooks.allow_cidrs` opens.
//! Pure.
//!
//! The rule applies to the dialled address, at every attempt: a name that was allowed when it was
//! saved may point elsewhere later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use crate::settings::{Cidr, WebhookSettings};

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

/// IPv6 networks that are not public, or whose addresses may carry any IPv4 address.
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

/// Metadata services of clouds, which hand secrets to their machines.
const METADATA: [&str; 9] = [
    "100.100.100.200", "168.63.129.16", "169.254.169.254", "169.254.170.2", "169.254.170.23",
    "192.0.0.192", "fd00:ec2::23", "fd00:ec2::254", "fd20:ce::254",
];

impl AddressRule {
    pub(crate) fn new(settings: &WebhookSettings) -> Self {
        Self { allow: settings.allow_cidrs.clone(), allow_http: settings.allow_http }
    }

    /// Checks a URL without looking up its host.
    ///
    /// # Errors
    /// The code of the fault, `format` or `address`, and the fault as a sentence without the URL.
    pub(crate) fn check_url(&self, text: &str) -> Result<Url, (&'static str, String)> {
        let url = self.parse(text).map_err(|why| ("format", why))?;
        self.check_host(&url).map_err(|why| ("address", why))?;
        Ok(url)
    }

    fn parse(&self, text: &str) -> Result<Url, String> {
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
        if url.host_str().is_none_or(str::is_empty) {
            return Err("the URL has no host".to_owned());
        }
        Ok(url)
    }

    /// Checks a host that is an IP address, or a name that always means this machine.
    fn check_host(&self, url: &Url) -> Result<(), String> {
        // The parser has already turned decimal, octal and hexadecimal numbers into addresses.
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        let lower = bare.to_ascii_lowercase();
        let address = match bare.parse() {
            Ok(address) => address,
            Err(_) if lower == "localhost" || lower.ends_with(".localhost") => {
                IpAddr::V4(Ipv4Addr::LOCALHOST)
            }
            Err(_) => return Ok(()),
        };
        self.check(address).map_err(|why| {
            format!("{bare} is not delivered to: {why}; webhooks.allow_cidrs opens networks")
        })
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
            // The packet may end at the IPv4 address, so that address decides, whatever opens the
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

    /// Checks all addresses of a name. One forbidden address refuses the whole name. Otherwise
    /// somebody could repeat a mixed answer until the forbidden address is dialled.
    ///
    /// # Errors
    /// The forbidden address and the reason.
    pub(crate) fn check_all(&self, addresses: &[IpAddr]) -> Result<(), (IpAddr, &'static str)> {
        addresses.iter().try_for_each(|address| self.check(*address).map_err(|why| (*address, why)))
    }
}

/// The kinds of IPv6 addresses that carry an IPv4 address.
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
#[path = "address_tests.rs"]
mod tests;
