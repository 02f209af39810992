//! Networks, for lists of trusted or allowed addresses.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::Deserialize;

/// A network: an address and the number of its leading bits that are compared.
///
/// A v4 address written as v6 (`::ffff:10.0.0.1`) counts as that v4 address, in rules and in
/// requests. So a listener on `[::]` cannot be used to evade a v4 rule.
///
/// ```
/// use cms_core::settings::Cidr;
/// let network: Cidr = "10.0.0.0/8".parse()?;
/// assert!(network.contains("::ffff:10.1.2.3".parse()?));
/// assert!(!network.contains("11.0.0.1".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

/// A text that is not a network.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a network such as 10.0.0.0/8, ::1/128 or 192.0.2.7")]
pub struct NotACidr(String);

impl Cidr {
    /// Whether the network is a single address.
    #[must_use]
    pub(crate) fn is_single(&self) -> bool {
        self.bits == if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// Whether `address` lies in this network.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<Self, NotACidr> {
        let parse = || {
            let (address, bits) =
                text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
            let written: IpAddr = address.parse().ok()?;
            let address = written.to_canonical();
            let longest: u8 = if written.is_ipv4() { 32 } else { 128 };
            // The first 96 bits only mark a mapped v4 address.
            let mapped = if written.is_ipv6() && address.is_ipv4() { 96 } else { 0 };
            let bits = bits
                .map_or(Some(longest), |bits| bits.parse().ok().filter(|bits| *bits <= longest))?;
            Some(Self { address, bits: bits.checked_sub(mapped)? })
        };
        parse().ok_or_else(|| NotACidr(text.to_owned()))
    }
}

impl TryFrom<String> for Cidr {
    type Error = NotACidr;

    fn try_from(text: String) -> Result<Self, NotACidr> {
        text.parse()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_the_right_addresses() {
        let table = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.9.9.9/8", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.8", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "203.0.113.9", false),
            ("::1/128", "::1", true),
            ("::1", "::2", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/33", "2001:db8:ffff::1", false),
        ];
        for (network, address, inside) in table {
            let network: Cidr = network.parse().expect(network);
            assert_eq!(
                network.contains(address.parse().expect(address)),
                inside,
                "{network} {address}"
            );
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let table = [
            "", "/", "host", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "::/129",
            "::ffff:10.0.0.0/95",
        ];
        for text in table {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }
}
