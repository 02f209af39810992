//! 30: a node stands still in the middle of its writes, while two others go on writing to the same
//! table. PostgreSQL alone: nodes share a server.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use cms_http::client::{Ask, Client};
use serde_json::json;
use sqlx::Connection;
use tokio::task::JoinSet;

use crate::{
    lab::{Engine, Lab, Run},
    report::Finding,
    support::{
        Answer,
        process::{Served, signal},
    },
};

const NODES: usize = 3;
const WRITERS: usize = 16;
/// Longest time without an acknowledged write at the other nodes.
const LONGEST_GAP: Duration = Duration::from_secs(1);
/// Transactions of this site that have stood open for a while: those of the stopped node.
const OPEN: &str = "select count(*) from pg_stat_activity where state = 'idle in transaction' \
                    and application_name = current_setting('application_name') \
                    and state_change < clock_timestamp() - interval '200 milliseconds'";
/// Sessions of this site at work, and those of them that wait for a lock.
const AT_WORK: &str = "select count(*), count(*) filter (where wait_event_type = 'Lock') \
                       from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() \
                       and application_name = current_setting('application_name')";

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    if run.engine == Engine::Sqlite {
        return Vec::new();
    }
    let lab = Lab::new(&run, |_, _| Answer::After(Duration::ZERO, 200)).await;
    let nodes: Vec<Served> = (0..NODES).map(|_| lab.serve(&[], &[])).collect();
    let mut findings = scaling(&lab, &nodes, Duration::from_secs(run.scaled(10, 3) as u64)).await;
    findings.extend(frozen(&lab, &nodes, Duration::from_secs(run.scaled(70, 12) as u64)).await);
    for node in nodes {
        let (code, _) = tokio::task::spawn_blocking(|| node.terminate()).await.unwrap();
        findings.push(Finding::new("a node ends with 0", format!("{code:?}"), code == Some(0)));
    }
    findings
}

/// A writer with a row of its own: makes a row, changes its own, and so on.
struct Writer {
    client: Client,
    name: String,
    /// The last number that was acknowledged for its own row.
    number: AtomicU64,
    /// How many rows were acknowledged.
    rows: AtomicU64,
    acknowledged: Mutex<Vec<Instant>>,
}

impl Writer {
    async fn begin(client: Client, name: String) -> Arc<Self> {
        create(&client, &name).await.expect("a row");
        let (number, rows) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { client, name, number, rows, acknowledged: Mutex::default() })
    }

    async fn run(self: Arc<Self>, done: Arc<AtomicBool>) {
        let mut made = 0_u64;
        for number in 1.. {
            if done.load(SeqCst) {
                return;
            }
            let patch = Ask::patch("/api/backend/item").query("table", "settings");
            let patch = patch.query("id", &self.name).json(&json!({"value": number}));
            if self.client.send(patch).await.is_ok() {
                self.number.store(number, SeqCst);
                self.note();
            }
            made += 1;
            if create(&self.client, &format!("{} {made}", self.name)).await.is_some() {
                self.rows.fetch_add(1, SeqCst);
                self.note();
            }
        }
    }

    fn note(&self) {
        self.acknowledged.lock().unwrap().push(Instant::now());
    }
}

async fn create(client: &Client, name: &str) -> Option<()> {
    let ask = Ask::post("/api/backend/item").query("table", "settings");
    client.send(ask.json(&json!({"name": name, "value": 0}))).await.ok().map(drop)
}

/// The longest time between two of these moments.
fn longest_gap(mut moments: Vec<Instant>, began: Instant, ended: Instant) -> Duration {
    moments.retain(|at| (began..ended).contains(at));
    moments.extend([began, ended]);
    moments.sort();
    moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}

async fn frozen(lab: &Lab, nodes: &[Served], length: Duration) -> Vec<Finding> {
    let done = Arc::new(AtomicBool::new(false));
    let (mut writers, mut tasks) = (Vec::new(), JoinSet::new());
    for n in 0..WRITERS {
        let writer = Writer::begin(nodes[n % NODES].client(&lab.key), format!("f{n}")).await;
        tasks.spawn(writer.clone().run(done.clone()));
        writers.push(writer);
    }
    let first = nodes[0].child.id();
    // In the middle of a write: with a transaction that it does not go on with.
    let mut held = 0;
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(37)).await;
        signal(first, "-STOP");
        tokio::time::sleep(Duration::from_millis(300)).await;
        held = lab.count(OPEN).await;
        if held > 0 {
            break;
        }
        signal(first, "-CONT");
    }
    let began = Instant::now();
    tokio::time::sleep(length).await;
    let left = lab.count(OPEN).await;
    let ended = Instant::now();
    signal(first, "-CONT");
    // It goes on by itself.
    let again = || writers[0].acknowledged.lock().unwrap().iter().any(|at| *at > ended);
    while !again() && ended.elapsed() < Duration::from_secs(90) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let back = again();
    done.store(true, SeqCst);
    while tasks.join_next().await.is_some() {}
    let others = || writers.iter().enumerate().filter(|(n, _)| n % NODES != 0).map(|(_, w)| w);
    let moments = |writer: &Arc<Writer>| writer.acknowledged.lock().unwrap().clone();
    let gap = longest_gap(others().flat_map(moments).collect(), began, ended);
    let worst = others().map(|writer| longest_gap(moments(writer), began, ended)).max();
    let in_time = |at: &Instant| (began..ended).contains(at);
    let written = others().flat_map(moments).filter(in_time).count();
    let lost = lost(lab, &writers).await;
    let seconds = length.as_secs();
    vec![
        Finding::new(
            "the stopped node stands in a transaction",
            format!("{held} at the stop, {left} after {seconds} s"),
            held > 0 && left == 0,
        ),
        Finding::new(
            format!("longest time without a write elsewhere ≤ {} s", LONGEST_GAP.as_secs()),
            format!(
                "{} ms among {written} writes in {seconds} s; of one writer {} ms",
                gap.as_millis(),
                worst.unwrap_or_default().as_millis()
            ),
            gap <= LONGEST_GAP,
        ),
        Finding::new("the node writes again after SIGCONT", back, back),
        Finding::equal("acknowledged writes that were lost", lost, 0),
    ]
}

/// Acknowledged rows and changes that are not in the database.
async fn lost(lab: &Lab, writers: &[Arc<Writer>]) -> u64 {
    let mut lost = 0;
    for writer in writers {
        let name = &writer.name;
        let rows = format!("select count(*) from cms_settings where name like '{name} %'");
        let rows = u64::try_from(lab.count(&rows).await).unwrap();
        lost += writer.rows.load(SeqCst).saturating_sub(rows);
        let own = format!(
            "select cast(cast(value as text) as bigint) from cms_settings where name = '{name}'"
        );
        let number = u64::try_from(lab.count(&own).await).unwrap();
        lost += u64::from(number < writer.number.load(SeqCst));
    }
    lost
}

/// Writes of one table by more and more clients, over all nodes.
async fn scaling(lab: &Lab, nodes: &[Served], length: Duration) -> Vec<Finding> {
    let (mut findings, mut rates) = (Vec::new(), Vec::new());
    for clients in [1, 4, 16] {
        let done = Arc::new(AtomicBool::new(false));
        let (mut writers, mut tasks) = (Vec::new(), JoinSet::new());
        for n in 0..clients {
            let client = nodes[n % NODES].client(&lab.key);
            let writer = Writer::begin(client, format!("s{clients}-{n}")).await;
            tasks.spawn(writer.clone().run(done.clone()));
            writers.push(writer);
        }
        let (at_work, waiting) = sample(lab, length).await;
        done.store(true, SeqCst);
        while tasks.join_next().await.is_some() {}
        let writes: usize = writers.iter().map(|w| w.acknowledged.lock().unwrap().len()).sum();
        rates.push(writes as f64 / length.as_secs_f64());
        let share = 100.0 * waiting as f64 / at_work.max(1) as f64;
        findings.push(Finding::new(
            format!("{clients} clients: waiting for locks ≤ 10 % of database time"),
            format!("{share:.1} % at {:.0} writes/s", rates[rates.len() - 1]),
            share <= 10.0,
        ));
    }
    findings.push(Finding::new(
        "16 clients write more than one",
        format!("{:.1} times as much", rates[2] / rates[0]),
        rates[2] > rates[0],
    ));
    findings
}

/// Sessions at work, and waiting for a lock, summed over moments.
async fn sample(lab: &Lab, length: Duration) -> (i64, i64) {
    let url = lab.database.url.as_ref().expect("PostgreSQL");
    let mut connection = sqlx::PgConnection::connect(url).await.expect("a connection");
    let (began, mut sum) = (Instant::now(), (0, 0));
    while began.elapsed() < length {
        let found: (i64, i64) =
            sqlx::query_as(AT_WORK).fetch_one(&mut connection).await.expect("counts");
        sum = (sum.0 + found.0, sum.1 + found.1);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    sum
}
