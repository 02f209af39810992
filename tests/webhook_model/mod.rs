//! 27: the queue beside a model of it in memory, through random steps of two workers' lives: after
//! each of them both are alike. The fault report walks 100,000 steps.

mod model;

use std::sync::{
    Arc,
    atomic::{AtomicU16, Ordering},
};

use cms_core::{
    Actor, Code,
    webhooks::{SubscriptionPatch, Worker},
};
use model::{Holding, MAX_RETRIES, Model};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::json;
use sqlx::{Connection, PgConnection, SqliteConnection};
use tokio::sync::watch;

use crate::support::{
    Answer, Receiver, Site, TestDatabase,
    site::NOW,
    webhooks::{WEBHOOKS, open},
};

/// Of one site; then another is opened.
const STEPS: usize = 250;

#[derive(Clone, Debug)]
enum Step {
    /// So many events that both subscriptions listen to.
    Enqueue(usize),
    /// A worker writes down what it heard and takes what is due; its receivers answer this status,
    /// and it stands still.
    Turn(usize, u16),
    /// It is asked to stop, and another begins.
    Finish(usize),
    /// It dies.
    Crash(usize),
    Advance(i64),
    Disable(usize),
    Reactivate(usize, bool),
    Rotate(usize, i64),
    Cancel(prop::sample::Index),
    Retry(prop::sample::Index),
    Purge(&'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let (worker, subscription) = (0..2_usize, 0..2_usize);
    let time = prop::sample::select(vec![
        1, 1, 100, 500, 1000, 1000, 29_999, 30_000, 60_000, 120_000, 7_200_000, -1000, -3_600_000,
    ]);
    prop_oneof![
        3 => (1..9_usize).prop_map(Step::Enqueue),
        8 => (worker.clone(), prop::sample::select(vec![200, 200, 500]))
            .prop_map(|(worker, status)| Step::Turn(worker, status)),
        3 => worker.clone().prop_map(Step::Finish),
        1 => worker.prop_map(Step::Crash),
        5 => time.prop_map(Step::Advance),
        1 => subscription.clone().prop_map(Step::Disable),
        1 => (subscription.clone(), any::<bool>())
            .prop_map(|(subscription, replay)| Step::Reactivate(subscription, replay)),
        1 => (subscription, prop::sample::select(vec![0, 60]))
            .prop_map(|(subscription, grace)| Step::Rotate(subscription, grace)),
        1 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        1 => any::<prop::sample::Index>().prop_map(Step::Retry),
        1 => prop::sample::select(vec!["delivered", "failed", "cancelled"]).prop_map(Step::Purge),
    ]
}

#[test]
fn the_queue_is_as_its_model() {
    walk(1500, TestDatabase::new).unwrap();
}

/// The first divergence is the error, with the fewest steps that lead to it.
pub fn walk(steps: usize, database: impl AsyncFn() -> TestDatabase) -> Result<(), String> {
    // In one thread, so that an attempt whose end is counted can be joined too.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cases = u32::try_from(steps.div_ceil(STEPS)).unwrap();
    let config =
        Config { cases, max_shrink_iters: 300, failure_persistence: None, ..Config::default() };
    // The same steps in each run.
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[27; 32]));
    let outcome = runner.run(&vec(step(), STEPS), |steps| {
        runtime.block_on(async {
            let mut both = Both::new(database().await).await;
            for (n, step) in steps.iter().enumerate() {
                both.take(step).await;
                let (rows, expected) = (both.eye.rows().await, both.expected());
                prop_assert_eq!(rows, expected, "after step {}, {:?}", n, step);
            }
            Ok(())
        })
    });
    outcome.map_err(|failed| failed.to_string())
}

/// The site and its model.
struct Both {
    site: Site,
    model: Model,
    subscriptions: [i64; 2],
    workers: [Worker; 2],
    status: Arc<AtomicU16>,
    _receiver: Receiver,
    eye: Eye,
}

impl Both {
    async fn new(database: TestDatabase) -> Self {
        let site = Site::on(database).settings(open).open().await;
        let status = Arc::new(AtomicU16::new(200));
        let now = status.clone();
        let receiver =
            Receiver::scripted(move |_, _| Answer::Status(now.load(Ordering::SeqCst))).await;
        let mut subscriptions = [0; 2];
        for (id, max_retries) in subscriptions.iter_mut().zip(MAX_RETRIES) {
            let body = json!({
                "name": "x", "url": receiver.url, "events": ["order.created"],
                "max_retries": max_retries,
            });
            *id = site.create(WEBHOOKS, body).await["id"].as_i64().unwrap();
        }
        let workers = [(); 2].map(|()| site.cms.webhooks().worker());
        let eye = Eye::open(&site).await;
        Self {
            site,
            model: Model { now: NOW, ..Model::default() },
            subscriptions,
            workers,
            status,
            _receiver: receiver,
            eye,
        }
    }

    async fn take(&mut self, step: &Step) {
        let (cms, webhooks) = (self.site.cms.clone(), self.site.cms.webhooks());
        let mut change = None;
        if !matches!(step, Step::Turn(..) | Step::Finish(_) | Step::Crash(_) | Step::Advance(_)) {
            change = Some(cms.change(Actor::System).await.unwrap());
        }
        match (step, &mut change) {
            (Step::Enqueue(count), Some(change)) => {
                for _ in 0..*count {
                    change.emit("order.created", json!({"order": {"id": 7}})).await.unwrap();
                }
            }
            (Step::Disable(n), Some(change)) => {
                let mut patch = SubscriptionPatch::default();
                patch.active = Some(false);
                webhooks.update(change, self.subscriptions[*n], patch).await.unwrap();
                self.model.disable(*n);
            }
            (Step::Reactivate(n, replay), Some(change)) => {
                webhooks.activate(change, self.subscriptions[*n], *replay).await.unwrap();
                self.model.reactivate(*n, *replay);
            }
            (Step::Rotate(n, grace), Some(change)) => {
                let done = webhooks
                    .rotate_secret(change, self.subscriptions[*n], *grace)
                    .await
                    .map_err(|error| assert_eq!(error.code(), Code::Conflict));
                assert_eq!(done.is_ok(), self.model.rotate(*n, *grace));
            }
            (Step::Cancel(index) | Step::Retry(index), Some(change)) => {
                if let Some(id) = self.model.nth(index) {
                    let (done, expected) = match step {
                        Step::Cancel(_) => {
                            (webhooks.cancel(change, id).await.map(drop), self.model.cancel(id))
                        }
                        _ => (webhooks.retry_now(change, id).await.map(drop), self.model.retry(id)),
                    };
                    let refused = done.err().map(|error| error.code());
                    assert_eq!(refused, (!expected).then_some(Code::Conflict));
                }
            }
            (Step::Purge(status), Some(change)) => {
                webhooks.purge(change, status).await.unwrap();
                self.model.purge(status);
            }
            (Step::Turn(n, status), _) => self.turn(*n, *status).await,
            (Step::Finish(n), _) => self.finish(*n).await,
            (Step::Crash(n), _) => {
                self.workers[*n] = webhooks.worker();
                self.model.workers[*n] = Holding::default();
            }
            (Step::Advance(millis), _) => {
                self.site.clock.advance(*millis);
                self.model.now += millis;
            }
            (_, None) => unreachable!("every other step is a change"),
        }
        if let Some(change) = change {
            change.commit().await.unwrap();
        }
        if let Step::Enqueue(count) = step {
            for ids in self.eye.newest(self.subscriptions, *count).await {
                self.model.enqueue(ids);
            }
        }
    }

    async fn turn(&mut self, worker: usize, status: u16) {
        self.status.store(status, Ordering::SeqCst);
        self.workers[worker].claim().await.unwrap();
        self.model.turn(worker, status == 200);
        // All have begun and ended before the next step, which may change the answer.
        loop {
            tokio::task::yield_now().await;
            if self.site.cms.webhooks().under_way() == 0 {
                return;
            }
        }
    }

    async fn finish(&mut self, worker: usize) {
        let new = self.site.cms.webhooks().worker();
        let old = std::mem::replace(&mut self.workers[worker], new);
        // It is asked to stop: it writes down what it has and claims nothing.
        let (_stop, stopped) = watch::channel(true);
        old.run(stopped, false).await;
        self.model.finish(worker);
    }

    /// In the form of [`Eye::rows`].
    fn expected(&self) -> Vec<String> {
        let model = &self.model;
        let jobs = model.jobs.iter().map(|(id, job)| {
            format!(
                "{id} of {}: {}, due {}, retries {}",
                self.subscriptions[job.lane],
                job.status,
                job.due - NOW,
                job.retries
            )
        });
        let lanes = model.lanes.iter().zip(self.subscriptions).map(|(lane, id)| {
            format!(
                "subscription {id}: off {}, failures {}, not before {}",
                u8::from(lane.off),
                lane.failures,
                lane.not_before
            )
        });
        jobs.chain(lanes).collect()
    }
}

/// Looks into the database, past the service.
enum Eye {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Eye {
    async fn open(site: &Site) -> Self {
        match &site.database.url {
            Some(url) => Self::Postgres(PgConnection::connect(url).await.unwrap()),
            None => Self::Sqlite(site.database.sqlite_connection().await),
        }
    }

    async fn texts(&mut self, sql: String) -> Vec<String> {
        let sql = sqlx::AssertSqlSafe(sql);
        let found = match self {
            Self::Sqlite(connection) => sqlx::query_scalar(sql).fetch_all(connection).await,
            Self::Postgres(connection) => sqlx::query_scalar(sql).fetch_all(connection).await,
        };
        found.unwrap()
    }

    async fn rows(&mut self) -> Vec<String> {
        let jobs = format!(
            "select id || ' of ' || subscription_id || ': ' || status \
             || ', due ' || (next_retry_at - {NOW}) || ', retries ' || retry_count \
             from cms_webhook_queue order by id"
        );
        let lanes = "select 'subscription ' || id \
                     || ': off ' || (case when active then 0 else 1 end) \
                     || ', failures ' || failure_count || ', not before ' || not_before \
                     from cms_webhook_subscriptions order by id";
        let mut rows = self.texts(jobs).await;
        rows.extend(self.texts(lanes.to_owned()).await);
        rows
    }

    /// The newest jobs of each, oldest first.
    async fn newest(&mut self, subscriptions: [i64; 2], count: usize) -> Vec<[i64; 2]> {
        let mut of_each = Vec::new();
        for id in subscriptions {
            let newest = format!(
                "select cast(q.id as text) from cms_webhook_queue q where subscription_id = {id} \
                 order by q.id desc limit {count}"
            );
            let ids = self.texts(newest).await.into_iter().rev().map(|id| id.parse().unwrap());
            of_each.push(ids.collect::<Vec<i64>>());
        }
        of_each[0].iter().zip(&of_each[1]).map(|(first, second)| [*first, *second]).collect()
    }
}
