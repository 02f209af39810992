//! The limiter's buckets in a real Redis.

use std::time::{Duration, Instant};

use cms_core::{Secret, settings::LimiterStore};

use crate::support::{
    Redis, Site, TestDatabase,
    process::{self, Served},
};

async fn site(redis: &Redis) -> Site {
    let change = |s: &mut cms_core::settings::Settings| {
        s.limiter.store = LimiterStore::Redis;
        s.redis_url = Some(Secret::new(redis.url()));
    };
    Site::builder().await.settings(change).open().await
}

async fn state(site: &Site) -> String {
    site.ask("GET /readyz").expect(200).await.data()["limiter"].as_str().unwrap().to_owned()
}

/// Asks until it is so, for a while.
async fn becomes(site: &Site, wanted: &str) -> Duration {
    let began = Instant::now();
    while state(site).await != wanted {
        assert!(began.elapsed() < Duration::from_secs(20), "the limiter does not become {wanted}");
        site.ask("GET /api/settings").send().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    began.elapsed()
}

#[tokio::test]
async fn buckets_are_as_in_memory() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    let key = site.key(&["*"]).await;
    for n in 1..=60 {
        let reply = site.ask("GET /api/settings").key(&key).expect(200).await;
        assert!(reply.header("x-ratelimit-remaining").parse::<u64>().unwrap() >= 60 - n);
    }
    let refused = loop {
        let reply = site.ask("GET /api/settings").key(&key).send().await;
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!(
        (
            refused.status.as_u16(),
            refused.header("retry-after"),
            refused.header("x-ratelimit-limit")
        ),
        (429, "1", "60")
    );
    let used = site.cms.limiter().used(None).await.unwrap();
    assert_eq!(
        (used[0].owner.as_str(), used[0].bucket.as_str(), used[0].remaining, used[0].limit),
        ("key:2", "key", 0, 60)
    );
    site.cms.limiter().reset("key:2").await.unwrap();
    site.ask("GET /api/settings").key(&key).expect(200).await;
    for _ in 0..30 {
        site.ask("POST /api/formfunnel/start").send().await;
    }
    let both = site.cms.limiter().used(None).await.unwrap();
    assert!(
        both.iter().any(|used| used.bucket == "formfunnel/start")
            && both.iter().any(|used| used.bucket == "public")
    );
    site.cms.limiter().reset("ip:127.0.0.1").await.unwrap();
    assert!(
        site.cms
            .limiter()
            .used(None)
            .await
            .unwrap()
            .iter()
            .all(|used| used.owner != "ip:127.0.0.1")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_one_bucket() {
    let Some(redis) = Redis::start() else { return };
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let with = [("CMS_LIMITER__STORE", "redis"), ("CMS_REDIS_URL", &redis.url())];
    let served = [
        Served::start_with(&database, "warn", &with),
        Served::start_with(&database, "warn", &with),
    ];
    let began = Instant::now();
    let mut passed = 0;
    for n in 0..300 {
        passed += u64::from(served[n % 2].get("/api/settings").starts_with("HTTP/1.1 200"));
    }
    let most = 100 + (began.elapsed().as_secs_f64() * 1.67).ceil() as u64;
    assert!((100..=most).contains(&passed), "{passed} of 300 passed, at most {most} may");
}

#[tokio::test]
async fn stopped_in_the_middle_and_back_by_itself() {
    let Some(mut redis) = Redis::start() else { return };
    let site = site(&redis).await;
    site.ask("GET /api/settings").expect(200).await;
    assert_eq!(state(&site).await, "redis");
    redis.stop();
    println!("without redis after {:?}", becomes(&site, "redis_away").await);
    for _ in 0..50 {
        site.ask("GET /api/settings").expect(200).await;
    }
    redis.restart();
    println!("with redis after {:?}", becomes(&site, "redis").await);
}

#[tokio::test]
async fn nobody_waits_for_a_redis_that_hangs() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    site.ask("GET /api/settings").expect(200).await;
    redis.signal("-STOP");
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let began = Instant::now();
        site.ask("GET /api/settings").expect(200).await;
        slowest = slowest.max(began.elapsed());
    }
    println!("slowest request beside a hanging redis: {slowest:?}");
    assert_eq!(state(&site).await, "redis_away");
    redis.signal("-CONT");
    becomes(&site, "redis").await;
}

#[tokio::test]
async fn a_server_that_became_a_replica_is_away() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    site.ask("GET /api/settings").expect(200).await;
    redis.send("REPLICAOF 127.0.0.1 1");
    becomes(&site, "redis_away").await;
    // It answers, and does not count: nobody may go back and forth.
    for _ in 0..50 {
        assert_eq!(state(&site).await, "redis_away");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    redis.send("REPLICAOF NO ONE");
    becomes(&site, "redis").await;
}

#[tokio::test]
async fn sites_on_one_redis_do_not_count_together() {
    let Some(redis) = Redis::start() else { return };
    let one = site(&redis).await;
    let change = |s: &mut cms_core::settings::Settings| {
        s.limiter.store = LimiterStore::Redis;
        s.redis_url = Some(Secret::new(redis.url()));
        s.encryption_key = Some(Secret::new("HxwdHhscGRoXGBUWExQREg8QDQ4LDAkKBwgFBgMEAQI="));
    };
    let other = Site::builder().await.settings(change).open().await;
    for _ in 0..5 {
        one.ask("GET /api/settings").expect(200).await;
    }
    assert_eq!(
        other.ask("GET /api/settings").expect(200).await.header("x-ratelimit-remaining"),
        "99"
    );
    assert!(other.cms.limiter().used(Some("ip:127.0.0.1")).await.unwrap()[0].remaining >= 99);
}
