//! Handlers that hold a change, and begin or read something else beside it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cms_core::{
    Actor, Change, Cms, Result, Work,
    events::{Order, OrderCreated},
    items::{Items, Query},
    plugins::{Handlers, Manifest, Plugin},
};
use serde_json::json;

use super::{assert_waits_for_itself, write};
use crate::support::Site;

/// What came of second changes.
type Told = Arc<Mutex<Vec<String>>>;

/// A plugin whose handlers hold a change, and begin more in other ways than by their call.
struct Aside(Told);

/// By the site, for the same row, and by what has a change of its own, for another row.
async fn aside(cms: Cms, mut first: Change, told: Told) -> Result<()> {
    let name = format!("aside {}", told.lock().unwrap().len());
    let record = json!({"name": name, "value": "x"});
    let record = record.as_object().cloned().unwrap_or_default();
    // The handler is not to be called for it.
    first.without_events("settings").await?;
    cms.items().create(&mut first, "settings", &record).await?;
    let second = async {
        let mut second = cms.change(Actor::Operator).await?;
        cms.items().create(&mut second, "settings", &record).await.map(drop)
    };
    let second = second.await;
    let order = OrderCreated { order: Order::new(7) };
    let third = cms.webhooks().raise(Actor::Operator, &order).await.map(drop);
    told.lock().unwrap().extend([format!("{second:?}"), format!("{third:?}")]);
    first.commit().await
}

impl Plugin for Aside {
    fn manifest(&self) -> Manifest {
        let endpoint = json!({"modelPath": "aside", "endpoint": "aside", "methods": ["POST"],
            "public": true});
        let task = json!({"name": "aside", "interval_s": 60, "handler": "aside"});
        let manifest = json!({"id": "aside", "endpoints": [endpoint], "tasks": [task]});
        serde_json::from_value(manifest).unwrap()
    }

    fn handlers(&self) -> Handlers {
        let (asked, run, heard) = (self.0.clone(), self.0.clone(), self.0.clone());
        Handlers::default()
            .endpoint("aside", &[], move |call| {
                let told = asked.clone();
                async move {
                    aside(call.cms()?, call.change().await?, told).await?;
                    Ok(json!(null))
                }
            })
            .task("aside", move |call| {
                let told = run.clone();
                async move { aside(call.cms()?, call.change().await?, told).await }
            })
            .on("item.settings.created", "aside", move |call| {
                let told = heard.clone();
                async move { aside(call.cms()?, call.change().await?, told).await }
            })
    }
}

/// Makes an event of a record, and has handlers called until `is_heard`.
async fn until_heard(site: &Site, is_heard: impl Fn() -> bool) {
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    write(site, &mut change, "heard").await;
    change.commit().await.unwrap();
    // On PostgreSQL changes of other tests hold it up.
    let heard = async {
        while !is_heard() {
            site.cms.step(&[Work::Events]).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), heard).await.expect("it is called");
}

#[tokio::test]
async fn a_handler_waits_for_itself_in_no_other_way() {
    let told = Told::default();
    let builder = Site::builder().await.program(Aside(told.clone()));
    // PostgreSQL is not to end the first on a slow machine.
    let site = builder.settings(|all| all.database.idle_in_transaction_s = 60).open().await;
    let number = || told.lock().unwrap().len();
    let called = async {
        site.ask("POST /api/aside").expect(200).await;
        site.cms.tasks().scheduler().step().await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(60), called).await.expect("they do not wait for ever");
    assert_eq!(number(), 4);
    until_heard(&site, || number() == 6).await;
    let told = told.lock().unwrap().clone();
    for (place, outcome) in told.iter().enumerate() {
        // On PostgreSQL each has a connection of its own.
        match site.database.is_postgres() && place % 2 == 1 {
            true => assert_eq!(outcome, "Ok(())", "{told:?}"),
            false => assert_waits_for_itself(outcome),
        }
    }
}

/// A request that is answered in the task of a program is not taken for the program.
#[tokio::test]
async fn a_request_waits_for_the_change_of_a_program_in_its_task() {
    let builder = Site::builder().await;
    // PostgreSQL is not to end it before.
    let site = builder.settings(|all| all.database.idle_in_transaction_s = 60).open().await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    write(&site, &mut change, "held").await;
    let held = async {
        // Longer than a task waits for itself.
        tokio::time::sleep(Duration::from_millis(3300)).await;
        change.commit().await.unwrap();
    };
    let body = json!({"name": "asked", "value": "x"});
    let asked = site.admin("POST /api/backend/item?table=settings").json(body).expect(201);
    tokio::join!(asked, held);
    assert_eq!(super::written(&site).await, 2);
}

/// A plugin whose handlers read through the pool while they hold a change.
#[derive(Clone, Default)]
struct Beside {
    began: Arc<AtomicU64>,
    went_on: Arc<AtomicU64>,
}

impl Beside {
    async fn read(self, items: &Items, first: Change) -> Result<()> {
        self.began.fetch_add(1, Ordering::SeqCst);
        items.list("settings", &Query::new()).await?;
        self.went_on.fetch_add(1, Ordering::SeqCst);
        first.commit().await
    }
}

impl Plugin for Beside {
    fn manifest(&self) -> Manifest {
        let endpoint = json!({"modelPath": "beside", "endpoint": "beside", "methods": ["POST"],
            "public": true});
        serde_json::from_value(json!({"id": "beside", "endpoints": [endpoint]})).unwrap()
    }

    fn handlers(&self) -> Handlers {
        let (asked, heard) = (self.clone(), self.clone());
        Handlers::default()
            .endpoint("beside", &[], move |call| {
                let of = asked.clone();
                async move {
                    of.read(call.items(), call.change().await?).await?;
                    Ok(json!(null))
                }
            })
            .on("item.settings.created", "beside", move |call| {
                let of = heard.clone();
                async move { of.read(call.items(), call.change().await?).await }
            })
    }
}

/// Debug builds notice it, whoever calls the handler.
#[tokio::test]
async fn a_read_beside_the_change_of_a_handler_is_noticed() {
    if !cfg!(debug_assertions) {
        return;
    }
    let beside = Beside::default();
    let (began, went_on) = (beside.began.clone(), beside.went_on.clone());
    let site = Site::builder().await.program(beside).open().await;
    let ask = || site.admin("POST /api/beside");
    ask().refused(500, "internal_error").await;
    ask().header("idempotency-key", "k").refused(500, "internal_error").await;
    until_heard(&site, || began.load(Ordering::SeqCst) == 3).await;
    assert_eq!(went_on.load(Ordering::SeqCst), 0);
}
