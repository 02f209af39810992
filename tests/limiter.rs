//! The limiter: exact passes under a moved clock, whose bucket, what the reply says.

use cms_core::settings::{LimiterStore, Settings};
use cms_http::Peer;
use serde_json::json;

use crate::support::{Ask, Reply, Site, people::Person};

const SETTINGS: &str = "GET /api/settings";

/// A site that counts in memory, behind a proxy of these addresses.
async fn behind(proxies: &str) -> Site {
    let change = |settings: &mut Settings| {
        settings.limiter.store = LimiterStore::Memory;
        settings.trusted_proxies = vec![proxies.parse().unwrap()];
    };
    Site::with(change).await
}

pub(crate) async fn site() -> Site {
    behind("10.0.0.0/8").await
}

/// A request from an address, whose sender says for whom it is.
fn sent(site: &Site, line: &str, peer: &str, forwarded: &str) -> Ask {
    site.ask(line).peer(Peer(peer.parse().unwrap())).header("x-forwarded-for", forwarded)
}

/// A request from an address, through a trusted proxy.
pub(crate) async fn from(site: &Site, address: &str, line: &str, key: Option<&str>) -> Reply {
    let ask = sent(site, line, "10.0.0.1:1000", address);
    match key {
        Some(key) => ask.key(key).send().await,
        None => ask.send().await,
    }
}

/// The status of a request for the settings from an address.
async fn status(site: &Site, address: &str, key: Option<&str>) -> u16 {
    from(site, address, SETTINGS, key).await.status.as_u16()
}

/// Status, limit, what remains, and how long to wait.
type Quota = (u16, String, String, Option<String>);

fn quota(reply: &Reply) -> Quota {
    let header =
        |name: &str| reply.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    (
        reply.status.as_u16(),
        header("x-ratelimit-limit").unwrap_or_default(),
        header("x-ratelimit-remaining").unwrap_or_default(),
        header("retry-after"),
    )
}

fn expected(status: u16, limit: u32, remaining: u32, retry: Option<&str>) -> Quota {
    (status, limit.to_string(), remaining.to_string(), retry.map(str::to_owned))
}

#[tokio::test]
async fn every_bucket_lets_pass_what_it_holds() {
    let site = site().await;
    let key = site.key(&["*"]).await;
    // Path, key, capacity, wait in seconds, statuses before it is empty: a route without handler is
    // limited all the same.
    for (line, key, capacity, wait, status) in [
        ("GET /api/settings", None, 100, "1", 200),
        ("GET /api/settings", Some(key.as_str()), 60, "1", 200),
        ("POST /api/backend/auth/login", None, 10, "6", 400),
        ("POST /api/backend/auth/verify", None, 10, "6", 400),
        ("POST /api/checkout/pay", None, 10, "6", 401),
        ("GET /api/elearning/certificate", None, 5, "13", 401),
        ("POST /api/formfunnel/start", None, 30, "2", 400),
        ("POST /api/form-funnel", None, 100, "1", 401),
    ] {
        let address = format!("192.0.2.{}", line.len());
        for n in 1..=capacity {
            let reply = from(&site, &address, line, key).await;
            assert_eq!(quota(&reply), expected(status, capacity, capacity - n, None), "{line} {n}");
        }
        let refused = from(&site, &address, line, key).await;
        assert_eq!(quota(&refused), expected(429, capacity, 0, Some(wait)), "{line}");
        assert_eq!(refused.json()["error"], "rate_limited");
        site.clock.advance(wait.parse::<i64>().unwrap() * 1000);
        let waited = from(&site, &address, line, key).await.status.as_u16();
        assert_eq!(waited, status, "{line}: who waits as told passes");
        site.clock.advance(3_600_000);
    }
}

#[tokio::test]
async fn route_and_identity_are_taken_together_or_not_at_all() {
    let site = site().await;
    for _ in 0..30 {
        from(&site, "192.0.2.1", "POST /api/formfunnel/start", None).await;
    }
    for _ in 0..5 {
        let refused = from(&site, "192.0.2.1", "POST /api/formfunnel/start", None).await;
        assert_eq!(quota(&refused), expected(429, 30, 0, Some("2")));
    }
    let other = quota(&from(&site, "192.0.2.1", SETTINGS, None).await);
    let all = expected(200, 100, 69, None);
    assert_eq!(other, all, "refused requests took nothing from the other bucket");
    let dashes = from(&site, "192.0.2.1", "POST /api/form%66unnel/start", None).await;
    assert_eq!(dashes.status, 429, "another spelling is the same bucket");
}

#[tokio::test]
async fn keys_leave_the_address_alone_and_guesses_empty_it() {
    let site = site().await;
    let key = site.key(&[SETTINGS]).await;
    let (_, disabled) = site.key_with(|new| new.active = false, &["*"]).await;
    let home = "192.0.2.1";
    for _ in 0..60 {
        assert_eq!(status(&site, home, Some(&key)).await, 200);
    }
    let elsewhere = status(&site, "192.0.2.9", Some(&key)).await;
    assert_eq!(elsewhere, 429, "the key counts wherever it is used");
    let anonymous = from(&site, home, SETTINGS, None).await;
    assert_eq!(quota(&anonymous), expected(200, 100, 99, None));
    let (id, gone) = site.key_with(|_| {}, &["*"]).await;
    site.delete(&format!("/api/backend/keys?id={id}")).await;
    for guess in [disabled.as_str(), "nonsense", &gone].iter().cycle().take(99) {
        assert_eq!(status(&site, home, Some(guess)).await, 401);
    }
    for (address, key, expected) in
        [(home, Some("nonsense"), 429), (home, None, 429), ("192.0.2.2", None, 200)]
    {
        assert_eq!(status(&site, address, key).await, expected, "{address} {key:?}");
    }
    let forbidden = site.key(&["GET /api/pages"]).await;
    let forbidden = from(&site, home, SETTINGS, Some(&forbidden)).await;
    assert_eq!(quota(&forbidden), expected(401, 60, 59, None));
}

/// A login opens no second bucket of a route: only a key takes the place of the address.
#[tokio::test]
async fn users_share_the_buckets_of_routes_with_their_address() {
    let site = site().await;
    let (ana, bob) = (site.person("ana", json!([])).await, site.person("bob", json!([])).await);
    let (home, elsewhere) = ("192.0.2.1", "192.0.2.2");
    for (line, capacity) in [
        ("POST /api/checkout/pay", 10),
        ("GET /api/elearning/certificate", 5),
        ("POST /api/formfunnel/start", 30),
        ("POST /api/formfunnel/upload", 10),
    ] {
        let passes = async |person: &Person, address: &str| {
            let ask = sent(&site, line, "10.0.0.1:1000", address).bearer(&person.token);
            ask.send().await.status != 429
        };
        for n in 0..capacity {
            let person = if n % 2 == 0 { &ana } else { &bob };
            assert!(passes(person, home).await, "{line} {n}");
        }
        let left = [passes(&ana, home).await, passes(&bob, home).await];
        assert_eq!(left, [false, false], "{line}");
        assert_eq!(from(&site, home, line, None).await.status, 429, "{line}");
        assert!(passes(&ana, elsewhere).await, "{line}");
    }
    // No address is known: each has the bucket alone.
    let passes = async |person: &Person| {
        site.ask("POST /api/checkout/pay").bearer(&person.token).send().await.status != 429
    };
    for n in 0..10 {
        assert!(passes(&ana).await, "{n}");
    }
    assert_eq!([passes(&ana).await, passes(&bob).await], [false, true]);
}

#[tokio::test]
async fn what_is_counted_as_one_client() {
    let site = site().await;
    for n in 0..100 {
        status(&site, &format!("2001:db8:0:1::{n:x}"), None).await;
    }
    assert_eq!(status(&site, "2001:db8:0:1:ffff::1", None).await, 429, "one /64");
    assert_eq!(status(&site, "2001:db8:0:2::1", None).await, 200);
    // Who is no trusted proxy cannot speak for others.
    for n in 0..100 {
        let stranger = sent(&site, SETTINGS, "203.0.113.5:1", &format!("192.0.2.{n}"));
        stranger.expect(200).await;
    }
    let stranger = site.ask(SETTINGS).peer(Peer("203.0.113.5:2".parse().unwrap()));
    stranger.refused(429, "rate_limited").await;
    // Bytes that are no text are part of what cannot be trusted; what the proxy wrote behind them
    // counts.
    let spoofed = || sent(&site, SETTINGS, "10.0.0.1:1", "6.6.6.6");
    for _ in 0..100 {
        spoofed().header("x-forwarded-for", b"\xff, 198.51.100.7").expect(200).await;
    }
    spoofed().header("x-forwarded-for", "198.51.100.7").refused(429, "rate_limited").await;
}

#[tokio::test]
async fn malformed_requests_count_and_health_does_not() {
    let site = site().await;
    let malformed = async || from(&site, "192.0.2.1", "GET /api//x", None).await.status;
    for _ in 0..100 {
        assert_eq!(malformed().await, 400);
    }
    assert_eq!(malformed().await, 429);
    let alive = from(&site, "192.0.2.1", "GET /healthz", None).await;
    let is_counted = alive.headers.contains_key("x-ratelimit-limit");
    assert_eq!((alive.status.as_u16(), is_counted), (200, false));
    let off = Site::open().await;
    for _ in 0..200 {
        let reply = off.ask(SETTINGS).expect(200).await;
        assert!(!reply.headers.contains_key("x-ratelimit-limit"));
    }
    assert_eq!(off.ask("GET /readyz").expect(200).await.data()["limiter"], "off");
    assert_eq!(site.ask("GET /readyz").expect(200).await.data()["limiter"], "memory");
}

#[tokio::test]
async fn who_cannot_be_told_apart_speaks_for_nobody() {
    let site = behind("127.0.0.0/8").await;
    let ask = |n: usize| site.ask(SETTINGS).header("x-forwarded-for", format!("192.0.2.{n}"));
    for n in 0..100 {
        ask(n).expect(200).await;
    }
    ask(200).refused(429, "rate_limited").await;
}
