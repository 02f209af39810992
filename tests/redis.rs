//! The limiter's buckets in a real Redis.

use std::time::{Duration, Instant};

use cms_core::{
    Finding, Level, Secret,
    settings::{LimiterStore, Settings},
};

use crate::support::{
    Redis, Site, TestDatabase,
    process::{self, Served},
};

const SETTINGS: &str = "GET /api/settings";

/// The limiter's store.
fn on(settings: &mut Settings, redis: &Redis) {
    settings.limiter.store = LimiterStore::Redis;
    settings.redis_url = Some(Secret::new(redis.url()));
}

async fn site(redis: &Redis) -> Site {
    Site::with(|settings| on(settings, redis)).await
}

async fn state(site: &Site) -> String {
    site.ask("GET /readyz").expect(200).await.data()["limiter"].as_str().unwrap().to_owned()
}

/// Asks until it is so, for a while.
async fn becomes(site: &Site, wanted: &str) -> Duration {
    let began = Instant::now();
    while state(site).await != wanted {
        assert!(began.elapsed() < Duration::from_secs(20), "the limiter does not become {wanted}");
        site.ask(SETTINGS).send().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    began.elapsed()
}

/// What the check of Redis finds now.
async fn found(site: &Site) -> Finding {
    site.clock.advance(1_000);
    let findings = site.cms.status().await;
    findings.into_iter().find(|finding| finding.check == "redis").unwrap()
}

#[tokio::test]
async fn buckets_are_as_in_memory() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    let key = site.key(&["*"]).await;
    for n in 1..=60 {
        let reply = site.ask(SETTINGS).key(&key).expect(200).await;
        assert!(reply.header("x-ratelimit-remaining").parse::<u64>().unwrap() >= 60 - n);
    }
    let refused = loop {
        let reply = site.ask(SETTINGS).key(&key).send().await;
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!(refused.status, 429);
    for (name, value) in [("retry-after", "1"), ("x-ratelimit-limit", "60")] {
        assert_eq!(refused.header(name), value, "{name}");
    }
    let used = async || site.cms.limiter().used(None).await.unwrap();
    let of_key = &used().await[0];
    assert_eq!(
        (of_key.owner.as_str(), of_key.bucket.as_str(), of_key.remaining, of_key.limit),
        ("key:2", "key", 0, 60)
    );
    site.cms.limiter().reset("key:2").await.unwrap();
    site.ask(SETTINGS).key(&key).expect(200).await;
    for _ in 0..30 {
        site.ask("POST /api/formfunnel/start").send().await;
    }
    let both = used().await;
    for bucket in ["formfunnel/start", "public"] {
        assert!(both.iter().any(|used| used.bucket == bucket), "{bucket}");
    }
    site.cms.limiter().reset("ip:127.0.0.1").await.unwrap();
    assert!(used().await.iter().all(|used| used.owner != "ip:127.0.0.1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_one_bucket() {
    let Some(redis) = Redis::start() else { return };
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let with = [("CMS_LIMITER__STORE", "redis"), ("CMS_REDIS_URL", &redis.url())];
    let served = [(); 2].map(|()| Served::start_with(&database, "warn", &with));
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
    site.ask(SETTINGS).expect(200).await;
    assert_eq!(state(&site).await, "redis");
    redis.stop();
    println!("without redis after {:?}", becomes(&site, "redis_away").await);
    for _ in 0..50 {
        site.ask(SETTINGS).expect(200).await;
    }
    redis.restart();
    println!("with redis after {:?}", becomes(&site, "redis").await);
}

#[tokio::test]
async fn nobody_waits_for_a_redis_that_hangs() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    site.ask(SETTINGS).expect(200).await;
    redis.signal("-STOP");
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let began = Instant::now();
        site.ask(SETTINGS).expect(200).await;
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
    site.ask(SETTINGS).expect(200).await;
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
async fn a_server_that_refuses_writes_is_found_with_its_remedy() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    let well = found(&site).await;
    assert_eq!(well.level, Level::Ok, "{well:?}");
    for (breaks, mends, why, remedy) in [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM", "maxmemory-policy"),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "read only", "primary"),
    ] {
        redis.send(breaks);
        let finding = found(&site).await;
        assert_eq!(finding.level, Level::Error, "{breaks}: {finding:?}");
        assert!(finding.found.contains(why), "{finding:?}");
        assert!(finding.remedy.contains(remedy), "{finding:?}");
        assert_eq!(site.cms.limiter().state(), "redis_away", "{breaks}");
        redis.send(mends);
        becomes(&site, "redis").await;
        let finding = found(&site).await;
        assert_ne!(finding.level, Level::Error, "{mends}: {finding:?}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_away_also_without_requests() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    redis.signal("-STOP");
    assert_eq!(site.cms.limiter().state(), "redis", "nobody has asked it");
    let finding = found(&site).await;
    assert_eq!(
        (finding.level, site.cms.limiter().state()),
        (Level::Error, "redis_away"),
        "{finding:?}"
    );
    redis.signal("-CONT");
    becomes(&site, "redis").await;
}

#[tokio::test]
async fn a_user_that_lacks_a_right_is_away_until_it_has_it() {
    // As the remedy names them.
    const RIGHTS: &str = "+@scripting +time +hmget +hset +pexpire +del +scan";
    let Some(redis) = Redis::start() else { return };
    for rights in ["+@all -@scripting", "+@all -time", "+@all -hmget", "+@all -hset"] {
        redis.send(&format!("ACL SETUSER cms reset on >pw ~cms:* {rights}"));
        let site = Site::with(|settings| {
            on(settings, &redis);
            let url = redis.url().replace("redis://", "redis://cms:pw@");
            settings.redis_url = Some(Secret::new(url));
        })
        .await;
        site.ask(SETTINGS).expect(200).await;
        // Redis can be written and read: nobody may go back and forth.
        for _ in 0..50 {
            assert_eq!(state(&site).await, "redis_away", "{rights}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let finding = found(&site).await;
        assert_eq!(finding.level, Level::Error, "{rights}: {finding:?}");
        assert!(finding.remedy.contains(RIGHTS), "{rights}: {finding:?}");
        redis.send(&format!("ACL SETUSER cms -@all {RIGHTS}"));
        becomes(&site, "redis").await;
        site.cms.limiter().used(None).await.unwrap();
        site.cms.limiter().reset("ip:127.0.0.1").await.unwrap();
    }
}

#[tokio::test]
async fn a_wrong_password_is_named() {
    let Some(redis) = Redis::start() else { return };
    redis.send("ACL SETUSER cms on >pw ~* &* +@all");
    let site = Site::with(|settings| {
        on(settings, &redis);
        let url = redis.url().replace("redis://", "redis://cms:other@");
        settings.redis_url = Some(Secret::new(url));
    })
    .await;
    site.ask(SETTINGS).expect(200).await;
    let finding = found(&site).await;
    assert!(finding.found.contains("refuses the user or password"), "{finding:?}");
}

#[tokio::test]
async fn a_key_that_holds_no_bucket_begins_anew() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    for makes in ["'SET', k, 'x'", "'HSET', k, 'tokens', 'x', 'at', 'y'"] {
        site.ask(SETTINGS).expect(200).await;
        let answer = redis.send(&format!(
            "EVAL \"local all = redis.call('KEYS', '*:public') for _, k in ipairs(all) do \
             redis.call('DEL', k) redis.call({makes}) end return #all\" 0",
        ));
        assert_eq!(answer, ":1");
        assert_eq!(site.cms.limiter().used(Some("ip:127.0.0.1")).await.unwrap(), [], "{makes}");
        let reply = site.ask(SETTINGS).expect(200).await;
        assert_eq!(reply.header("x-ratelimit-remaining"), "99", "{makes}");
        assert_eq!(site.cms.limiter().state(), "redis", "{makes}");
    }
}

#[tokio::test]
async fn a_connection_that_redis_closes_is_replaced() {
    let Some(redis) = Redis::start() else { return };
    let site = site(&redis).await;
    // More than come back until the bucket is looked at.
    for _ in 0..10 {
        site.ask(SETTINGS).expect(200).await;
    }
    redis.send("CLIENT KILL TYPE normal");
    assert!(!site.cms.limiter().used(None).await.unwrap().is_empty());
    redis.send("CLIENT KILL TYPE normal");
    let finding = found(&site).await;
    assert_eq!(finding.level, Level::Ok, "{finding:?}");
    redis.send("CLIENT KILL TYPE normal");
    site.ask(SETTINGS).expect(200).await;
    assert_eq!(site.cms.limiter().state(), "redis");
}

#[tokio::test]
async fn buckets_are_filled_also_while_redis_is_away() {
    let Some(mut redis) = Redis::start() else { return };
    let site = site(&redis).await;
    redis.stop();
    becomes(&site, "redis_away").await;
    site.ask(SETTINGS).expect(200).await;
    let limiter = site.cms.limiter();
    assert!(!limiter.used(Some("ip:127.0.0.1")).await.unwrap().is_empty());
    limiter.reset("ip:127.0.0.1").await.unwrap();
    assert_eq!(limiter.used(Some("ip:127.0.0.1")).await.unwrap(), []);
}

#[tokio::test]
async fn sites_on_one_redis_do_not_count_together() {
    let Some(redis) = Redis::start() else { return };
    let one = site(&redis).await;
    let change = |settings: &mut Settings| {
        on(settings, &redis);
        let key = "HxwdHhscGRoXGBUWExQREg8QDQ4LDAkKBwgFBgMEAQI=";
        settings.encryption_key = Some(Secret::new(key));
    };
    let other = Site::with(change).await;
    // More than come back until the other site asks.
    for _ in 0..50 {
        one.ask(SETTINGS).expect(200).await;
    }
    let left = other.ask(SETTINGS).expect(200).await;
    assert_eq!(left.header("x-ratelimit-remaining"), "99");
    // A bucket that is full again is not listed.
    let used = other.cms.limiter().used(Some("ip:127.0.0.1")).await.unwrap();
    assert!(used.iter().all(|used| used.remaining >= 99), "{used:?}");
}
