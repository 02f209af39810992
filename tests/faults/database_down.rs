//! 7: PostgreSQL throws its clients out twice a second, and is restarted; SQLite's file is
//! locked by another process for eight seconds.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use cms_http::client::{Client, ClientError};
use sqlx::Executor;

use crate::{
    lab::{Engine, ITEM, Lab, Run, post},
    report::Finding,
    support::Answer,
};

const WRITERS: usize = 4;
/// How long SQLite waits for a lock before a caller is refused.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const LOCKED: Duration = Duration::from_secs(8);

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let lab = Lab::new(&run, |_, _| Answer::After(Duration::from_millis(5), 200)).await;
    lab.subscribe(3, &[ITEM]).await;
    let served = lab.serve(&[], &[]);
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(served.client(&lab.key), writer, done.clone())))
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut findings = match run.engine {
        Engine::Sqlite => lock(&lab).await,
        Engine::Postgres => disturb(&lab, Duration::from_secs(run.scaled(30, 6) as u64)).await,
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    done.store(true, Ordering::SeqCst);
    let (mut written, mut refused) = (Vec::new(), Vec::new());
    for writer in writers {
        let (good, bad) = writer.await.unwrap();
        written.extend(good);
        refused.extend(bad);
    }
    let alive = post(&served.client(&lab.key), "w-afterwards").await.is_ok();
    let answered = lab.delivered_within(Duration::from_secs(40)).await.is_some();
    let codes =
        |wanted: fn(&Refusal) -> bool| refused.iter().filter(|refusal| wanted(refusal)).count();
    let (busy, other) = (
        codes(|refusal| refusal.code == "unavailable"),
        codes(|refusal| refusal.code != "unavailable"),
    );
    if run.engine == Engine::Sqlite {
        let soonest = refused.iter().map(|refusal| refusal.after).min().unwrap_or(BUSY_TIMEOUT);
        let shown =
            format!("{} refused, the first after {:.1} s", refused.len(), soonest.as_secs_f64());
        // A tenth for the way there and back.
        findings.push(Finding::new(
            "no caller is refused within the 5 s that are waited",
            shown,
            soonest >= BUSY_TIMEOUT.mul_f64(0.9),
        ));
    }
    let stored = lab.texts("select name from cms_settings where name like 'w%'").await;
    let missing = written.iter().filter(|name| !stored.contains(name)).count();
    let jobs = lab.jobs("'delivered'").await;
    let (arrived, duplicates) = lab.record.jobs_and_duplicates();
    findings.extend([
        Finding::equal("acknowledged writes that are missing", missing, 0),
        Finding::new(
            "refusals are 503 unavailable, and the process goes on",
            format!("{busy} of them, {other} others; {} written", written.len()),
            other == 0 && alive,
        ),
        Finding::new(
            "0 lost: three deliveries for each record that is stored",
            format!("{arrived} deliveries of {} records", stored.len()),
            answered && arrived == 3 * stored.len() && jobs == arrived,
        ),
        // What was sent and could not be written down at that moment is kept, and written down
        // later.
        Finding::equal("duplicates", duplicates, 0),
        lab.record.integrity(),
    ]);
    findings
}

struct Refusal {
    code: String,
    after: Duration,
}

/// Writes until it is done; returns the names that were acknowledged, and the refusals.
async fn write(
    client: Client,
    writer: usize,
    done: Arc<AtomicBool>,
) -> (Vec<String>, Vec<Refusal>) {
    let (mut written, mut refused) = (Vec::new(), Vec::new());
    for n in 0.. {
        if done.load(Ordering::SeqCst) {
            break;
        }
        let (name, began) = (format!("w{writer}-{n}"), Instant::now());
        match post(&client, &name).await {
            Ok(()) => written.push(name),
            Err(ClientError::Problem { code, .. }) => {
                refused.push(Refusal { code, after: began.elapsed() })
            }
            Err(error) => refused.push(Refusal { code: error.to_string(), after: began.elapsed() }),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (written, refused)
}

async fn lock(lab: &Lab) -> Vec<Finding> {
    let mut other = lab.database.sqlite_connection().await;
    other.execute("begin immediate").await.unwrap();
    tokio::time::sleep(LOCKED).await;
    other.execute("rollback").await.unwrap();
    vec![Finding::new(
        "the file is locked by another process",
        format!("{} s", LOCKED.as_secs()),
        true,
    )]
}

/// The server belongs to this run: .ci/postgres has started it.
async fn disturb(lab: &Lab, time: Duration) -> Vec<Finding> {
    let (began, mut ended) = (Instant::now(), 0);
    while began.elapsed() < time {
        let clients = "(select pg_terminate_backend(pid) from pg_stat_activity \
                       where application_name = current_setting('application_name') \
                       and pid <> pg_backend_pid()) t";
        ended += lab.database.rows(clients).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let mut findings = vec![Finding::new(
        format!("connections ended, twice a second for {} s", time.as_secs()),
        ended,
        ended > 0,
    )];
    // How to restart the server: only who started it can say.
    if let Ok(restart) = std::env::var("CMS_TEST_DB_RESTART") {
        let restart = move || Command::new("sh").args(["-c", &restart]).status();
        let good = tokio::task::spawn_blocking(restart).await.unwrap().unwrap().success();
        let what = "the server is stopped at once and restarted";
        findings.push(Finding::new(what, "restarted", good));
    }
    findings
}
