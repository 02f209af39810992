//! Who works on a request with an `Idempotency-Key` and loses it answers no repetition.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cms_core::plugins::{Handlers, Manifest, Plugin, ScriptReply};
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use crate::{
    index_builds::Held,
    support::{Reply, Site},
};

const ENDPOINT: &str = "POST /api/backend/gate/pass";
const SCRIPT: &str = "POST /api/backend/actions/script";

/// Work that waits until its number is let through, and tells the number.
struct Gate {
    calls: Arc<AtomicU64>,
    open: watch::Receiver<BTreeSet<u64>>,
}

impl Plugin for Gate {
    fn manifest(&self) -> Manifest {
        let manifest = json!({
            "id": "gate",
            "action_button": [{"button_id": "pass", "type": "script", "script": "pass.php"}],
            "endpoints": [
                {"modelPath": "pass", "endpoint": "backend/gate/pass", "methods": ["POST"]},
            ],
        });
        serde_json::from_value(manifest).unwrap()
    }

    fn handlers(&self) -> Handlers {
        let (calls, open) = (self.calls.clone(), self.open.clone());
        let pass = move || {
            let (number, mut open) = (calls.fetch_add(1, Ordering::SeqCst), open.clone());
            async move {
                open.wait_for(|open| open.contains(&number)).await.unwrap();
                number
            }
        };
        let scripted = pass.clone();
        Handlers::default()
            .endpoint("pass", &[], move |_| {
                let passed = pass();
                async move { Ok(json!(passed.await)) }
            })
            .script("pass.php", move |_| {
                let passed = scripted();
                async move { Ok(ScriptReply::Json(json!({"data": passed.await}).to_string())) }
            })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_lost_his_claim_does_not_answer_for_the_next() {
    for line in [ENDPOINT, SCRIPT] {
        let (lets, open) = watch::channel(BTreeSet::new());
        let calls = Arc::new(AtomicU64::new(0));
        let program = Gate { calls: calls.clone(), open };
        let site = Site::builder().await.program(program).open().await;
        let ask = || {
            let body = if line == SCRIPT {
                json!({"plugin": "gate", "button_id": "pass"})
            } else {
                json!({})
            };
            site.admin(line).header("idempotency-key", "a").json(body).send()
        };
        let number = |reply: &Reply| reply.json()["data"].clone();
        let begun = async |count: u64| {
            while calls.load(Ordering::SeqCst) < count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
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
            site.database.run(lost.to_owned()).await;
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
            while !lets.borrow().contains(&0) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
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
    let (lets, open) = watch::channel(BTreeSet::new());
    let calls = Arc::new(AtomicU64::new(0));
    let site = Site::builder().await.program(Gate { calls, open }).open().await;
    let idempotency = site.cms.idempotency();
    let claim = async || {
        let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
        let claimed = idempotency.claim(&mut change, ("c", "k"), "f").await.unwrap();
        change.commit().await.unwrap();
        claimed
    };
    let reply = |body: &str| cms_core::traffic::idempotency::Remember {
        caller: "c".to_owned(),
        key: "k".to_owned(),
        fingerprint: "f".to_owned(),
        status: 200,
        body: Some(body.to_owned()),
        etag: None,
        rights: String::new(),
    };
    let held = claim().await.expect("free");
    assert!(claim().await.is_none(), "it is held");
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    idempotency.remember(&mut change, reply("change")).await.expect_err("under way");
    drop(change);
    held.keep(reply("work")).await;
    let kept: Json = json!(idempotency.remembered("c", "k").await.unwrap().unwrap().body);
    assert_eq!(kept, "work");
    drop(lets);
}

/// The database is away while work ends: its caller is answered soon, and the reply is kept later,
/// by the end of the site at the latest.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reply_that_cannot_be_kept_yet_holds_its_caller_up_for_seconds_only() {
    let site = Site::open().await;
    for closes in [false, true] {
        let idempotency = site.cms.idempotency();
        let key = format!("k{closes}");
        let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
        let claim = idempotency.claim(&mut change, ("c", &key), "f").await.unwrap().expect("free");
        change.commit().await.unwrap();
        let held = Held::by(&site.database, "lock table cms_idempotency in share mode").await;
        let reply = cms_core::traffic::idempotency::Remember {
            caller: "c".to_owned(),
            key: key.clone(),
            fingerprint: "f".to_owned(),
            status: 200,
            body: Some("work".to_owned()),
            etag: None,
            rights: String::new(),
        };
        let kept = tokio::time::timeout(Duration::from_secs(100), claim.keep(reply)).await;
        kept.expect("it does not wait for the database");
        let row = format!("from cms_idempotency where idempotency_key = '{key}' and status = 200");
        let kept = async || site.database.count(&format!("select count(*) {row}")).await == 1;
        assert!(!kept().await);
        if closes {
            tokio::join!(site.cms.close(), held.end());
            assert!(kept().await, "the end waits for it");
            continue;
        }
        held.end().await;
        let later = async {
            while !kept().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), later).await.expect("it is kept");
    }
}
