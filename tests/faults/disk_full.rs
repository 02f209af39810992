//! 8: no file may grow any more (SQLite; the limit is set on the running process), or the database
//! accepts no writes (PostgreSQL).

use std::{process::Command, sync::Arc, time::Duration};

use cms_http::client::ClientError;

use crate::{
    lab::{Engine, ITEM, Lab, Run, post},
    report::Finding,
    support::{
        Answer,
        process::{self, Served},
    },
};

/// Writes while nothing can be written.
const WRITES: usize = 20;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let lab = Lab::new(&run, |_, _| Answer::Status(200)).await;
    lab.subscribe(3, &[ITEM]).await;
    let served = serve(&lab);
    let client = served.client(&lab.key);
    for n in 0..10 {
        post(&client, &format!("before{n}")).await.unwrap();
    }
    switch(&lab, &served, run.engine, ["4096", "on"]).await;
    let mut codes = Vec::new();
    for n in 0..WRITES {
        match post(&client, &format!("during{n}")).await {
            Ok(()) => codes.push("201".to_owned()),
            Err(ClientError::Problem { status, code, .. }) => {
                codes.push(format!("{} {code}", status.as_u16()))
            }
            Err(error) => codes.push(error.to_string()),
        }
    }
    let half = "cms_events e where not exists \
                (select 1 from cms_webhook_queue q where q.event_id = e.id)";
    let half = lab.database.rows(half).await;
    let stored = lab.database.rows("cms_settings where name like 'during%'").await;
    let acknowledged = codes.iter().filter(|code| *code == "201").count();
    switch(&lab, &served, run.engine, ["unlimited", "off"]).await;
    let mut resumed = false;
    for n in 0..50 {
        resumed = post(&client, &format!("after{n}")).await.is_ok();
        if resumed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let delivered = lab.delivered_within(Duration::from_secs(40)).await.is_some();
    let records = "cms_settings where name like 'before%' or name like 'during%' \
                   or name like 'after%'";
    let records = lab.database.rows(records).await;
    let (arrived, duplicates) = lab.record.jobs_and_duplicates();
    codes.sort();
    codes.dedup();
    let what = match run.engine {
        Engine::Sqlite => "no file may grow",
        Engine::Postgres => "every transaction is read-only",
    };
    vec![
        Finding::new(
            format!("{what}: {WRITES} writes are refused with 503"),
            format!("{acknowledged} written; answers: {}", codes.join(", ")),
            acknowledged == 0 && codes.iter().all(|code| code.starts_with("503 ")),
        ),
        Finding::new(
            "what was refused left nothing: no record, no event without its job",
            format!("{stored} records, {half} events"),
            stored == i64::try_from(acknowledged).unwrap() && half == 0,
        ),
        Finding::new(
            "the same process writes again once it can",
            if resumed { "yes" } else { "no" },
            resumed,
        ),
        Finding::new(
            "all deliveries of what was stored arrive",
            format!("{arrived} deliveries of {records} records"),
            delivered && i64::try_from(arrived).unwrap() == 3 * records,
        ),
        Finding::equal("duplicates", duplicates, 0),
        lab.record.integrity(),
    ]
}

/// A limit on files must end writes, not the process: the signal that comes with it is ignored, as
/// it is on a disk that is full.
fn serve(lab: &Lab) -> Served {
    let plain = process::command(&lab.database, &["serve", "--listen", "127.0.0.1:0"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    Served::start_command(process::run_by(shell, &plain), "error", &crate::lab::OPEN)
}

/// Shuts or opens the disk: by the most bytes of a file on SQLite, read-only on PostgreSQL.
async fn switch(lab: &Lab, served: &Served, engine: Engine, [bytes, is_read_only]: [&str; 2]) {
    match engine {
        Engine::Sqlite => limit_files(served, bytes),
        Engine::Postgres => read_only(lab, is_read_only).await,
    }
}

fn limit_files(served: &Served, bytes: &str) {
    let set = Command::new("prlimit")
        .args(["--pid", &served.child.id().to_string(), &format!("--fsize={bytes}:unlimited")])
        .status();
    assert!(set.expect("prlimit of util-linux runs").success());
}

/// For the connections that the service has, and for those that it opens.
async fn read_only(lab: &Lab, switch: &str) {
    lab.database
        .run(format!(
            "begin read write; \
             do $$ begin execute format('alter database %I set default_transaction_read_only = \
             {switch}', current_database()); end $$; commit; \
             select pg_terminate_backend(pid) from pg_stat_activity where \
             application_name = current_setting('application_name') and pid <> pg_backend_pid()"
        ))
        .await;
}
