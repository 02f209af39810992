//! Programs that use the library wrongly: each gets a clear error, nothing hangs, and nothing is
//! half done. Wrong queries are in `records.rs`, faulty hooks in `hooks.rs`, missing addresses in
//! `embedding.rs`.

mod handlers;

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use cms_core::{
    Actor, Change, Cms, Code, Result,
    plugins::{Handlers, Manifest, PlacedWidget, Plugin, ScriptReply, WidgetContent},
    settings::Settings,
};
use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

use crate::support::{Site, TestDatabase, log::Log, plugins::program, until};

async fn write(site: &Site, change: &mut Change, name: &str) {
    let record = json!({"name": name, "value": "x"});
    site.cms.items().create(change, "settings", record.as_object().unwrap()).await.unwrap();
}

async fn written(site: &Site) -> i64 {
    site.database.rows("cms_settings").await
}

/// The error of a change that waits for another change of its task names where that one began.
fn assert_waits_for_itself(told: &str) {
    assert!(told.contains("This task holds a change") && told.contains("bad_use"), "{told}");
}

/// On SQLite it would wait for ever; on PostgreSQL only where both write one row.
#[tokio::test]
async fn a_task_that_waits_for_itself_gets_an_error() {
    let builder = Site::builder().await;
    // PostgreSQL is not to end the first on a slow machine.
    let site = builder.settings(|all| all.database.idle_in_transaction_s = 60).open().await;
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
    assert_waits_for_itself(&format!("{:?}", second.expect_err("refused")));
    first.commit().await.unwrap();
    // The log names the one that lay idle, and where it began.
    let told = log.end();
    assert!(told.contains("without a statement") && told.contains("bad_use.rs:"), "{told}");

    let mut next = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut next, "next").await;
    next.commit().await.unwrap();
    assert_eq!(written(&site).await, 2);
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

/// What a plugin declares that has an endpoint for everybody, named like itself.
fn open_endpoint(id: &str) -> Json {
    let endpoint = json!({"modelPath": id, "endpoint": id, "methods": ["POST"], "public": true});
    json!({"id": id, "endpoints": [endpoint]})
}

/// A close waits for it, but not for ever.
#[tokio::test]
async fn a_change_that_outlives_its_site_is_not_committed() {
    let builder = Site::builder().await;
    // PostgreSQL is not to end it before.
    let site = builder.settings(|all| all.database.idle_in_transaction_s = 60).open().await;
    let mut late = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut late, "late").await;
    let closed = tokio::time::timeout(Duration::from_secs(20), site.cms.close()).await;
    assert!(closed.is_ok(), "it does not hang");
    let refused = late.commit().await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert!(refused.detail().contains("was closed"), "{refused}");
    assert_eq!(written(&site).await, 0);
}

/// On SQLite it shares the commit of one that lies idle: both are undone, and both are told.
#[tokio::test]
async fn a_commit_that_waits_for_another_change_ends_with_its_site() {
    let builder = Site::builder().await;
    let site = builder.settings(|all| all.database.idle_in_transaction_s = 60).open().await;
    let mut first = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut first, "first").await;
    let cms = site.cms.clone();
    let second = tokio::spawn(async move { cms.change(Actor::Operator).await });
    // Until it waits for its turn.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let first = tokio::spawn(first.commit());
    let second = second.await.unwrap().unwrap();
    site.cms.close().await;
    drop(second);
    let told = tokio::time::timeout(Duration::from_secs(10), first).await;
    let told = told.expect("it does not hang").unwrap();
    if site.database.url.is_none() {
        assert_eq!(told.as_ref().unwrap_err().code(), Code::Unavailable, "{told:?}");
    }
    assert_eq!(written(&site).await, i64::from(told.is_ok()));
}

/// Polls a future at most so many times. None: it has not ended by then, and is dropped.
async fn polled<T>(future: impl Future<Output = T>, most: usize) -> Option<T> {
    let (mut future, mut polls) = (pin!(future), 0);
    poll_fn(|context| {
        polls += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if polls == most => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// A caller that hangs up drops its future at any point: while the change begins, or commits.
#[tokio::test]
async fn a_change_that_is_cancelled_leaves_no_transaction_open() {
    let site = Site::open().await;
    let (mut tried, mut acknowledged, mut cancelled) = (0, 0, 0);
    for most in 1..=40 {
        match polled(site.cms.change(Actor::Operator), most).await {
            Some(begun) => drop(begun.unwrap()),
            None => cancelled += 1,
        }
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        write(&site, &mut change, &format!("poll {most}")).await;
        tried += 1;
        match polled(change.commit(), most).await {
            Some(committed) => {
                committed.unwrap();
                acknowledged += 1;
            }
            None => cancelled += 1,
        }
    }
    assert!(cancelled > 0 && acknowledged > 0, "{cancelled} cancelled, {acknowledged} not");
    if site.database.is_postgres() {
        let open = "pg_stat_activity where state like 'idle in transaction%' and \
                    application_name = current_setting('application_name')";
        until("no transaction is open", async || site.database.rows(open).await == 0).await;
    }
    let kept = written(&site).await;
    assert!((acknowledged..=tried).contains(&kept), "{kept} of {tried}, {acknowledged} promised");
    let mut next = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut next, "next").await;
    next.commit().await.unwrap();
    assert_eq!(written(&site).await, kept + 1);
}

/// A change that ends while its site is being closed is committed.
#[tokio::test]
async fn a_close_waits_for_open_changes() {
    let site = Site::open().await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut change, "in time").await;
    let commit = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        change.commit().await
    };
    let ((), committed) = tokio::join!(site.cms.close(), commit);
    committed.unwrap();
    assert_eq!(written(&site).await, 1);
}

/// A plugin whose endpoint writes one row in two changes at once.
fn twice() -> impl Plugin {
    program(open_endpoint("twice"), |handlers| {
        handlers.endpoint("twice", &[], |call| async move {
            let record = json!({"name": "twice", "value": "x"});
            let record = record.as_object().cloned().unwrap_or_default();
            let mut first = call.change().await?;
            call.items().create(&mut first, "settings", &record).await?;
            let second = async {
                let mut second = call.change().await?;
                call.items().create(&mut second, "settings", &record).await?;
                second.commit().await
            };
            let refused = second.await.err().map(|error| format!("{error:?}"));
            first.commit().await?;
            Ok(json!({"refused": refused}))
        })
    })
}

#[tokio::test]
async fn a_handler_that_waits_for_itself_gets_an_error() {
    let builder = Site::builder().await.program(twice());
    let site = builder.settings(|all| all.database.idle_in_transaction_s = 60).open().await;
    let answer = tokio::time::timeout(Duration::from_secs(30), async {
        site.ask("POST /api/twice").expect(200).await.data()
    });
    let answer = answer.await.expect("it does not wait for ever");
    assert_waits_for_itself(answer["refused"].as_str().unwrap());
    assert_eq!(written(&site).await, 1);
}

/// A plugin whose endpoint writes and then never answers.
fn slow(asked: Arc<Notify>) -> impl Plugin {
    program(open_endpoint("slow"), move |handlers| {
        let asked = asked.clone();
        handlers.endpoint("slow", &[], move |call| {
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
    })
}

#[tokio::test]
async fn a_handler_that_never_answers_is_ended_and_leaves_nothing() {
    let asked = Arc::new(Notify::new());
    let site = Site::builder().await.program(slow(asked.clone()));
    let site = site.settings(|s| s.scripts.timeout_s = 2).open().await;
    let told = site.ask("POST /api/slow").refused(503, "unavailable").await;
    assert!(told.text().contains("longer than 2 s"), "{}", told.text());
    asked.notified().now_or_never().expect("it had written");
    let body = json!({"name": "whole", "value": "x"});
    site.insert("settings", body).await;
    assert_eq!(written(&site).await, 1);
    // Nor does it keep its key: a repetition runs again.
    for _ in 0..2 {
        let again = site.admin("POST /api/slow").header("idempotency-key", "k");
        again.refused(503, "unavailable").await;
    }
}

#[tokio::test]
async fn a_plugin_that_is_given_twice_is_refused() {
    let database = TestDatabase::new().await;
    let both = Site::on(database).program(slow(Arc::default())).program(slow(Arc::default()));
    let refused = both.try_open().await.err().expect("refused");
    assert_eq!(refused.code(), Code::ValidationFailed);
    assert!(refused.detail().contains("\"slow\""), "{refused}");
}

/// A plugin that names a handler twice, and has one that its manifest does not name, of each kind.
struct Slips;

impl Plugin for Slips {
    fn manifest(&self) -> Manifest {
        let button = json!({"button_id": "twice", "type": "script", "script": "twice.php"});
        let manifest = json!({
            "id": "slips",
            "action_button": [button],
            "endpoints": [{"modelPath": "twice", "endpoint": "twice", "methods": ["POST"]}],
            "tasks": [{"name": "twice", "interval_s": 60, "handler": "twice"}],
        });
        serde_json::from_value(manifest).unwrap()
    }

    fn handlers(&self) -> Handlers {
        let names = ["twice", "twice", "lost"].into_iter();
        names.fold(Handlers::default(), |all, name| {
            all.task(name, |_| async { Ok(()) })
                .endpoint(name, &[], |_| async { Ok(Json::Null) })
                .script(&format!("{name}.php"), |_| async {
                    Ok(ScriptReply::Json("{}".to_owned()))
                })
                .content(name, |_| async { Ok(Json::Null) })
                .icon(&format!("{name}.svg"), b"<svg/>")
                .widget(Shown(name))
        })
    }
}

/// The content of a widget.
struct Shown(&'static str);

impl WidgetContent for Shown {
    fn name(&self) -> &str {
        self.0
    }

    fn version(&self) -> &str {
        "1.0.0"
    }

    fn content<'a>(&'a self, _: &'a PlacedWidget, _: bool) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async { Ok(Json::Null) })
    }
}

#[tokio::test]
async fn handlers_that_nothing_calls_are_refused() {
    let builder = Site::builder().await.program(Slips);
    let refused = builder.try_open().await.err().expect("refused");
    assert_eq!(refused.code(), Code::ValidationFailed);
    let told = refused.detail();
    for problem in [
        "two handlers of tasks are named twice",
        "two handlers of endpoints are named twice",
        "two handlers of scripts are named twice.php",
        "two classes of custom content are named twice",
        "two icons are named twice.svg",
        "two contents of widgets are named twice",
        "no task of the manifest has the handler \"lost\"",
        "no endpoint of the manifest has the handler \"lost\"",
        "no button of the manifest has the script \"lost.php\"",
        "no button of the manifest has the class \"lost\"",
        "no widget of the manifest has the icon \"lost.svg\"",
        "no widget of the program's plugins, and no built-in one, is named \"lost\"",
    ] {
        assert!(told.contains(problem), "{problem}: {told}");
    }
    for named in ["has the handler \"twice\"", "has the script \"twice.php\""] {
        assert!(!told.contains(named), "{named}: {told}");
    }
}

/// A plugin that waits for an event, and reads a table, that nobody declares.
struct Misspelt;

impl Plugin for Misspelt {
    fn manifest(&self) -> Manifest {
        let endpoint = json!({"modelPath": "read", "endpoint": "misspelt", "public": true});
        serde_json::from_value(json!({"id": "misspelt", "endpoints": [endpoint]})).unwrap()
    }

    fn handlers(&self) -> Handlers {
        Handlers::default()
            .on("shop.orderd", "event", |_| async { Ok(()) })
            .on("item.settings.*", "known", |_| async { Ok(()) })
            .endpoint("read", &["settings", "plane"], |_| async { Ok(Json::Null) })
    }
}

#[tokio::test]
async fn names_that_nobody_declares_are_logged() {
    let log = Log::begin();
    let site = Site::builder().await.program(Misspelt).open().await;
    site.cms.close().await;
    let told = log.end();
    let line = |text: &str| told.lines().find(|line| line.contains(text)).map(str::to_owned);
    let handler = line("has this handler's name").unwrap_or_else(|| panic!("{told}"));
    assert!(handler.contains("shop.orderd") && handler.contains("WARN"), "{handler}");
    let endpoint = line("replies of this endpoint are not").unwrap_or_else(|| panic!("{told}"));
    assert!(endpoint.contains("plane") && endpoint.contains("WARN"), "{endpoint}");
    assert!(!told.contains("table=\"settings\"") && !told.contains("name=\"known\""), "{told}");
}

/// Whoever forgets the background work is told so where the service is asked how it is.
#[tokio::test]
async fn a_program_without_background_work_is_told_so() {
    let site = Site::open().await;
    let ready = site.ask("GET /readyz").expect(200).await.data();
    assert_eq!(ready["worker"], "none", "{ready}");
}
