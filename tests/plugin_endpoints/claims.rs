//! Who works on a request with an `Idempotency-Key` and loses it answers no repetition.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cms_core::{
    plugins::{Plugin, ScriptReply},
    traffic::idempotency::{Claim, Remember},
};
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use crate::{
    index_builds::Held,
    support::{Reply, Site, plugins::program, until},
};

const ENDPOINT: &str = "POST /api/backend/gate/pass";
const SCRIPT: &str = "POST /api/backend/actions/script";

/// Work that waits until its number is let through, and tells the number.
fn gate(calls: Arc<AtomicU64>, open: watch::Receiver<BTreeSet<u64>>) -> impl Plugin {
    let manifest = json!({
        "id": "gate",
        "action_button": [{"button_id": "pass", "type": "script", "script": "pass.php"}],
        "endpoints": [{"modelPath": "pass", "endpoint": "backend/gate/pass", "methods": ["POST"]}],
    });
    let pass = move || {
        let (number, mut open) = (calls.fetch_add(1, Ordering::SeqCst), open.clone());
        async move {
            open.wait_for(|open| open.contains(&number)).await.unwrap();
            number
        }
    };
    program(manifest, move |handlers| {
        let (pass, scripted) = (pass.clone(), pass.clone());
        handlers
            .endpoint("pass", &[], move |_| {
                let passed = pass();
                async move { Ok(json!(passed.await)) }
            })
            .script("pass.php", move |_| {
                let passed = scripted();
                async move { Ok(ScriptReply::Json(json!({"data": passed.await}).to_string())) }
            })
    })
}

/// A reply to the call `key` of the caller `c`.
fn reply(key: &str, body: &str) -> Remember {
    Remember {
        caller: "c".to_owned(),
        key: key.to_owned(),
        fingerprint: "f".to_owned(),
        status: 200,
        body: Some(body.to_owned()),
        etag: None,
        rights: String::new(),
    }
}

/// A claim of that call, when it is free.
async fn claimed(site: &Site, key: &str) -> Option<Claim> {
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    let claim = site.cms.idempotency().claim(&mut change, ("c", key), "f").await.unwrap();
    change.commit().await.unwrap();
    claim
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_lost_his_claim_does_not_answer_for_the_next() {
    for line in [ENDPOINT, SCRIPT] {
        let (lets, open) = watch::channel(BTreeSet::new());
        let calls = Arc::new(AtomicU64::new(0));
        let site = Site::builder().await.program(gate(calls.clone(), open)).open().await;
        let ask = || {
            let body = if line == SCRIPT {
                json!({"plugin": "gate", "button_id": "pass"})
            } else {
                json!({})
            };
            site.admin(line).header("idempotency-key", "a").json(body).send()
        };
        let number = |reply: &Reply| reply.json()["data"].clone();
        let begun = async |count| {
            until("it begins", async || calls.load(Ordering::SeqCst) >= count).await;
        };
        let first = async {
            let reply = ask().await;
            assert_eq!((reply.status.as_u16(), number(&reply)), (200, json!(0)), "its own caller");
        };
        let rest = async {
            begun(1).await;
            // Its process stands still past its lease, and another one takes the request. On a slow
            // machine it would renew its claim, so that is taken away.
            let lost = "update cms_idempotency set claim = 'lost' where status = 0";
            site.database.run(lost).await;
            site.clock.advance(61_000);
            let second = async {
                let reply = ask().await;
                assert_eq!((reply.status.as_u16(), number(&reply)), (200, json!(1)));
            };
            let rest = async {
                begun(2).await;
                lets.send_modify(|open| {
                    open.insert(0);
                });
            };
            tokio::join!(second, rest)
        };
        let end = async {
            // The first has ended; the second is still under way.
            until("the first ends", async || lets.borrow().contains(&0)).await;
            let reply = ask().await;
            assert_eq!(reply.json()["error"], "in_progress", "{}", reply.text());
            lets.send_modify(|open| {
                open.insert(1);
            });
        };
        let all = async { tokio::join!(first, rest, end) };
        tokio::time::timeout(Duration::from_secs(180), all).await.expect("no request hangs");
        let reply = ask().await;
        assert_eq!((number(&reply), reply.header("idempotency-replayed")), (json!(1), "true"));
        assert_eq!(calls.load(Ordering::SeqCst), 2, "{line}");
    }
}

/// A change that commits under the key of work under way is refused, not kept over it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_does_not_answer_for_work_under_way() {
    let site = Site::open().await;
    let idempotency = site.cms.idempotency();
    let held = claimed(&site, "k").await.expect("free");
    assert!(claimed(&site, "k").await.is_none(), "it is held");
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    idempotency.remember(&mut change, reply("k", "change")).await.expect_err("under way");
    drop(change);
    held.keep(reply("k", "work")).await;
    let kept: Json = json!(idempotency.remembered("c", "k").await.unwrap().unwrap().body);
    assert_eq!(kept, "work");
}

/// The database is away while work ends: its caller is answered soon, and the reply is kept later,
/// by the end of the site at the latest.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reply_that_cannot_be_kept_yet_holds_its_caller_up_for_seconds_only() {
    let site = Site::open().await;
    for closes in [false, true] {
        let key = format!("k{closes}");
        let claim = claimed(&site, &key).await.expect("free");
        let held = Held::by(&site.database, "lock table cms_idempotency in share mode").await;
        let keep = claim.keep(reply(&key, "work"));
        let kept = tokio::time::timeout(Duration::from_secs(100), keep).await;
        kept.expect("it does not wait for the database");
        let row = format!("cms_idempotency where idempotency_key = '{key}' and status = 200");
        let kept = async || site.database.rows(&row).await == 1;
        assert!(!kept().await);
        if closes {
            tokio::join!(site.cms.close(), held.end());
            assert!(kept().await, "the end waits for it");
            continue;
        }
        held.end().await;
        until("it is kept", kept).await;
    }
}
