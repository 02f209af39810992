//! Runs that last: who holds a task, for how long, and what ends it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use cms_core::{Clock, Code, plugins::Handlers};
use serde_json::json;

use super::{Program, history, minutely, open, order, ordered, orders, outcomes, stepping, task};
use crate::support::{TestDatabase, site::NOW, until};

/// Waits until the task is leased until then.
async fn leased(database: &TestDatabase, moment: i64) {
    let lease = "select cast(coalesce(max(lease_until), 0) as bigint) from cms_tasks";
    until("it is leased", async || database.count(lease).await >= moment).await;
}

/// A process that stands still past its lease: its thread is blocked, so that nothing of it goes
/// on. What it does afterwards is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_stood_still_changes_nothing() {
    let (database, clock) = (Arc::new(TestDatabase::new().await), Clock::fixed(NOW));
    let (begun, begins) = mpsc::channel();
    let (goes_on, waits) = mpsc::channel::<()>();
    let (waits, refusal) = (Mutex::new(waits), Arc::new(Mutex::new(None)));
    let refused = refusal.clone();
    let blocking = Handlers::default().task("slow", move |run| {
        begun.send(()).unwrap();
        waits.lock().unwrap().recv().unwrap();
        let refused = refused.clone();
        async move {
            *refused.lock().unwrap() = order(&run, "stopped").await.err();
            Ok(())
        }
    });
    let (stopped, its_clock) = (database.clone(), clock.clone());
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let cms = open(&stopped, &its_clock, Program(minutely("slow"), blocking)).await;
            cms.tasks().scheduler().step().await.unwrap();
            let counts = cms.tasks().outcomes();
            cms.close().await;
            counts
        })
    });
    tokio::task::spawn_blocking(move || begins.recv().unwrap()).await.unwrap();
    let healthy =
        Handlers::default().task("slow", |run| async move { order(&run, "healthy").await });
    let cms = open(&database, &clock, Program(minutely("slow"), healthy)).await;
    let mut scheduler = cms.tasks().scheduler();
    clock.advance(29_000);
    assert_eq!((scheduler.step().await.unwrap(), task(&cms).await.state.as_str()), (0, "running"));
    clock.advance(1_000);
    assert_eq!(outcomes(&history(&cms).await), ["lost"], "seen before anybody has run it again");
    clock.advance(30_000);
    assert_eq!(scheduler.step().await.unwrap(), 1);
    let before = history(&cms).await;
    assert_eq!(outcomes(&before), ["done", "lost"]);
    goes_on.send(()).unwrap();
    let counts = thread.join().unwrap();
    assert_eq!((counts.done, counts.lost), (0, 1));
    let refusal = refusal.lock().unwrap().take().expect("refused");
    assert_eq!(refusal.code(), Code::Conflict);
    assert_eq!(format!("{before:?}"), format!("{:?}", history(&cms).await), "history stays true");
    assert_eq!(orders(&database, "healthy").await, 1);
    assert_eq!(orders(&database, "stopped").await, 0);
    cms.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_while_its_task_runs() {
    let (database, clock) = (TestDatabase::new().await, Clock::fixed(NOW));
    let end = Arc::new(tokio::sync::Notify::new());
    let ends = end.clone();
    let handlers = Handlers::default().task("long", move |run| {
        let ends = ends.clone();
        async move {
            ends.notified().await;
            order(&run, "long").await
        }
    });
    let a = open(&database, &clock, Program(minutely("long"), handlers)).await;
    let idle = Handlers::default().task("long", |_| async { Ok(()) });
    let b = open(&database, &clock, Program(minutely("long"), idle)).await;
    let running = stepping(&a);
    for round in 0..8 {
        leased(&database, clock.now() + 30_000).await;
        assert_eq!(b.tasks().scheduler().step().await.unwrap(), 0, "round {round}");
        clock.advance(15_000);
    }
    end.notify_one();
    assert_eq!(running.await.unwrap().unwrap(), 1);
    assert_eq!(outcomes(&history(&b).await), ["done"]);
    assert_eq!(b.tasks().scheduler().step().await.unwrap(), 1, "the next interval has begun");
    for cms in [a, b] {
        cms.close().await;
    }
}

/// A change of the run itself keeps everybody from its row, and from renewing its lease: for as
/// long as it takes, nobody else can have the task either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_may_last_longer_than_the_lease() {
    let (database, clock) = (TestDatabase::new().await, Clock::fixed(NOW));
    let (begun, end) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let (begins, ends) = (begun.clone(), end.clone());
    let handlers = Handlers::default().task("long", move |run| {
        let (begins, ends) = (begins.clone(), ends.clone());
        async move {
            let change = ordered(&run, "long").await?;
            begins.notify_one();
            ends.notified().await;
            change.commit().await
        }
    });
    let cms = open(&database, &clock, Program(minutely("long"), handlers)).await;
    let running = stepping(&cms);
    begun.notified().await;
    clock.advance(40_000);
    // Until a renewal was given up, which takes five seconds.
    tokio::time::sleep(Duration::from_secs(8)).await;
    end.notify_one();
    assert_eq!(running.await.unwrap().unwrap(), 1);
    assert_eq!(outcomes(&history(&cms).await), ["done"]);
    assert_eq!(orders(&database, "long").await, 1);
    cms.close().await;
}

/// A run without an end keeps its lease until `timeout_s`, then the next one has its turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_hangs_is_ended_by_its_limit() {
    let (database, clock) = (TestDatabase::new().await, Clock::fixed(NOW));
    let tasks = json!([{"name": "hang", "interval_s": 60, "timeout_s": 90, "handler": "hang"}]);
    let turn = AtomicU64::new(0);
    let handlers = Handlers::default().task("hang", move |run| {
        let turn = turn.fetch_add(1, Ordering::SeqCst);
        async move {
            if turn > 0 {
                return order(&run, "second").await;
            }
            drop(ordered(&run, "first").await?);
            std::future::pending().await
        }
    });
    let cms = open(&database, &clock, Program(tasks, handlers)).await;
    let running = stepping(&cms);
    for wanted in [NOW, NOW + 25_000, NOW + 50_000, NOW + 75_000] {
        while clock.now() < wanted {
            clock.advance(5_000);
        }
        leased(&database, wanted + 20_000).await;
        assert_eq!(task(&cms).await.state, "running");
    }
    clock.advance(15_000);
    assert_eq!(running.await.unwrap().unwrap(), 1);
    let runs = history(&cms).await;
    assert_eq!(outcomes(&runs), ["failed"]);
    assert!(runs[0].error.as_ref().unwrap().contains("timeout_s, 90 s"), "{runs:?}");
    assert_eq!(task(&cms).await.state, "waiting");
    assert_eq!(cms.tasks().scheduler().step().await.unwrap(), 1);
    assert_eq!(outcomes(&history(&cms).await), ["done", "failed"]);
    assert_eq!(database.rows("orders").await, 1);
    cms.close().await;
}
