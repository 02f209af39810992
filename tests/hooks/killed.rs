//! A program with a hook before and a handler after each write is killed again and again. What was
//! acknowledged has its effects, each exactly once.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use cms_core::{
    Actor, Cms, Code, Result, Secret, Work,
    items::Write,
    plugins::{EventCall, Plugin},
    settings::Settings,
};
use serde::Deserialize;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

use crate::support::{
    TestDatabase,
    plugins::{plugin, program},
    until,
};

/// Names the site of the child, and the first number that it writes.
const CHILD: &str = "CMS_TEST_HOOKS_CHILD";
const KILLS: usize = 10;
const WRITERS: i64 = 8;
/// Numbers of one life: more than it can write.
const LIFE: i64 = 10_000_000;

fn writes() -> usize {
    std::env::var("CMS_TEST_WRITES").map_or(100_000, |number| number.parse().unwrap())
}

fn counted() -> impl Plugin {
    let orders = ("orders", "n integer required, twice integer required");
    let others = [("copies", "of integer required"), ("stock", "taken integer required")];
    program(plugin("counted", [orders, others[0], others[1]]), |handlers| {
        handlers.before("orders", "twice", twice).on("item.orders.created", "copy", copy)
    })
}

/// Sets a value of the record, and writes another row of the same change.
async fn twice(mut write: Write<'_>) -> Result<()> {
    let n = write.value("n").as_i64().unwrap_or_default();
    write.set("twice", 2 * n);
    let sql = "update stock set taken = taken + 1 where id = $1";
    let taken = write.items.sql(write.change, sql).touches(["stock"]).bind(n % WRITERS + 1);
    taken.run().await.map(drop)
}

async fn copy(call: EventCall) -> Result<()> {
    #[derive(Deserialize)]
    struct Data {
        record: Order,
    }
    #[derive(Deserialize)]
    struct Order {
        n: i64,
    }
    let made: Data = call.event().data_as()?;
    let mut change = call.change().await?;
    let record = json!({"of": made.record.n});
    call.items().create(&mut change, "copies", record.as_object().unwrap()).await?;
    change.commit().await
}

async fn open(folder: &str, url: &str) -> Cms {
    let mut settings = Settings::default();
    settings.dirs.data = Path::new(folder).join("data");
    settings.database_url = (!url.is_empty()).then(|| Secret::new(url));
    Cms::builder(settings).plugin(counted()).open().await.unwrap()
}

/// Runs in a process of its own until it is killed. Prints each number once it is acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a part of the test below"]
#[expect(clippy::print_stdout, reason = "the parent reads it")]
async fn the_process_that_writes() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let [first, folder, url]: [&str; 3] =
        told.splitn(3, '\n').collect::<Vec<_>>().try_into().unwrap();
    let cms = open(folder, url).await;
    let _background = cms.background_of(&[Work::Events]);
    let next = Arc::new(AtomicI64::new(first.parse().unwrap()));
    let writers = (0..WRITERS).map(|_| {
        let (cms, next) = (cms.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                match order(&cms, n).await {
                    Ok(()) => println!("acknowledged {n}"),
                    // On a busy machine a hook may need more than its 3 s.
                    Err(error) => assert_eq!(error.code(), Code::Unavailable, "{error:?}"),
                }
            }
        })
    });
    futures_util::future::join_all(writers).await;
}

async fn order(cms: &Cms, n: i64) -> Result<()> {
    let mut change = cms.change(Actor::Operator).await?;
    let record = json!({"n": n});
    cms.items().create(&mut change, "orders", record.as_object().unwrap()).await?;
    change.commit().await
}

/// Lets a process write until so many numbers are acknowledged, and kills it then.
async fn one_life(database: &TestDatabase, first: i64, most: usize) -> Vec<i64> {
    let url = database.url.clone().unwrap_or_default();
    let folder = database.folder().display();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hooks::killed::the_process_that_writes", "--ignored", "--nocapture"])
        .env(CHILD, format!("{first}\n{folder}\n{url}"))
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    while acknowledged.len() < most {
        let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await;
        let line = line.expect("it writes on").unwrap().expect("it ends only by the kill");
        acknowledged.extend(line.strip_prefix("acknowledged ").map(|n| n.parse::<i64>().unwrap()));
    }
    child.kill().await.unwrap();
    // What was printed before the kill.
    while let Ok(Some(line)) = lines.next_line().await {
        let whole = line.strip_prefix("acknowledged ").and_then(|n| n.parse::<i64>().ok());
        acknowledged.extend(whole.filter(|n| *n >= first));
    }
    acknowledged
}

#[tokio::test]
#[ignore = "takes minutes: .ci/full runs it"]
async fn what_was_acknowledged_has_its_effects_once() {
    let database = TestDatabase::new().await;
    let (folder, url) = (database.folder().to_owned(), database.url.clone());
    let (folder, url) = (folder.to_str().unwrap(), url.unwrap_or_default());
    let cms = open(folder, &url).await;
    let mut change = cms.change(Actor::Operator).await.unwrap();
    for _ in 0..WRITERS {
        let none = json!({"taken": 0});
        cms.items().create(&mut change, "stock", none.as_object().unwrap()).await.unwrap();
    }
    change.commit().await.unwrap();
    cms.close().await;

    let (began, mut acknowledged) = (Instant::now(), BTreeSet::new());
    for life in 0..KILLS {
        let share = (writes() - acknowledged.len()) / (KILLS - life);
        let first = i64::try_from(life).unwrap() * LIFE;
        acknowledged.extend(one_life(&database, first, share).await);
        if database.is_postgres() {
            // The server may still be at the last commit of the killed process.
            let sessions = "pg_stat_activity where pid <> pg_backend_pid() and \
                            application_name = current_setting('application_name') and \
                            state <> 'idle'";
            until("its transactions end", async || database.rows(sessions).await == 0).await;
        }
        // As if 30 s had passed: the next life calls the handler too.
        database.run("update cms_event_consumers set lease_until = 0").await;
    }
    let written = database.rows("orders").await;
    let copied = database.rows("copies").await;
    println!(
        "{} writes acknowledged, {written} made, {copied} handled in {:.1} s",
        acknowledged.len(),
        began.elapsed().as_secs_f64()
    );
    // What is left to handle.
    let cms = open(folder, &url).await;
    let background = cms.background_of(&[Work::Events]);
    let (mut before, mut since) = (copied, Instant::now());
    while before < written {
        assert!(since.elapsed() < Duration::from_secs(60), "it stands still at {before}");
        tokio::time::sleep(Duration::from_millis(500)).await;
        let copied = database.rows("copies").await;
        if copied > before {
            (before, since) = (copied, Instant::now());
        }
    }
    background.stop().await;
    cms.close().await;
    println!("all of them handled after {:.1} s", began.elapsed().as_secs_f64());

    let numbers = "select n from orders order by n";
    let made: BTreeSet<i64> = database.numbers(numbers).await.into_iter().collect();
    assert_eq!(i64::try_from(made.len()).unwrap(), written, "a number was written twice");
    let missing: Vec<_> = acknowledged.difference(&made).collect();
    assert!(missing.is_empty(), "{} acknowledged writes are missing", missing.len());
    for (what, sql, expected) in [
        ("values of the hook", "select count(*) from orders where twice = 2 * n", written),
        ("effects of the hook", "select cast(sum(taken) as bigint) from stock", written),
        ("effects of the handler", "select count(*) from copies", written),
        ("handled orders", "select count(distinct \"of\") from copies", written),
    ] {
        assert_eq!(database.count(sql).await, expected, "{what}");
    }
}

/// An empty hook and no hook take turns; nothing is asserted.
#[tokio::test]
#[ignore = "prints a figure: .ci/full runs it"]
async fn what_an_empty_hook_costs() {
    async fn nothing(_: Write<'_>) -> Result<()> {
        Ok(())
    }
    let counted = |is_hooked: bool| {
        program(plugin("counted", [("orders", "n integer")]), move |handlers| match is_hooked {
            true => handlers.before("orders", "nothing", nothing),
            false => handlers,
        })
    };
    let mut took = [Duration::ZERO; 2];
    for round in 0..6 {
        let database = TestDatabase::new().await;
        let builder = Cms::builder(database.settings()).plugin(counted(round % 2 == 1));
        let cms = builder.open().await.unwrap();
        let began = Instant::now();
        for n in 0..1_000 {
            order(&cms, n).await.unwrap();
        }
        took[round % 2] += began.elapsed();
        cms.close().await;
    }
    let [without, with] = took.map(|all| all.as_secs_f64() * 1e6 / 3_000.0);
    println!("a write takes {without:.0} µs without a hook, {with:.0} µs with an empty one");
}
