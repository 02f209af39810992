//! Guards: code of plugins before logins, uploads, submissions and acts of other plugins.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use cms_core::{
    Actor, Code, Error, Result,
    plugins::{Act, BeforeAct, Handlers, Manifest, Plugin},
};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::{
    forms::submit,
    routes::pagebuilder::with_pages,
    support::{
        Site,
        media::png,
        people::PASSWORD,
        plugins::{plugin, program},
        visits::leads,
    },
};

type Adds = fn(Handlers) -> Handlers;

/// A plugin that is nothing but its guards.
fn guarded(adds: Adds) -> impl Plugin {
    program(plugin("guarded", [("refusals", "note text")]), adds)
}

async fn site(adds: Adds) -> Site {
    Site::builder().await.program(guarded(adds)).open().await
}

/// Refuses, after it has written something that must go with the refusal.
async fn no(act: Act<'_>) -> Result<()> {
    let row = json!({"note": act.event()});
    let row = row.as_object().cloned().unwrap_or_default();
    act.cms()?.items().create(act.change, "refusals", &row).await?;
    Err(act.refuse("own", format!("not {}", act.event())))
}

const REFUSALS: &str = "select count(*) from refusals";

#[tokio::test]
async fn a_login_may_be_refused() {
    let mut site = site(|all| all.guard("auth.login", "no", no)).await;
    let events = "select count(*) from cms_events";
    site.group("staff", json!([])).await;
    site.user("ana", "staff").await;
    let before = site.database.count(events).await;
    let begun = site.begin("ana", PASSWORD).await.data();
    let secret = begun["setup"]["secret"].as_str().unwrap().to_owned();
    let proof = site.shown(&secret);
    let refused = site.verify(&begun["pending_token"], proof).await;
    assert_eq!(refused.status, 422);
    assert_eq!(refused.json()["error"], "validation_failed");
    assert!(refused.text().contains("not auth.login"), "{}", refused.text());
    assert_eq!(site.database.rows("cms_sessions").await, 0);
    assert_eq!(site.database.count(events).await, before);
    assert_eq!(site.database.count(REFUSALS).await, 0);

    // The guard goes, the login comes.
    site.cms.close().await;
    site = Site::on(site.database).program(guarded(|all| all)).open().await;
    let begun = site.begin("ana", PASSWORD).await.data();
    let secret = begun["setup"]["secret"].as_str().expect("the first login was undone").to_owned();
    let proof = site.shown(&secret);
    let done = site.verify(&begun["pending_token"], proof).await;
    assert_eq!(done.status, 200, "{}", done.text());
}

#[tokio::test]
async fn an_upload_and_a_submission_may_be_refused() {
    let adds: Adds = |all| all.guard("media.*", "no", no).guard("form.submitted", "no_form", no);
    let site = site(adds).await;
    let refused = site.upload("a.png", &png(4, 4, 1)).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert!(refused.text().contains("not media.uploaded"), "{}", refused.text());
    assert_eq!(site.database.rows("cms_media").await, 0);
    assert_eq!(site.media_files(), Vec::<String>::new());

    crate::forms::open(&site, "contact", json!({"title": "Write to us"})).await;
    let answers = json!({"name": "Ada", "mail": "ada@example.org"});
    // One that looks like a robot's is no way around it.
    for trap in [None, Some("x")] {
        let sent = json!({"form": "contact", "answers": answers, "trap": trap});
        let refused = submit(&site, sent).refused(422, "validation_failed").await;
        assert!(refused.text().contains("not form.submitted"), "{}", refused.text());
    }
    assert_eq!(site.database.rows("cms_form_submissions").await, 0);
    assert_eq!(site.database.count(REFUSALS).await, 0);
}

#[tokio::test]
async fn a_completion_may_be_refused_and_tried_again() {
    static OPEN: AtomicBool = AtomicBool::new(false);
    async fn hours(act: Act<'_>) -> Result<()> {
        match OPEN.load(Ordering::SeqCst) {
            true => Ok(()),
            false => Err(Error::new(Code::Conflict, format!("{} is closed.", act.event()))),
        }
    }
    let site = site(|all| all.guard("formfunnel.completed", "hours", hours)).await;
    site.leads(json!({})).await;
    let visit = site.ada(1).await;
    let refused = visit.complete(None).refused(409, "conflict").await;
    assert!(refused.text().contains("formfunnel.completed is closed"), "{}", refused.text());
    OPEN.store(true, Ordering::SeqCst);
    visit.complete(None).expect(200).await;
}

/// Of many rows each is asked for; what is refused is refused as a whole.
#[tokio::test]
async fn a_bulk_may_be_refused_by_one_row() {
    async fn third(act: Act<'_>) -> Result<()> {
        match act.data()["submission"]["id"] == 3 {
            true => Err(act.refuse("ids", format!("not by {:?}", act.actor()))),
            false => Ok(()),
        }
    }
    let site = site(|all| all.guard("formfunnel.submission_*", "third", third)).await;
    let funnel = site.funnel(leads()).await;
    for name in ["Ada", "Bob", "Cy"] {
        let visit = site.visit(funnel.id).await;
        visit.answers(json!({"name": name})).await;
        visit.answers(json!({"budget": 1})).await;
        visit.complete(None).expect(200).await;
    }
    let bulk = |ids: &[i64]| json!({"op": "set_status", "ids": ids, "value": "qualified"});
    let refused = site.staff("submissions_bulk", bulk(&[1, 2, 3])).expect(422).await;
    assert!(refused.text().contains("Key {"), "the guard knows who acts: {}", refused.text());
    let qualified = "select count(*) from cms_formfunnel_submissions \
                     where inbox_status = 'qualified'";
    assert_eq!(site.database.count(qualified).await, 0);
    site.staff("submissions_bulk", bulk(&[1, 2])).expect(200).await;
    assert_eq!(site.database.count(qualified).await, 2);
}

#[tokio::test]
async fn publishing_by_request_is_asked_for_and_by_schedule_it_is_not() {
    let site = with_pages(site(|all| all.guard("page.published", "no", no)).await).await;
    let publish = "POST /api/backend/pagebuilder?action=publish";
    let refused = site.admin(publish).json(json!({"page_id": 1})).expect(422).await;
    assert!(refused.text().contains("not page.published"), "{}", refused.text());
    assert_eq!(site.seen(1).await, None);
    let at = cms_core::rfc3339(site.clock.now() + 60_000);
    site.act("schedule", json!({"page_id": 1, "publish_at": at})).await;
    site.clock.advance(60_000);
    assert_eq!(site.cms.pages().run_schedule().await.unwrap(), 1);
    assert!(site.seen(1).await.is_some());
}

#[tokio::test]
async fn guards_are_asked_in_their_order_until_one_refuses() {
    static ASKED: AtomicI64 = AtomicI64::new(0);
    /// Notes its number.
    struct Asked(i64);
    impl BeforeAct for Asked {
        fn before<'a>(&'a self, act: Act<'a>) -> BoxFuture<'a, Result<()>> {
            Box::pin(async move {
                let before = ASKED.load(Ordering::SeqCst);
                ASKED.store(before * 10 + self.0, Ordering::SeqCst);
                match act.data()["refuse"] == self.0 {
                    true => Err(act.refuse("refuse", "as it was told")),
                    false => Ok(()),
                }
            })
        }
    }
    let site = site(|all| {
        let all = all.guard("shop.*", "one", Asked(1)).guard("shop.paid", "two", Asked(2));
        all.guard("shop.sent", "other", Asked(9)).guard("shop.paid", "three", Asked(3))
    })
    .await;
    for (refuse, asked) in [(0, 123), (2, 12), (3, 123)] {
        ASKED.store(0, Ordering::SeqCst);
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        let done = change.emit("shop.paid", json!({"refuse": refuse})).await;
        assert_eq!(ASKED.load(Ordering::SeqCst), asked);
        assert_eq!(done.is_ok(), refuse == 0, "{done:?}");
        // A change that goes on after a refusal cannot be committed.
        assert_eq!(change.commit().await.is_ok(), refuse == 0);
    }
    // Nobody waits for what the service does by itself.
    ASKED.store(0, Ordering::SeqCst);
    let mut change = site.cms.change(Actor::System).await.unwrap();
    change.emit("shop.paid", json!({"refuse": 1})).await.unwrap();
    change.commit().await.unwrap();
    assert_eq!(ASKED.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_guard_that_panics_or_waits_or_begins_a_change_refuses() {
    async fn faulty(act: Act<'_>) -> Result<()> {
        match act.data()["do"].as_str().unwrap_or_default() {
            "panic" => panic!("as it was told"),
            "wait" => std::future::pending().await,
            "change" => act.cms()?.change(Actor::Operator).await.map(drop),
            _ => act.change.emit("shop.again", act.data().clone()).await.map(drop),
        }
    }
    let site = site(|all| all.guard("shop.*", "faulty", faulty)).await;
    for (what, code) in [
        ("panic", Code::Internal),
        ("wait", Code::Unavailable),
        ("change", Code::Internal),
        ("endless", Code::Internal),
    ] {
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        let refused = change.emit("shop.paid", json!({"do": what})).await;
        let refused = refused.expect_err("a refusal");
        assert_eq!(refused.code(), code, "{what}: {refused:?}");
        drop(change);
    }
    assert_eq!(site.database.rows("cms_events").await, 0);
}

#[tokio::test]
async fn faulty_guards_are_told_at_the_start() {
    let adds: Adds = |all| {
        let all = all.guard("item.orders.created", "a", no).guard("*", "b", no);
        let all = all.guard("i*", "d", no).guard("item.orders*", "e", no);
        all.guard("a*b", "c", no).guard("auth.login", "c", no)
    };
    let refused = Site::builder().await.program(guarded(adds)).try_open().await;
    let told = refused.err().expect("it is refused").to_string();
    let faults = ["item.orders.created", "*", "a*b", "i*", "item.orders*"];
    let faults = faults.map(|pattern| format!("{pattern:?} is neither"));
    for part in faults.into_iter().chain(["two guards are named c".to_owned()]) {
        assert!(told.contains(&part), "{part}: {told}");
    }
}

/// The site keeps no handle on itself through its guards.
#[tokio::test]
async fn a_site_with_guards_goes_when_its_last_handle_goes() {
    struct Kept(Arc<()>);
    impl BeforeAct for Kept {
        fn before<'a>(&'a self, _: Act<'a>) -> BoxFuture<'a, Result<()>> {
            let _ = &self.0;
            Box::pin(async { Ok(()) })
        }
    }
    struct Keeper(Arc<()>);
    impl Plugin for Keeper {
        fn manifest(&self) -> Manifest {
            serde_json::from_value(json!({"id": "keeper"})).unwrap()
        }
        fn handlers(&self) -> Handlers {
            Handlers::default().guard("auth.login", "kept", Kept(self.0.clone()))
        }
    }
    let kept = Arc::new(());
    let site = Site::builder().await.program(Keeper(kept.clone())).open().await;
    assert!(Arc::strong_count(&kept) > 1);
    site.cms.close().await;
    drop(site);
    assert_eq!(Arc::strong_count(&kept), 1);
}
