//! The removal of old rows: by each process that serves, unless it leaves that to others.

use std::{process::Stdio, time::Duration};

use cms_http::Server;
use futures_util::FutureExt as _;

use crate::support::{
    Site, TestDatabase,
    log::Log,
    process::{self, Served},
    webhooks::site,
};

const EVENTS: &str = "select count(*) from cms_events";

/// Lets minutes pass until a count is 0.
async fn gone(site: &Site, count: &str) {
    let gone = async {
        while site.database.count(count).await > 0 {
            site.clock.advance(60_000);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect(count);
}

#[tokio::test]
async fn a_server_removes_old_rows_unless_others_do() {
    for scheduler in [true, false] {
        let site = site().await;
        site.write("a").await;
        site.clock.advance(31 * 24 * 3_600_000);
        let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
        let server = if scheduler { server } else { server.without_scheduler() };
        let (stop, served) = (server.stop(), tokio::spawn(server.run()));
        // Each process writes its own counters in the same minute.
        gone(&site, "select count(*) from cms_api_keys where last_used_at is null").await;
        if scheduler {
            gone(&site, EVENTS).await;
        } else {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            assert_eq!(site.database.count(EVENTS).await, 1, "left to others");
            site.cms.upkeep().await;
            assert_eq!(site.database.count(EVENTS).await, 0, "it was old enough");
        }
        stop.now();
        served.await.unwrap();
    }
}

/// As a fault of any work that is tried again and again.
#[tokio::test]
async fn a_fault_that_lasts_is_logged_once_and_so_is_its_end() {
    let site = Site::open().await;
    site.database.run("alter table cms_idempotency rename to away").await;
    let log = Log::begin();
    for _ in 0..3 {
        site.cms.expire().await.unwrap_err();
    }
    site.database.run("alter table away rename to cms_idempotency").await;
    for _ in 0..3 {
        site.cms.expire().await.unwrap();
    }
    let lines = log.end();
    assert_eq!(lines.matches("old rows were not removed").count(), 1, "{lines}");
    assert_eq!(lines.matches("works again").count(), 1, "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn serve_leaves_to_others_what_its_flags_say() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    for (flags, work) in [
        (&[][..], "[Deliveries, Counters, Upkeep, Tasks, Events, Mail, Funnels]"),
        (&["--no-scheduler"], "[Deliveries, Counters, Events, Mail]"),
        (&["--no-worker"], "[Counters, Upkeep, Tasks, Funnels]"),
        (&["--no-worker", "--no-scheduler"], "[Counters]"),
    ] {
        let mut command = process::command(&database, &["serve", "--listen", "127.0.0.1:0"]);
        command.args(flags).stdin(Stdio::null());
        let served = Served::start_command(command, "cms_http=debug", &[]);
        served.get("/healthz");
        let (code, log) = served.terminate();
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains(&format!("work={work}")), "{flags:?}: {log}");
    }
}

#[tokio::test]
async fn a_room_that_cannot_be_cleared_keeps_no_other_from_it() {
    let site = site().await;
    site.write("a").await;
    site.clock.advance(31 * 24 * 3_600_000);
    site.database.run("alter table cms_idempotency rename to gone".to_owned()).await;
    site.cms.expire().await.expect_err("told at the end");
    assert_eq!(site.database.count(EVENTS).await, 0);
}

#[tokio::test]
async fn counters_of_a_flush_that_is_broken_off_are_kept() {
    // Its writer is taken in a task, so that the first look never ends the flush.
    let site = Site::on(TestDatabase::sqlite().await).open().await;
    site.cms.flush().await.unwrap();
    let requests = "select cast(sum(requests) as bigint) from cms_api_keys";
    let before = site.database.count(requests).await;
    site.write("a").await;
    assert!(site.cms.flush().now_or_never().is_none(), "it waits for the database");
    site.cms.flush().await.unwrap();
    assert_eq!(site.database.count(requests).await, before + 1);
}
