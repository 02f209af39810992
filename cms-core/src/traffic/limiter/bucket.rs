//! Token buckets: the kinds, which kinds apply to a request, and the arithmetic. Pure.

use std::{fmt, net::IpAddr, str::FromStr};

use crate::{
    ground::{Millis, crypto},
    traffic::address::network,
};

/// A kind of bucket: its capacity and its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bucket {
    /// Its name, as the command line prints it.
    pub name: &'static str,
    /// Tokens in a full bucket.
    pub capacity: f64,
    /// Tokens added each second.
    pub per_second: f64,
}

macro_rules! buckets {
    ($($(#[$doc:meta])* $id:ident = $name:literal $capacity:literal / $rate:literal;)*) => {
        $($(#[$doc])* pub const $id: Bucket =
            Bucket { name: $name, capacity: $capacity, per_second: $rate };)*
        /// All kinds.
        pub const ALL: &[Bucket] = &[$($id),*];
    };
}

buckets! {
    /// Callers without a key, by address.
    PUBLIC = "public" 100.0 / 1.67;
    /// An API key.
    KEY = "key" 60.0 / 1.0;
    /// Logins, by address.
    AUTH = "auth" 10.0 / 0.17;
    /// A logged-in backend user.
    BACKEND = "backend" 250.0 / 4.17;
    /// Paths that start with `checkout`.
    CHECKOUT = "checkout" 10.0 / 0.17;
    /// Certificates of courses.
    CERTIFICATE = "elearning/certificate" 5.0 / 0.083;
    /// Starts of a funnel.
    FUNNEL_START = "formfunnel/start" 30.0 / 0.5;
    /// Files that visitors of funnels send.
    FUNNEL_UPLOAD = "formfunnel/upload" 10.0 / 0.17;
}

/// The owner of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Owner {
    /// A network, as [`crate::traffic::address::network`] gives it.
    Network(u128),
    /// An API key.
    Key(i64),
    /// A logged-in backend user.
    User(i64),
    /// A digest of the key by which the embedding application counts:
    /// [`Owner::app_user`], [`Owner::chosen`].
    Application(u64),
}

impl Owner {
    /// A user of the embedding application.
    #[must_use]
    pub fn app_user(name: &str) -> Self {
        Self::application("user", name)
    }

    /// A key that the embedding application chose to count by, for example a tenant.
    #[must_use]
    pub fn chosen(key: &str) -> Self {
        Self::application("key", key)
    }

    fn application(kind: &str, name: &str) -> Self {
        let digest = crypto::sha256([kind, "\0", name].concat().as_bytes());
        Self::Application(u64::from_be_bytes(std::array::from_fn(|at| digest[at])))
    }
}

/// Prints `key:7`, `user:7`, `ip:203.0.113.7`, or `app:` with a digest of the application's name.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(id) => write!(f, "key:{id}"),
            Self::User(id) => write!(f, "user:{id}"),
            Self::Application(digest) => write!(f, "app:{digest:016x}"),
            Self::Network(network) => {
                write!(f, "ip:{}", IpAddr::V6((*network).into()).to_canonical())
            }
        }
    }
}

impl FromStr for Owner {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "an owner is written key:7, user:7, ip:203.0.113.7 or app: with 16 digits";
        match text.split_once(':') {
            Some(("key", id)) => id.parse().map(Self::Key).map_err(|_| form),
            Some(("user", id)) => id.parse().map(Self::User).map_err(|_| form),
            Some(("app", digest)) if digest.len() == 16 => {
                u64::from_str_radix(digest, 16).map(Self::Application).map_err(|_| form)
            }
            Some(("ip", address)) => {
                address.parse().map(|address| Self::Network(network(address))).map_err(|_| form)
            }
            _ => Err(form),
        }
    }
}

/// The additional bucket of a route, if its path has one. `path` is canonical, so its dashes
/// are underscores.
#[must_use]
pub(crate) fn of_route(path: &str) -> Option<Bucket> {
    let endpoint = path.strip_prefix("/api/")?;
    match endpoint {
        "backend/auth/login" | "backend/auth/verify" => Some(AUTH),
        "elearning/certificate" => Some(CERTIFICATE),
        "formfunnel/start" => Some(FUNNEL_START),
        "formfunnel/upload" => Some(FUNNEL_UPLOAD),
        _ if endpoint.starts_with("checkout") => Some(CHECKOUT),
        _ => None,
    }
}

/// The fill of one bucket at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fill {
    /// Tokens in the bucket.
    pub tokens: f64,
    /// The moment of this fill.
    pub at: Millis,
}

impl Bucket {
    /// A fresh bucket is full.
    #[must_use]
    pub fn full(&self, now: Millis) -> Fill {
        Fill { tokens: self.capacity, at: now }
    }

    /// The fill at `now`. If the clock went back, no token is lost, and refilling continues from
    /// that moment.
    #[must_use]
    pub(crate) fn refilled(&self, fill: Fill, now: Millis) -> Fill {
        let seconds = (now - fill.at).max(0) as f64 / 1000.0;
        Fill { tokens: (fill.tokens + seconds * self.per_second).min(self.capacity), at: now }
    }

    /// Whole seconds until a token is available, at least 1.
    #[must_use]
    pub(crate) fn wait_s(&self, tokens: f64) -> u64 {
        (((1.0 - tokens) / self.per_second).ceil() as u64).max(1)
    }
}

/// The rate-limit headers of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// `X-RateLimit-Limit`: capacity of the bucket with the least left.
    pub limit: u64,
    /// `X-RateLimit-Remaining`: whole requests left in that bucket.
    pub remaining: u64,
    /// `Retry-After` in seconds, for a refused request.
    pub retry_after_s: Option<u64>,
}

/// Checks all buckets, then takes one token from each or none from any. Updates the fills
/// for storing.
pub(crate) fn take(buckets: &[Bucket], fills: &mut [Fill], now: Millis) -> Quota {
    for (bucket, fill) in buckets.iter().zip(fills.iter_mut()) {
        *fill = bucket.refilled(*fill, now);
    }
    let allowed = fills.iter().all(|fill| fill.tokens >= 1.0);
    if allowed {
        fills.iter_mut().for_each(|fill| fill.tokens -= 1.0);
    }
    quota(buckets, fills, allowed)
}

/// The headers for fills after a token was taken from each (`allowed`) or from none.
pub(crate) fn quota(buckets: &[Bucket], fills: &[Fill], allowed: bool) -> Quota {
    let both = || buckets.iter().zip(fills);
    let least = both().min_by(|(_, a), (_, b)| a.tokens.total_cmp(&b.tokens));
    let (limit, remaining) =
        least.map_or((0, 0), |(bucket, fill)| (bucket.capacity as u64, fill.tokens as u64));
    let wait = both()
        .filter(|(_, fill)| fill.tokens < 1.0)
        .map(|(bucket, fill)| bucket.wait_s(fill.tokens))
        .max();
    Quota { limit, remaining, retry_after_s: if allowed { None } else { Some(wait.unwrap_or(1)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_passes_its_tokens_and_then_its_rate() {
        for bucket in ALL {
            let mut fills = [bucket.full(0)];
            for n in 0..bucket.capacity as u64 {
                let quota = take(&[*bucket], &mut fills, 0);
                assert_eq!(
                    quota,
                    Quota {
                        limit: bucket.capacity as u64,
                        remaining: bucket.capacity as u64 - n - 1,
                        retry_after_s: None
                    }
                );
            }
            let refused = take(&[*bucket], &mut fills, 0);
            let wait = (1.0 / bucket.per_second).ceil() as u64;
            assert_eq!(
                (refused.remaining, refused.retry_after_s),
                (0, Some(wait)),
                "{}",
                bucket.name
            );
            let just_before = (1000.0 / bucket.per_second) as i64 - 1;
            assert!(
                take(&[*bucket], &mut fills, just_before).retry_after_s.is_some(),
                "{}",
                bucket.name
            );
            assert!(
                take(&[*bucket], &mut fills, wait as i64 * 1000).retry_after_s.is_none(),
                "a caller who waits for Retry-After passes"
            );
        }
    }

    #[test]
    fn all_or_none() {
        let both = [PUBLIC, FUNNEL_START];
        let mut fills = [PUBLIC.full(0), FUNNEL_START.full(0)];
        for _ in 0..30 {
            assert!(take(&both, &mut fills, 0).retry_after_s.is_none());
        }
        let refused = take(&both, &mut fills, 0);
        assert_eq!(refused, Quota { limit: 30, remaining: 0, retry_after_s: Some(2) });
        assert_eq!(fills[0].tokens, 70.0, "the other bucket lost nothing by the refusal");
    }

    #[test]
    fn the_wait_is_for_what_is_missing() {
        let waits = [0.0, 0.5, 0.9, 1.0].map(|tokens| FUNNEL_START.wait_s(tokens));
        assert_eq!(waits, [2, 1, 1, 1]);
    }

    #[test]
    fn a_clock_that_goes_back_is_harmless() {
        let mut fills = [PUBLIC.full(1000)];
        take(&[PUBLIC], &mut fills, 1000);
        assert_eq!(take(&[PUBLIC], &mut fills, 0).remaining, 98);
        assert_eq!(
            take(&[PUBLIC], &mut fills, 600).remaining,
            98,
            "the token of the first 600 ms has come back"
        );
    }

    #[test]
    fn owners_are_written_and_read() {
        for text in ["key:7", "user:7", "ip:203.0.113.7", "ip:2001:db8::", "app:00112233445566ff"] {
            assert_eq!(text.parse::<Owner>().expect(text).to_string(), text);
        }
        assert!(["key:x", "ip:", "7", "user:x"].iter().all(|text| text.parse::<Owner>().is_err()));
    }

    #[test]
    fn routes_have_buckets() {
        for (path, bucket) in [
            ("/api/formfunnel/start", Some(FUNNEL_START)),
            ("/api/formfunnel/upload", Some(FUNNEL_UPLOAD)),
            ("/api/checkout", Some(CHECKOUT)),
            ("/api/checkout/pay", Some(CHECKOUT)),
            ("/api/elearning/certificate", Some(CERTIFICATE)),
            ("/api/backend/auth/verify", Some(AUTH)),
            ("/api/pages", None),
            ("/checkout", None),
        ] {
            assert_eq!(of_route(path), bucket, "{path}");
        }
    }
}
