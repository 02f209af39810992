//! Visitors of a funnel at the real `cms serve`: what a step costs beside a plain POST of a
//! record in the same minute, and how long it takes at half of the load that the server can take.
//!
//! `cargo build --release -p cms-cli && cargo bench -p cms-tests --bench funnel_load`. The server
//! is pinned to core 0. Loopback only; ends by itself after a minute.

#[path = "../support/bench.rs"]
mod bench;
mod server;

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use bench::support::TestDatabase;
use server::{Client, Server};

/// Rounds of each kind, in turn, because machines are shared; medians are printed.
const ROUNDS: usize = 9;
const TIME: Duration = Duration::from_secs(1);
/// How long half of the load lasts.
const LONG: Duration = Duration::from_secs(10);
const CLIENTS: usize = 16;
/// Steps of a visit.
const STEPS: usize = 8;
/// CPU of a step, as a multiple of that of a POST.
const GOAL: f64 = 2.0;

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = Server::start(runtime.block_on(TestDatabase::sqlite()));
    server.call("create", &funnel());
    server.call("publish", &json!({"id": 1}));
    let (mut ratios, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let post = round(&server, post);
        let start = round(&server, |client| {
            client.start();
        });
        let visit = round(&server, visit);
        // A visit is a start and its steps.
        let steps = visit.cpu.saturating_sub(start.cpu) / u32::try_from(STEPS).expect("few");
        ratios.push((steps.as_secs_f64() / post.cpu.as_secs_f64(), steps, post.cpu, start.cpu));
        rates.push(visit.rate);
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    rates.sort_by(f64::total_cmp);
    let (ratio, step, post, start) = ratios[ROUNDS / 2];
    println!("CPU of the server: a POST {post:.0?}, a start {start:.0?}, a step {step:.0?}");
    println!("a step is {ratio:.2} POSTs (goal: at most {GOAL:.1})");
    let rate = rates[ROUNDS / 2] * STEPS as f64;
    println!("{rate:.0} steps/s with {CLIENTS} visitors at once");
    half(&server, rate / 2.0);
}

/// A funnel of plain steps, one of which decides a way.
fn funnel() -> Json {
    let step = |at: usize| {
        json!({"client_id": -(at as i64) - 1, "type": "step", "name": format!("n{at}"),
               "config_json": {"fields": [
                   {"id": format!("a{at}"), "type": "short_text", "required": true},
                   {"id": format!("b{at}"), "type": "number"}]}})
    };
    let end = -(STEPS as i64) - 1;
    let mut nodes: Vec<_> = (0..STEPS).map(step).collect();
    nodes.push(json!({"client_id": end, "type": "end", "name": "thanks"}));
    nodes[2]["config_json"]["rules"] =
        json!({"rules": [{"field": "b1", "op": "greater_or_equal", "value": 3}]});
    let mut edges: Vec<_> = (0..STEPS as i64)
        .map(|at| json!({"from_node_id": -at - 1, "to_node_id": -at - 2}))
        .collect();
    edges.push(json!({"from_node_id": -3, "to_node_id": -5, "branch_label": "false"}));
    json!({"name": "Load", "slug": "load", "start_node_id": -1, "nodes": nodes, "edges": edges})
}

/// One unit of work of each kind.
struct Round {
    cpu: Duration,
    rate: f64,
}

fn round(server: &Server, work: impl Fn(&mut Client<'_>) + Sync) -> Round {
    let (began, computed) = (Instant::now(), server.cpu());
    let done: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.client();
                    let mut done = 0;
                    while began.elapsed() < TIME {
                        work(&mut client);
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().expect("an end")).sum()
    });
    let cpu = (server.cpu() - computed) / u32::try_from(done.max(1)).expect("few");
    Round { cpu, rate: done as f64 / began.elapsed().as_secs_f64() }
}

fn post(client: &mut Client<'_>) {
    let body = json!({"name": client.name(), "value": 1, "public": false});
    client.post("/api/backend/item?table=settings", &body, 201);
}

fn visit(client: &mut Client<'_>) {
    let session = client.start();
    for at in 0..STEPS {
        client.step(&session, at);
    }
}

/// Steps at a steady rate, whatever the replies take.
fn half(server: &Server, rate: f64) {
    let pause = Duration::from_secs_f64(CLIENTS as f64 / rate);
    let times = Mutex::new(Vec::new());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for first in 0..CLIENTS {
            let times = &times;
            scope.spawn(move || {
                let mut client = server.client();
                let (mut own, mut due) = (Vec::new(), began + pause.mul_f64(first as f64 / 16.0));
                while began.elapsed() < LONG {
                    let session = client.start();
                    for at in 0..STEPS {
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                        // A reply that comes late makes the next one late too.
                        client.step(&session, at);
                        own.push(due.elapsed());
                        due += pause;
                    }
                }
                times.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
            });
        }
    });
    let mut times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize];
    println!(
        "at half of that, {:.0} steps/s: p50 {:.1?}, p99 {:.1?}",
        times.len() as f64 / began.elapsed().as_secs_f64(),
        at(0.5),
        at(0.99)
    );
}
