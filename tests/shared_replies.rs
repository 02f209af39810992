//! Replies in a real Redis: found by other processes, never old, and nobody waits when it is away.

use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use cms_core::{
    Clock, Cms, Random, Secret,
    backup::{self, Identities, Saving, To},
    settings::{CacheStore, LimiterStore, Settings},
};
use cms_http::{Api, testing::Reply};
use futures_util::FutureExt as _;
use serde_json::json;

use crate::support::{
    Redis, Site, TestDatabase, has,
    log::Log,
    process::{self, Served},
};

const SETTINGS: &str = "GET /api/settings";

fn on(settings: &mut Settings, redis: &Redis) {
    settings.cache.enabled = true;
    settings.cache.store = CacheStore::Redis;
    settings.redis_url = Some(Secret::new(redis.url()));
}

async fn site(redis: &Redis) -> Site {
    Site::with(|s| on(s, redis)).await
}

/// The same site in another process.
async fn beside(site: &Site, redis: &Redis, seed: u64) -> Site {
    beside_with(site, redis, seed, |_| {}).await
}

/// As [`beside`], with other settings.
async fn beside_with(
    site: &Site,
    redis: &Redis,
    seed: u64,
    change: impl FnOnce(&mut Settings),
) -> Site {
    let mut settings = site.database.settings();
    on(&mut settings, redis);
    change(&mut settings);
    let clock = Clock::fixed(site.clock.now());
    let cms = Cms::builder(settings).clock(clock.clone()).random(Random::seeded(seed));
    let cms = cms.open().await.unwrap();
    let database = TestDatabase::sqlite().await;
    Site { api: Api::new(cms.clone()).unwrap(), cms, clock, database, admin: site.admin.clone() }
}

async fn asked(site: &Site, line: &str) -> String {
    site.ask(line).expect(200).await.header("x-cache").to_owned()
}

async fn set(site: &Site, name: &str) {
    site.insert("settings", json!({"name": name, "value": 1, "public": true})).await;
}

async fn state(site: &Site) -> String {
    site.ask("GET /readyz").expect(200).await.data()["cache"].as_str().unwrap().to_owned()
}

/// What `two` finds of what `one` has made. On a busy machine Redis may be late for either: then
/// they are seen to have left it, and it is asked for again.
async fn found(one: &Site, two: &Site) -> Reply {
    for _ in 0..5 {
        let reply = two.ask(SETTINGS).expect(200).await;
        if reply.header("x-cache") == "HIT" {
            return reply;
        }
        let states = [state(one).await, state(two).await];
        assert!(states.iter().any(|state| state == "redis_away"), "it is not in Redis");
        for site in [one, two] {
            becomes(site, "redis").await;
        }
    }
    panic!("Redis is late again and again");
}

async fn becomes(site: &Site, wanted: &str) {
    let began = Instant::now();
    for n in 0.. {
        if state(site).await == wanted {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "the cache does not become {wanted}");
        site.ask(&format!("GET /api/menu?name=n{n}")).expect(200).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Tries `test` again after a failure during which Redis was late, as on a busy machine: a process
/// then leaves Redis, and the log reports that.
async fn in_time(test: impl AsyncFn(&Redis)) {
    for _ in 0..5 {
        let Some(redis) = Redis::start() else { return };
        let log = Log::begin();
        let ended = AssertUnwindSafe(test(&redis)).catch_unwind().await;
        let is_late = log.end().contains("redis is away");
        match ended {
            Ok(()) => return,
            Err(_) if is_late => {}
            Err(panic) => resume_unwind(panic),
        }
    }
    panic!("Redis is late again and again");
}

#[tokio::test]
async fn what_one_process_has_made_another_finds() {
    in_time(one_makes_another_finds).await;
}

async fn one_makes_another_finds(redis: &Redis) {
    let one = site(redis).await;
    let first = one.ask(SETTINGS).expect(200).await;
    let two = beside(&one, redis, 77).await;
    two.clock.advance(2_000);
    let sent = two.cms.db().statements_sent();
    let of_page = |site: &Site| site.ask(SETTINGS).header("origin", "http://h").header("host", "h");
    let found = of_page(&two).expect(200).await;
    assert_eq!(found.header("x-cache"), "MISS", "another host");
    let found = two.ask(SETTINGS).expect(200).await;
    assert_eq!(
        (found.header("x-cache"), found.header("age"), &found.body),
        ("HIT", "2", &first.body)
    );
    for name in ["etag", "content-type"] {
        assert_eq!(found.header(name), first.header(name), "{name}");
    }
    let sent = two.cms.db().statements_sent() - sent;
    assert!((1..=2).contains(&sent), "one for the other host, and a look at other processes");
    let shared = of_page(&one).expect(200).await;
    for (name, value) in [("x-cache", "HIT"), ("access-control-allow-origin", "http://h")] {
        assert_eq!(shared.header(name), value, "{name}");
    }
    let plain = one.ask(SETTINGS).header("host", "h").expect(200).await;
    let is_told = plain.headers.contains_key("access-control-allow-origin");
    assert!(!is_told, "what a page was told is not kept");
    let status = two.get("/api/backend/cache").await;
    has!(status, {"store": "redis", "hits": 1, "misses": 1});
    let keyed = two.admin(SETTINGS).expect(200).await;
    assert!(!keyed.headers.contains_key("x-cache"));
}

#[tokio::test]
async fn a_write_or_a_clear_is_seen_by_all() {
    let Some(redis) = Redis::start() else { return };
    let one = site(&redis).await;
    let two = beside(&one, &redis, 77).await;
    for round in 0..3 {
        assert_eq!(asked(&one, SETTINGS).await, "MISS", "{round}");
        found(&one, &two).await;
        if round == 1 {
            one.delete("/api/backend/cache?path=/api/settings").await;
        } else {
            set(&one, &format!("n{round}")).await;
        }
        // The writer at once, the other as soon as it has followed, which it does within a second.
        let fresh = one.ask(SETTINGS).expect(200).await;
        assert_eq!(fresh.header("x-cache"), "MISS");
        two.cms.catch_up().await.unwrap();
        assert_eq!(found(&one, &two).await.body, fresh.body, "what the first has made since");
        set(&two, &format!("other{round}")).await;
        one.cms.catch_up().await.unwrap();
    }
}

#[tokio::test]
async fn one_that_is_behind_spoils_nothing() {
    let Some(redis) = Redis::start() else { return };
    let one = site(&redis).await;
    for n in 0..5 {
        set(&one, &format!("n{n}")).await;
    }
    asked(&one, SETTINGS).await;
    // Redis holds what a process knew that had not followed yet, or what is from before a backup
    // was restored.
    for change in [
        "update cms_table_epochs set epoch = epoch + 5",
        "update cms_table_epochs set epoch = epoch - 3",
    ] {
        one.database.run(change).await;
        let other = beside(&one, &redis, 78).await;
        assert_eq!(asked(&other, SETTINGS).await, "MISS", "{change}");
        assert_eq!(asked(&other, SETTINGS).await, "HIT");
    }
}

/// The counts of tables come back with a backup: the next write repeats those of the site that was
/// replaced.
#[tokio::test]
async fn a_restored_site_takes_no_reply_of_the_replaced_one() {
    let Some(redis) = Redis::start() else { return };
    let nobody = || -> backup::OnProgress { Arc::new(|_| {}) };
    let mut site = site(&redis).await;
    let round_of = |n: i32| format!("round{n}");
    set(&site, "kept").await;
    let archive = site.database.folder().join("site.cms");
    let to = To::File(archive.clone());
    backup::save(site.cms.settings(), to, Saving::default(), nobody()).await.unwrap();
    set(&site, &round_of(0)).await;
    // Twice: the second restore replaces a restored site, whose reply is still in Redis.
    for round in 0..2 {
        let replaced = site.ask(SETTINGS).expect(200).await;
        let text = replaced.text();
        assert!(text.contains(&round_of(round)), "{text}");
        let Site { cms, api, database, .. } = site;
        cms.close().await;
        drop((cms, api));
        let settings = database.settings();
        let keys = Identities::default();
        let judged = backup::judge(&archive, &settings, &keys, nobody()).await.unwrap();
        judged.restore(&settings, true, nobody()).await.unwrap();
        site = Site::on(database).settings(|s| on(s, &redis)).open().await;
        set(&site, &round_of(round + 1)).await;
        let fresh = site.ask(SETTINGS).expect(200).await;
        let text = fresh.text();
        assert_eq!(fresh.header("x-cache"), "MISS", "{text}");
        let shown: Vec<_> = (0..3).filter(|n| text.contains(&round_of(*n))).collect();
        assert_eq!(shown, [round + 1], "{text}");
    }
    found(&site, &beside(&site, &redis, 77).await).await;
}

#[tokio::test]
async fn processes_with_other_settings_share_no_reply_that_depends_on_them() {
    let Some(redis) = Redis::start() else { return };
    let at = |url: &'static str| move |s: &mut Settings| s.site_url = Some(url.to_owned());
    let one = site(&redis).await;
    let page = json!({"title": "a", "url_rewrite": "/a", "published": true});
    one.insert("pages", page).await;
    for url in ["https://old.example", "https://new.example"] {
        let two = beside_with(&one, &redis, 77, at(url)).await;
        let map = two.ask("GET /sitemap.xml").expect(200).await;
        let text = map.text();
        assert_eq!(map.header("x-cache"), "MISS", "{text}");
        assert!(text.contains(&format!("<loc>{url}/a</loc>")), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_and_a_redis_that_dies_and_comes_back() {
    let Some(mut redis) = Redis::start() else { return };
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let with = [("CMS_CACHE__STORE", "redis"), ("CMS_REDIS_URL", &redis.url())];
    let [one, two] = [(); 2].map(|()| Served::start_with(&database, "warn", &with));
    let cache = |served: &Served, n: u32| {
        // The same Host for both.
        let reply = served.get_as("site.example", &format!("/api/menu?name=n{n}"));
        let state = reply.lines().find_map(|line| line.strip_prefix("x-cache: "));
        state.unwrap_or(&reply).to_owned()
    };
    // On a busy machine Redis may be late: ask for other replies then.
    let becomes_shared = |mut n: u32| {
        let began = Instant::now();
        while [cache(&one, n), cache(&two, n)] != ["MISS", "HIT"] {
            assert!(began.elapsed() < Duration::from_secs(20), "the replies are not shared");
            std::thread::sleep(Duration::from_millis(100));
            n += 1;
        }
    };
    becomes_shared(100);
    redis.stop();
    assert_eq!([cache(&one, 2), cache(&one, 2), cache(&two, 2)], ["MISS", "HIT", "MISS"]);
    for served in [&one, &two] {
        assert!(served.get("/readyz").contains("\"cache\":\"redis_away\""));
    }
    redis.restart();
    let began = Instant::now();
    while [&one, &two].iter().any(|served| served.get("/readyz").contains("redis_away")) {
        assert!(began.elapsed() < Duration::from_secs(20), "they do not come back");
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("with redis after {:?}", began.elapsed());
    becomes_shared(100_000);
    let (_, log) = one.terminate();
    assert!(log.contains("redis is away"), "{log}");
}

#[tokio::test]
async fn nobody_waits_twice_for_a_redis_that_hangs() {
    let Some(redis) = Redis::start() else { return };
    let change = |s: &mut Settings| {
        on(s, &redis);
        s.limiter.store = LimiterStore::Redis;
    };
    let site = Site::with(change).await;
    asked(&site, SETTINGS).await;
    redis.signal("-STOP");
    let mut slowest = Duration::ZERO;
    for n in 0..50 {
        let began = Instant::now();
        assert_eq!(asked(&site, &format!("GET /api/menu?name=n{n}")).await, "MISS");
        slowest = slowest.max(began.elapsed());
    }
    println!("slowest miss beside a hanging redis, limiter and cache: {slowest:?}");
    assert_eq!([state(&site).await, asked(&site, SETTINGS).await], ["redis_away", "HIT"]);
    redis.signal("-CONT");
    becomes(&site, "redis").await;
}

#[tokio::test]
async fn a_redis_that_is_full_or_holds_nonsense_is_as_none() {
    let Some(redis) = Redis::start() else { return };
    let one = site(&redis).await;
    asked(&one, SETTINGS).await;
    let name = redis.send("EVAL \"return redis.call('KEYS', '*:reply:*')[1]\" 0");
    assert!(name.starts_with('$'), "{name}");
    redis.send(
        "EVAL \"for _, k in ipairs(redis.call('KEYS', '*:reply:*')) do redis.call('SET', k, \
         '{\\\"at\\\":1}') end\" 0",
    );
    let two = beside(&one, &redis, 77).await;
    assert_eq!(asked(&two, SETTINGS).await, "MISS", "nonsense is overwritten");
    redis.send("CONFIG SET maxmemory 1");
    becomes(&one, "redis_away").await;
    let menu = "GET /api/menu";
    assert_eq!([asked(&one, menu).await, asked(&one, menu).await], ["MISS", "HIT"]);
    redis.send("CONFIG SET maxmemory 0");
    becomes(&one, "redis").await;
}
