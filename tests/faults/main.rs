//! The fault report of webhooks: real processes of `cms`, killed, stopped, starved and lied to, on
//! SQLite and PostgreSQL.
//!
//! `cargo build --release -p cms-cli`, then
//! `.ci/postgres --durable cargo bench -p cms-tests --bench faults`.
//! Numbers as arguments choose faults, `quick` makes fewer kills and deliveries. A run of
//! everything on both engines, with `fsync` on, writes docs/faults.md. Criteria are read from what
//! the receiver recorded and from the database, never from logs of workers. Loopback only; every
//! wait has an end; only processes started here are ended.

mod backup;
mod database_down;
mod disk_full;
mod exhausted;
mod fan_out;
mod frozen_node;
mod hostile;
mod in_process;
mod kill_server;
mod kill_worker;
mod lab;
mod memory;
mod model;
mod neighbours;
mod process;
mod record;
mod report;
mod rotation;
mod stopped_worker;
mod terminate;
mod workers;

#[path = "../support/bench.rs"]
mod bench;
#[path = "../webhook_model/mod.rs"]
mod webhook_model;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bench::{durable, support};
use futures_util::{FutureExt, future::BoxFuture};
use lab::{Engine, Run};
use report::{Finding, Outcome};

/// No fault takes longer.
const LIMIT: Duration = Duration::from_secs(400);

type Experiment = fn(Arc<Run>) -> BoxFuture<'static, Vec<Finding>>;

macro_rules! run {
    ($fault:ident) => {
        |run| $fault::run(run).boxed()
    };
}

/// Number in the fault table, what is done, whether nothing else may run meanwhile.
#[rustfmt::skip]
const FAULTS: &[(u8, &str, bool, Experiment)] = &[
    (1, "workers are killed (kill -9) at random moments", false, run!(kill_worker)),
    (2, "the server is killed (kill -9) around commits", false, run!(kill_server)),
    (4, "four workers at once, and more that start meanwhile", true, run!(workers)),
    (5, "a worker stands still for twice its lease (SIGSTOP, SIGCONT)", false,
     run!(stopped_worker)),
    (7, "the database goes away, or is locked by somebody else", false, run!(database_down)),
    (8, "the disk is full, or the database read-only", false, run!(disk_full)),
    (9, "receivers that waste time and memory", false, run!(hostile)),
    (10, "a dead and a slow receiver among a hundred", true, run!(neighbours)),
    (11, "one event for ten thousand subscriptions", true, run!(fan_out)),
    (19, "the secret is replaced while deliveries go out", false, run!(rotation)),
    (21, "SIGTERM under load", false, run!(terminate)),
    (23, "a backup from before is restored", false, run!(backup)),
    (28, "descriptors and the log are exhausted in turn, among idle sockets", true,
     run!(exhausted)),
    (29, "memory runs out under load; a process that dies of it is started again", true,
     run!(memory)),
    (30, "a node stands still in the middle of writes (SIGSTOP), two others go on", true,
     run!(frozen_node)),
    (27, "random steps beside a model of the queue, with a clock that is moved", false,
     run!(model)),
];

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` builds this too; it has nothing to test.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return std::process::ExitCode::SUCCESS;
    }
    let chosen: Vec<u8> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let quick = arguments.iter().any(|argument| argument == "quick");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(8).enable_all().build().expect("a runtime");
    let outcomes = runtime.block_on(experiments(&chosen, quick));
    let mut outcomes: Vec<Outcome> = outcomes.into_iter().chain(in_process::run(&chosen)).collect();
    outcomes.sort_by_key(|outcome| (outcome.number, outcome.engine));
    print!("{}", report::table(&outcomes));
    let server = support::database::server();
    let full = chosen.is_empty() && !quick && server.is_some();
    if full && runtime.block_on(durable(server)) {
        report::write(&outcomes);
    } else {
        eprintln!("docs/faults.md stays: a full run on both engines writes it, with fsync on");
    }
    if outcomes.iter().all(Outcome::passed) {
        std::process::ExitCode::SUCCESS
    } else {
        std::process::ExitCode::FAILURE
    }
}

async fn experiments(chosen: &[u8], quick: bool) -> Vec<Outcome> {
    let mut engines = vec![Engine::Sqlite];
    match support::database::server() {
        Some(_) => engines.push(Engine::Postgres),
        None => eprintln!("CMS_TEST_DB is not set: SQLite only"),
    }
    let mut outcomes = Vec::new();
    for (number, name, alone, experiment) in
        FAULTS.iter().filter(|fault| chosen.is_empty() || chosen.contains(&fault.0))
    {
        let both = engines.iter().map(|engine| {
            one(*number, name, *experiment, Run { engine: *engine, quick, number: *number })
        });
        if *alone {
            for run in both {
                outcomes.push(run.await);
            }
        } else {
            outcomes.extend(futures_util::future::join_all(both).await);
        }
    }
    outcomes
}

/// Whatever happens in it, it has an outcome.
async fn one(number: u8, name: &'static str, experiment: Experiment, run: Run) -> Outcome {
    let (began, engine) = (Instant::now(), run.engine);
    eprintln!("{number:>2} {engine}: {name} ...");
    let findings = match tokio::time::timeout(LIMIT, tokio::spawn(experiment(Arc::new(run)))).await
    {
        Ok(Ok(findings)) => findings,
        Ok(Err(failed)) => vec![Finding::new("runs to its end", failed, false)],
        Err(_) => {
            let late = format!("not within {} s", LIMIT.as_secs());
            vec![Finding::new("runs to its end", late, false)]
        }
    };
    let outcome = Outcome { number, name, engine, findings };
    eprintln!("{number:>2} {engine}: {:.0} s", began.elapsed().as_secs_f64());
    eprint!("{}", report::table(std::slice::from_ref(&outcome)));
    outcome
}
