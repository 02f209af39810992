//! Programs that use the library wrongly: each gets a clear error, nothing hangs, and nothing is
//! half done. Wrong queries are in `records.rs`, faulty hooks in `hooks.rs`, missing addresses in
//! `embedding.rs`.

use std::{sync::Arc, time::Duration};

use cms_core::{
    Actor, Change, Cms, Code,
    plugins::{Handlers, Manifest, Plugin},
    settings::Settings,
};
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Site, TestDatabase, log::Log};

async fn write(site: &Site, change: &mut Change, name: &str) {
    let record = json!({"name": name, "value": "x"});
    site.cms.items().create(change, "settings", record.as_object().unwrap()).await.unwrap();
}

async fn written(site: &Site) -> i64 {
    site.database.count("select count(*) from cms_settings").await
}

/// On SQLite it would wait for ever; on PostgreSQL as long as for any other row that is locked.
#[tokio::test]
async fn a_task_that_waits_for_itself_gets_an_error() {
    let site = Site::open().await;
    let log = Log::begin();
    let mut first = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut first, "first").await;
    let key = &json!({"name": "first", "value": "y"});
    let second = async {
        let mut second = site.cms.change(Actor::Operator).await?;
        site.cms.items().create(&mut second, "settings", key.as_object().unwrap()).await?;
        second.commit().await
    };
    let second = tokio::time::timeout(Duration::from_secs(30), second).await;
    let second = second.expect("it does not wait for ever");
    let first = first.commit().await;
    let outcome = format!("{first:?}, {second:?}");
    // PostgreSQL ends a session that lies idle, and a wait for a lock.
    assert!(first.is_err() || second.is_err(), "not both: {outcome}");
    let kept = i64::from(first.is_ok()) + i64::from(second.is_ok());
    if site.database.url.is_none() {
        assert!(first.is_ok(), "{first:?}");
        let told = format!("{:?}", second.expect_err("refused"));
        assert!(
            told.contains("This task holds a change") && told.contains("bad_use.rs:"),
            "{told}"
        );
    }
    // The log names the one that lay idle, and where it began.
    let told = log.end();
    let is_told = told.contains("without a statement") && told.contains("bad_use.rs:");
    assert!(is_told, "{outcome}: {told}");

    let mut next = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut next, "next").await;
    next.commit().await.unwrap();
    assert_eq!(written(&site).await, kept + 1);
}

/// Changes beside each other in one task, and one that was handed to another task.
#[tokio::test]
async fn changes_beside_each_other_take_turns() {
    let site = Site::open().await;
    let one = async |name: &str| {
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        write(&site, &mut change, name).await;
        change.commit().await.unwrap();
    };
    let names: Vec<String> = (0..50).map(|n| format!("name {n}")).collect();
    futures_util::future::join_all(names.iter().map(|name| one(name))).await;
    assert_eq!(written(&site).await, 50);

    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let (used, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (cms, told, waits) = (site.cms.clone(), used.clone(), go.clone());
    let other = tokio::spawn(async move {
        let record = json!({"name": "handed over", "value": "x"});
        let record = record.as_object().cloned().unwrap_or_default();
        cms.items().create(&mut change, "settings", &record).await.unwrap();
        told.notify_one();
        waits.notified().await;
        // Longer than a task waits for itself.
        tokio::time::sleep(Duration::from_millis(3300)).await;
        change.commit().await.unwrap();
    });
    used.notified().await;
    go.notify_one();
    one("own").await;
    other.await.unwrap();
    assert_eq!(written(&site).await, 52);
}

#[test]
fn a_site_is_opened_within_a_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().to_owned();
    let opened = Cms::open(settings).now_or_never().expect("an error at once");
    let error = opened.err().expect("refused");
    assert!(error.detail().contains("Tokio runtime"), "{error}");
}

#[tokio::test]
async fn a_closed_site_takes_no_writes() {
    let site = Site::open().await;
    let clone = site.cms.clone();
    site.cms.close().await;
    let refused = tokio::time::timeout(Duration::from_secs(20), clone.change(Actor::Operator));
    let refused = refused.await.expect("it does not hang").err().expect("refused");
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    site.ask("GET /api/settings").refused(503, "unavailable").await;
    assert_eq!(written(&site).await, 0);
}

/// A plugin whose endpoint begins a second change while it holds one.
struct Twice;

impl Plugin for Twice {
    fn manifest(&self) -> Manifest {
        let endpoint = json!({"modelPath": "twice", "endpoint": "twice", "methods": ["POST"],
            "public": true});
        serde_json::from_value(json!({"id": "twice", "endpoints": [endpoint]})).unwrap()
    }

    fn handlers(&self) -> Handlers {
        Handlers::default().endpoint("twice", &[], |call| async move {
            let first = call.change().await?;
            let second = call.change().await;
            first.commit().await?;
            match second {
                Ok(second) => second.commit().await?,
                Err(error) => return Ok(json!({"refused": format!("{error:?}")})),
            }
            Ok(json!({"refused": null}))
        })
    }
}

#[tokio::test]
async fn a_handler_that_waits_for_itself_gets_an_error() {
    let site = Site::builder().await.program(Twice).open().await;
    let answer = tokio::time::timeout(Duration::from_secs(30), async {
        site.ask("POST /api/twice").expect(200).await.data()
    });
    let answer = answer.await.expect("it does not wait for ever");
    // On PostgreSQL each has a connection of its own.
    if site.database.url.is_none() {
        let told = answer["refused"].as_str().unwrap();
        assert!(
            told.contains("This task holds a change") && told.contains("bad_use.rs:"),
            "{told}"
        );
    } else {
        assert_eq!(answer["refused"], json!(null));
    }
}

/// A plugin whose endpoint writes and then never answers.
#[derive(Default)]
struct Slow {
    asked: Arc<Notify>,
}

impl Plugin for Slow {
    fn manifest(&self) -> Manifest {
        let endpoint = json!({"modelPath": "hang", "endpoint": "hang", "methods": ["POST"],
            "public": true});
        let manifest = json!({"id": "slow", "endpoints": [endpoint]});
        serde_json::from_value(manifest).unwrap()
    }

    fn handlers(&self) -> Handlers {
        let asked = self.asked.clone();
        Handlers::default().endpoint("hang", &[], move |call| {
            let asked = asked.clone();
            async move {
                let mut change = call.change().await?;
                let record = json!({"name": "half", "value": "x"});
                let record = record.as_object().cloned().unwrap_or_default();
                call.items().create(&mut change, "settings", &record).await?;
                asked.notify_one();
                std::future::pending::<()>().await;
                change.commit().await?;
                Ok(json!(null))
            }
        })
    }
}

#[tokio::test]
async fn a_handler_that_never_answers_is_ended_and_leaves_nothing() {
    let slow = Slow::default();
    let asked = slow.asked.clone();
    let site = Site::builder().await.program(slow).settings(|s| s.scripts.timeout_s = 2);
    let site = site.open().await;
    let told = site.ask("POST /api/hang").refused(503, "unavailable").await;
    assert!(told.text().contains("longer than 2 s"), "{}", told.text());
    asked.notified().now_or_never().expect("it had written");
    let body = json!({"name": "whole", "value": "x"});
    site.admin("POST /api/backend/item?table=settings").json(body).expect(201).await;
    assert_eq!(written(&site).await, 1);
    // Nor does it keep its key: a repetition runs again.
    for _ in 0..2 {
        let again = site.admin("POST /api/hang").header("idempotency-key", "k");
        again.refused(503, "unavailable").await;
    }
}

#[tokio::test]
async fn a_plugin_that_is_given_twice_is_refused() {
    let database = TestDatabase::new().await;
    let both = Site::on(database).program(Slow::default()).program(Slow::default());
    let refused = both.try_open().await.err().expect("refused");
    assert_eq!(refused.code(), Code::ValidationFailed);
    assert!(refused.detail().contains("\"slow\""), "{refused}");
}

/// Whoever forgets the background work is told so where the service is asked how it is.
#[tokio::test]
async fn a_program_without_background_work_is_told_so() {
    let site = Site::open().await;
    let ready = site.ask("GET /readyz").expect(200).await.data();
    assert_eq!(ready["worker"], "none", "{ready}");
}
