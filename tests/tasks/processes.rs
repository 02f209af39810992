//! Real processes: two that share tasks, one of which stands still past its lease.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cms_core::{parse_rfc3339, tasks::Run};
use serde_json::{Value as Json, json};

use crate::support::{
    TestDatabase,
    process::{self, Served},
};

/// A plugin whose scripts are run by a shell; each run leaves a line in a file.
fn shop(database: &TestDatabase, tasks: &[(&str, u64, &str)]) -> PathBuf {
    let folder = database.folder().join("plugins/shop/script");
    fs::create_dir_all(&folder).unwrap();
    let declared = tasks.iter().map(|(name, interval_s, text)| {
        fs::write(folder.join(format!("{name}.php")), text).unwrap();
        json!({"name": name, "interval_s": interval_s, "script": format!("{name}.php")})
    });
    database.write_plugin(&json!({"id": "shop", "tasks": declared.collect::<Vec<_>>()}));
    folder
}

/// The scripts write where the tests look, which is outside of their plugin's folder.
const SHELL: [(&str, &str); 3] = [
    ("CMS_SCRIPTS__INTERPRETER", "sh"),
    ("CMS_SCRIPTS__TIMEOUT_S", "300"),
    ("CMS_SCRIPTS__CONFINE", "off"),
];

fn serve(database: &TestDatabase) -> Served {
    Served::start_with(database, "warn", &SHELL)
}

/// The runs of a task, oldest first.
fn history(database: &TestDatabase, task: &str) -> Vec<Run> {
    let page = process::json(database, &["tasks", "history", task, "--all"]);
    let mut runs: Vec<Run> = serde_json::from_value(page["data"].clone()).unwrap();
    runs.reverse();
    runs
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}

/// Waits until something holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(180), "{what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A figure of a task: until when it is leased, when it is due.
async fn figure(database: &TestDatabase, task: &str, column: &str) -> i64 {
    database.count(&format!("select {column} from cms_tasks where name = '{task}'")).await
}

fn began(run: &Run) -> i64 {
    parse_rfc3339(&run.started_at).unwrap()
}

/// Each interval of a task has at most one run. One interval ends when the task is `due`.
fn once_in_each_interval(runs: &[Run], interval_s: i64, due: i64) {
    let beat = |run: &Run| (began(run) - due).div_euclid(interval_s * 1000);
    let beats: Vec<_> = runs.iter().map(beat).collect();
    assert_eq!(beats.iter().collect::<BTreeSet<_>>().len(), beats.len(), "{runs:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_process_is_replaced_and_changes_nothing_when_it_wakes_up() {
    let database = TestDatabase::new().await;
    let hold = "echo >> held; while [ ! -e go ]; do sleep 0.1; done";
    let scripts = shop(&database, &[("tick", 2, "echo >> ticks"), ("hold", 10, hold)]);
    process::run(&database, &["init"]);
    let served = [serve(&database), serve(&database)];
    let pid_of = |run: &Run| run.process.rsplit(':').next().unwrap().parse::<u32>().unwrap();
    let ticks = || lines(&scripts.join("ticks"));
    until("hold runs", async || lines(&scripts.join("held")) > 0).await;
    // Stops whoever runs `hold`. On SQLite nobody can write while a stopped process holds the file:
    // then it is let go until it has renewed its lease, and stopped again.
    let mut stopped_runs = BTreeSet::new();
    let (lost, lease) = loop {
        let run = history(&database, "hold").pop().unwrap();
        let lease = figure(&database, "hold", "lease_until").await;
        process::signal(pid_of(&run), "-STOP");
        stopped_runs.insert(run.id);
        let (before, stopped) = (ticks(), Instant::now());
        while ticks() < before + 3 && stopped.elapsed().as_secs() < 12 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if ticks() >= before + 3 {
            break (run, lease);
        }
        process::signal(pid_of(&run), "-CONT");
        until("the lease is renewed", async || {
            figure(&database, "hold", "lease_until").await > lease
        })
        .await;
    };
    fs::write(scripts.join("go"), "").unwrap();
    let last = || history(&database, "hold").pop().unwrap();
    until("another process runs the task", async || last().id > lost.id).await;
    let next = last();
    assert_ne!(pid_of(&next), pid_of(&lost));
    assert!(began(&next) >= lease, "it held its lease until {lease}: {next:?}");
    process::signal(pid_of(&lost), "-CONT");
    for (task, interval_s) in [("tick", 2), ("hold", 10)] {
        let due = figure(&database, task, "next_due_at").await;
        once_in_each_interval(&history(&database, task), interval_s, due);
    }
    let logs: Vec<_> = served.into_iter().map(Served::terminate).collect();
    assert!(logs.iter().all(|(code, _)| *code == Some(0)), "{logs:?}");
    assert!(logs.iter().any(|(_, log)| log.contains("a task has lost its lease")), "{logs:?}");
    for (task, file) in [("tick", "ticks"), ("hold", "held")] {
        let runs = history(&database, task);
        let done = runs.iter().filter(|run| run.outcome == "done").count();
        let written = lines(&scripts.join(file));
        assert!((done..=runs.len()).contains(&written), "{task}: {written} of {runs:#?}");
        println!("{task}: {} runs by {:?}", runs.len(), counts(&runs));
        let odd = runs.iter().filter(|run| !["done", "stopped"].contains(&&*run.outcome));
        let odd: Vec<_> = odd.map(|run| (run.id, run.outcome.as_str())).collect();
        if task == "hold" {
            // One that was let go late may have lost its lease, too.
            let is_expected = |(id, end): &(_, &str)| stopped_runs.contains(id) && *end == "lost";
            assert!(odd.iter().all(is_expected) && odd.contains(&(lost.id, "lost")), "{odd:?}");
        } else {
            // A tick may have been under way when its process was stopped.
            assert!(odd.len() <= 1 && odd.iter().all(|(_, end)| *end == "lost"), "{odd:?}");
        }
    }
    assert_eq!(database.rows("cms_task_runs where outcome = 'running'").await, 0);
    assert_eq!(database.rows("cms_tasks where lease_until > 0").await, 0);
}

/// How many runs each process had.
fn counts(runs: &[Run]) -> Vec<(&str, usize)> {
    let processes: BTreeSet<_> = runs.iter().map(|run| run.process.as_str()).collect();
    let of = |process| runs.iter().filter(|run| run.process == process).count();
    processes.into_iter().map(|process| (process, of(process))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_list_run_and_show_tasks() {
    let database = TestDatabase::new().await;
    shop(&database, &[("good", 3600, "exit 0"), ("bad", 3600, "echo a secret >&2; exit 3")]);
    process::run(&database, &["init"]);
    let command =
        |arguments: &[&str]| process::command(&database, arguments).envs(SHELL).output().unwrap();
    let run = command(&["tasks", "run", "good"]);
    assert!(run.status.success(), "{run:?}");
    let run = command(&["--json", "tasks", "run", "bad"]);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    let failed: Json = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(failed["data"]["outcome"], "failed");
    let error = failed["data"]["error"].as_str().unwrap();
    assert!(error.contains("exit status: 3") && !error.contains("secret"), "{error}");
    assert_eq!(failed["data"]["actor"]["kind"], "operator");
    assert_eq!(command(&["tasks", "run", "none"]).status.code(), Some(5));
    let listed = process::run(&database, &["tasks", "list"]);
    let listed: Vec<Vec<_>> = listed.lines().map(|line| line.split('\t').collect()).collect();
    let names: Vec<_> = listed.iter().map(|line| line[1]).collect();
    assert_eq!(
        names,
        ["cleanup_old_submissions", "process_abandoned", "sweep", "schedule", "bad", "good"],
        "{listed:?}"
    );
    assert!(listed[4][5].starts_with("failed ") && listed[5][5].starts_with("done "));
    assert_eq!(history(&database, "bad").len(), 1);
}
