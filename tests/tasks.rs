//! Tasks of plugins: each once in its interval, whatever happens to the processes.

mod leases;
mod processes;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use cms_core::{
    Change, Clock, Cms, Code, Error, Paging,
    plugins::{Handlers, Manifest, Plugin, TaskRun},
    tasks::{Run, Task, TaskName},
};
use serde_json::{Value as Json, json};
use tokio::task::JoinHandle;

use crate::support::{
    Site, TestDatabase,
    plugins::{manifest, plugin},
    site::NOW,
    until, with,
};

const MINUTE: i64 = 60_000;

/// A plugin whose tasks are given as a list, with handlers.
pub(crate) struct Program(pub(crate) Json, pub(crate) Handlers);

impl Plugin for Program {
    fn manifest(&self) -> Manifest {
        manifest(&with(plugin("shop", [("orders", "a text")]), json!({"tasks": self.0})))
    }

    fn handlers(&self) -> Handlers {
        self.1.clone()
    }
}

/// One task `count` of a minute whose handler counts its runs.
pub(crate) fn counting() -> (Program, Arc<AtomicU64>) {
    let runs = Arc::new(AtomicU64::new(0));
    let counted = runs.clone();
    let handlers = Handlers::default().task("count", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    });
    (Program(minutely("count"), handlers), runs)
}

/// Tasks: one of a minute, which its handler of the same name runs.
fn minutely(name: &str) -> Json {
    json!([{"name": name, "interval_s": 60, "handler": name}])
}

/// Adds an order, so that a table tells who has run; the change is not committed.
async fn ordered(run: &TaskRun, text: &str) -> Result<Change, Error> {
    let mut change = run.change().await?;
    let body = json!({"a": text});
    run.items().create(&mut change, "orders", body.as_object().unwrap()).await?;
    Ok(change)
}

async fn order(run: &TaskRun, text: &str) -> Result<(), Error> {
    ordered(run, text).await?.commit().await
}

/// Rows that [`order`] has added.
async fn orders(database: &TestDatabase, text: &str) -> i64 {
    database.rows(&format!("orders where a = '{text}'")).await
}

/// A step of a scheduler, beside the test.
fn stepping(cms: &Cms) -> JoinHandle<Result<usize, Error>> {
    let cms = cms.clone();
    tokio::spawn(async move { cms.tasks().scheduler().step().await })
}

async fn open(database: &TestDatabase, clock: &Clock, program: Program) -> Cms {
    let mut settings = database.settings();
    // Tasks here wait in the middle of a change, which PostgreSQL would end.
    settings.database.idle_in_transaction_s = 60;
    let builder = Cms::builder(settings).clock(clock.clone());
    builder.plugin(program).open().await.unwrap()
}

async fn history(cms: &Cms) -> Vec<Run> {
    let mut runs = cms.tasks().history(None, &Paging::default()).await.unwrap().data;
    // The service's own task runs too.
    runs.retain(|run| run.plugin == "shop");
    runs
}

async fn task(cms: &Cms) -> Task {
    cms.tasks().list().await.unwrap().remove(0)
}

fn outcomes(runs: &[Run]) -> Vec<&str> {
    runs.iter().map(|run| run.outcome.as_str()).collect()
}

#[tokio::test]
async fn each_interval_runs_once_in_one_of_two_processes() {
    let (database, clock) = (TestDatabase::new().await, Clock::fixed(NOW));
    let (a, runs_of_a) = counting();
    let (b, runs_of_b) = counting();
    let (a, b) = (open(&database, &clock, a).await, open(&database, &clock, b).await);
    let (mut of_a, mut of_b) = (a.tasks().scheduler(), b.tasks().scheduler());
    for minute in 0..20 {
        for second in 0..4 {
            let (one, two) = tokio::join!(of_a.step(), of_b.step());
            let begun = one.unwrap() + two.unwrap();
            assert_eq!(begun, usize::from(second == 0), "minute {minute}, look {second}");
            clock.advance(MINUTE / 4);
        }
    }
    let counted = runs_of_a.load(Ordering::SeqCst) + runs_of_b.load(Ordering::SeqCst);
    let runs = history(&a).await;
    assert_eq!((counted, runs.len()), (20, 20));
    assert!(runs.iter().all(|run| run.outcome == "done" && run.actor.kind == "system"));
    let begun: Vec<_> = runs.iter().map(|run| run.started_at.clone()).collect();
    let expected: Vec<_> =
        (0..20).rev().map(|minute| cms_core::rfc3339(NOW + minute * MINUTE)).collect();
    assert_eq!(begun, expected);
}

#[tokio::test]
async fn missed_intervals_run_once_and_keep_the_beat() {
    let (program, runs) = counting();
    let site = Site::builder().await.program(program).open().await;
    let mut scheduler = site.cms.tasks().scheduler();
    assert_eq!(scheduler.step().await.unwrap(), 1, "due at once");
    site.clock.advance(10 * MINUTE + 7_000);
    for begun in [1, 0] {
        assert_eq!(scheduler.step().await.unwrap(), begun);
    }
    let due = cms_core::rfc3339(NOW + 11 * MINUTE);
    assert_eq!(task(&site.cms).await.next_due_at, Some(due));
    // A clock that is set back by a day does not stop the schedule.
    site.clock.advance(-24 * 60 * MINUTE);
    for begun in [1, 0] {
        assert_eq!(scheduler.step().await.unwrap(), begun);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_task_that_fails_or_panics_goes_on_and_says_why() {
    let turn = AtomicU64::new(0);
    let handlers = Handlers::default().task("odd", move |_| {
        let turn = turn.fetch_add(1, Ordering::SeqCst);
        async move {
            match turn {
                0 => Err(Error::new(Code::Conflict, "x\0é".repeat(2_000))),
                1 => panic!("a fault of the test"),
                2 => Err(Error::internal("a password")),
                _ => Ok(()),
            }
        }
    });
    let site = Site::builder().await.program(Program(minutely("odd"), handlers)).open().await;
    for _ in 0..4 {
        assert_eq!(site.cms.tasks().scheduler().step().await.unwrap(), 1);
        site.clock.advance(MINUTE);
    }
    let mut runs = history(&site.cms).await;
    assert_eq!(outcomes(&runs), ["done", "failed", "failed", "failed"]);
    let errors: Vec<_> = runs.drain(1..).map(|run| run.error.unwrap()).collect();
    assert!(errors[0].contains("the log has the cause") && !errors[0].contains("password"));
    assert!(errors[1].contains("panicked"), "{}", errors[1]);
    assert_eq!(errors[2].chars().count(), 2_000);
    let counts = site.cms.tasks().outcomes();
    assert_eq!((counts.done, counts.failed), (1, 3));
}

/// Whoever waits for a claim may go away at any moment: no interval is lost.
#[tokio::test]
async fn a_claim_that_nobody_waits_for_runs_all_the_same() {
    let (program, runs) = counting();
    let site = Site::builder().await.program(program).open().await;
    for minute in 0..30_u32 {
        let mut scheduler = site.cms.tasks().scheduler();
        // Cut off after ever more looks at it.
        let mut claim = Box::pin(scheduler.claim());
        for _ in 0..minute {
            let look = |context: &mut Context<'_>| Poll::Ready(claim.as_mut().poll(context));
            if std::future::poll_fn(look).await.is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(claim);
        scheduler.step().await.unwrap();
        site.clock.advance(MINUTE);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 30);
    let runs = history(&site.cms).await;
    assert!(runs.iter().all(|run| run.outcome == "done"), "{:?}", outcomes(&runs));
    assert_eq!(runs.len(), 30);
}

/// Runs that do not end by themselves are stopped, and due again at once.
#[tokio::test]
async fn a_stop_ends_runs_and_says_so() {
    let (program, _) = counting();
    let endless = Handlers::default().task("count", |_| std::future::pending());
    let site = Site::builder().await.program(Program(program.0, endless)).open().await;
    let background = site.cms.background();
    until("it runs", async || task(&site.cms).await.state != "waiting").await;
    assert_eq!(site.cms.tasks().scheduler_state(), "running");
    site.clock.advance(1_000);
    background.stop().await;
    assert_eq!(site.cms.tasks().scheduler_state(), "none");
    let runs = history(&site.cms).await;
    assert_eq!(outcomes(&runs), ["stopped"]);
    assert!(runs[0].error.as_ref().unwrap().contains("due again"), "{runs:?}");
    let task = task(&site.cms).await;
    assert_eq!(task.next_due_at, Some(cms_core::rfc3339(NOW + 1_000)));
    assert_eq!(task.state, "waiting");
}

#[tokio::test]
async fn a_handler_that_is_not_there_is_refused_at_load() {
    let tasks = json!([{"name": "x", "interval_s": 60, "handler": "nowhere"}]);
    let program = Program(tasks.clone(), Handlers::default());
    let refused = Site::builder().await.program(program).try_open().await.err().expect("refused");
    assert!(refused.detail().contains("/tasks/0/handler"), "{refused}");
    let database = TestDatabase::new().await;
    database.write_manifest("shop", &format!("{{\"id\": \"shop\",\n\"tasks\": {tasks}}}"));
    let site = Site::on(database).open().await;
    let problem = &site.cms.plugins().states()[0].problems[0];
    assert_eq!((&*problem.pointer, problem.line), ("/tasks/0/handler", Some(2)));
    let left = site.cms.tasks().list().await.unwrap();
    assert!(left.iter().all(|task| task.plugin != "shop"), "the service's own stay");
}

#[tokio::test]
async fn old_runs_go_and_young_ones_stay() {
    let (program, _) = counting();
    let site = Site::builder().await.program(program).open().await;
    let mut scheduler = site.cms.tasks().scheduler();
    for _ in 0..3 {
        scheduler.step().await.unwrap();
        site.clock.advance(15 * 24 * 60 * MINUTE);
    }
    site.cms.expire().await.unwrap();
    assert_eq!(history(&site.cms).await.len(), 1);
}

#[tokio::test]
async fn a_name_of_two_plugins_needs_its_plugin() {
    let other = json!({"id": "other", "tasks": [
        {"name": "count", "interval_s": 60, "script": "count.php"},
    ]});
    let (program, _) = counting();
    let site = Site::builder().await.program(program).plugin(other).open().await;
    let tasks = site.cms.tasks();
    let named = |plugin: Option<&str>| TaskName {
        name: "count".to_owned(),
        plugin: plugin.map(str::to_owned),
    };
    let history = async |plugin| tasks.history(Some(&named(plugin)), &Paging::default()).await;
    let refused = history(None).await.unwrap_err();
    assert_eq!(refused.code(), Code::ValidationFailed);
    assert!(refused.fields()[0].message.contains("shop, other"), "{:?}", refused.fields());
    assert!(history(Some("shop")).await.unwrap().data.is_empty());
    assert_eq!(history(Some("none")).await.unwrap_err().code(), Code::NotFound);
}
