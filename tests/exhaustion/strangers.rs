//! One address holds as many idle sockets as it can, under limits on open files.

use std::{
    net::TcpStream,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::Story;
use crate::support::process;

/// Sockets that are held at the same time at most.
const SOCKETS: usize = 1500;

/// The command under a limit on open files.
fn limited(limit: u32) -> impl FnOnce(Command) -> Command {
    move |plain| {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")]);
        process::run_by(command, &plain)
    }
}

/// Opens sockets and keeps them; one that was closed is opened again.
fn hold(address: &str, enough: &AtomicBool) {
    let address: std::net::SocketAddr = address.parse().unwrap();
    let mut held = std::collections::VecDeque::with_capacity(SOCKETS);
    while !enough.load(Ordering::SeqCst) {
        if let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            held.push_back(stream);
        }
        if held.len() >= SOCKETS {
            held.pop_front();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

async fn works_under(limit: u32) {
    cms_core::Descriptors::raise(SOCKETS, 0);
    let mut story = Story::begin(limited(limit)).await;
    let (address, enough) = (story.address(), Arc::new(AtomicBool::new(false)));
    let until = enough.clone();
    let holder = std::thread::spawn(move || hold(&address, &until));
    for _ in 0..4 {
        story.write_for(Duration::from_secs(1)).await;
        assert_eq!(story.status_of("/healthz").await, "HTTP/1.1 200 OK", "{limit}");
    }
    assert!(story.written.len() > 20, "{limit}: {} writes", story.written.len());
    story.ends_well().await;
    enough.store(true, Ordering::SeqCst);
    holder.join().unwrap();
    let (code, log) = story.served.terminate();
    assert_eq!(code, Some(0), "{limit}: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_strangers_stop_nothing_at_64() {
    works_under(64).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_strangers_stop_nothing_at_256() {
    works_under(256).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_strangers_stop_nothing_at_1024() {
    works_under(1024).await;
}
