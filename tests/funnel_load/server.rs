//! The server under load, and clients that keep their connections.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::{Value as Json, json};

use crate::bench::support::{
    TestDatabase,
    process::{self, Served},
};

pub struct Server {
    served: Served,
    key: String,
    names: AtomicU64,
    _database: TestDatabase,
}

impl Server {
    pub fn start(database: TestDatabase) -> Self {
        let key = process::init(&database);
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", "0"]);
        let serve = process::command(&database, &["serve", "--listen", "127.0.0.1:0"]);
        let served = Served::start_command(process::run_by(pinned, &serve), "", &[]);
        Self { served, key, names: AtomicU64::new(0), _database: database }
    }

    /// An action of the backend.
    pub fn call(&self, action: &str, body: &Json) {
        let status = if action == "create" { 201 } else { 200 };
        let target = format!("/api/backend/formfunnel?action={action}");
        self.client().post(&target, body, status);
    }

    pub fn client(&self) -> Client<'_> {
        let stream = TcpStream::connect(self.served.address()).expect("a connection");
        stream.set_nodelay(true).expect("set");
        Client { server: self, stream, reply: Vec::new() }
    }

    /// What all its threads have computed so far.
    pub fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.served.child.id()));
        let nanos = tasks.into_iter().flatten().flatten().filter_map(|task| {
            let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            stat.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }
}

pub struct Client<'a> {
    server: &'a Server,
    stream: TcpStream,
    reply: Vec<u8>,
}

impl Client<'_> {
    /// A name that no other has.
    pub fn name(&self) -> String {
        format!("n{}", self.server.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Begins a visit. Returns its session.
    pub fn start(&mut self) -> String {
        let started = self.post("/api/formfunnel/start", &json!({"funnel_id": "load"}), 201);
        started["session_uuid"].as_str().expect("a session").to_owned()
    }

    pub fn step(&mut self, session: &str, at: usize) {
        let answers = json!({format!("a{at}"): "some words", format!("b{at}"): 4});
        let body = json!({"session_uuid": session, "answers": answers});
        self.post("/api/formfunnel/step", &body, 200);
    }

    pub fn post(&mut self, target: &str, body: &Json, status: u16) -> Json {
        let key = match target.starts_with("/api/backend") {
            true => format!("x-api-key: {}\r\n", self.server.key),
            false => String::new(),
        };
        let body = body.to_string();
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: cms.example\r\n{key}content-type: \
             application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).expect("sent");
        let told = self.read();
        let expected = format!("HTTP/1.1 {status}");
        assert!(self.reply.starts_with(expected.as_bytes()), "{target}: {told}");
        told
    }

    fn read(&mut self) -> Json {
        self.reply.clear();
        loop {
            let mut part = [0; 8192];
            let length = self.stream.read(&mut part).expect("a reply");
            assert!(length > 0, "the connection was closed");
            self.reply.extend_from_slice(&part[..length]);
            let Some(head) = self.reply.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let lines = String::from_utf8_lossy(&self.reply[..head]).to_lowercase();
            let length = lines.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.parse().ok()).expect("a length");
            if self.reply.len() >= head + 4 + length {
                return serde_json::from_slice(&self.reply[head + 4..]).expect("JSON");
            }
        }
    }
}
