//! A client that takes little time for each request: requests are bytes, replies are measured by
//! their content-length.

use std::{
    cell::RefCell,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::LocalSet,
};

use crate::site::Running;

#[derive(Clone)]
pub struct Request {
    head: String,
    body: String,
    /// Sent before each request, and not counted.
    write: Option<Vec<u8>>,
    /// All from one address, instead of one for each.
    flood: bool,
}

pub struct Sample {
    pub bytes: Vec<u8>,
}

pub struct Outcome {
    pub rate: f64,
    /// What the server computed for each.
    pub cpu: Duration,
    pub sent: usize,
    pub refused: u64,
    pub p50: Duration,
    pub p99: Duration,
}

impl Request {
    pub fn new(target: &str, key: Option<&str>, etag: Option<String>) -> Self {
        let key = key.map(|key| format!("x-api-key: {key}\r\n")).unwrap_or_default();
        let etag = etag.map(|etag| format!("if-none-match: {etag}\r\n")).unwrap_or_default();
        Self {
            head: format!(
                "GET {target} HTTP/1.1\r\nhost: cms.example\r\n{key}{etag}x-forwarded-for: "
            ),
            body: String::new(),
            write: None,
            flood: false,
        }
    }

    /// A write that each request repeats.
    pub fn sending(method: &str, target: &str, key: &str, body: &str) -> Self {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: cms.example\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nx-forwarded-for: ",
            body.len()
        );
        Self { head, body: body.to_owned(), write: None, flood: false }
    }

    /// Each request follows a write of the same connection.
    pub fn after_write(self, target: &str, key: &str, body: &str) -> Self {
        let write = format!(
            "PATCH {target} HTTP/1.1\r\nhost: cms.example\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { write: Some(write.into_bytes()), ..self }
    }

    pub fn flood(self) -> Self {
        Self { flood: true, ..self }
    }

    /// Every request comes from another address, so that no bucket runs dry; or it is a flood.
    fn bytes(&self, n: u32, into: &mut Vec<u8>) {
        use std::io::Write;
        into.clear();
        let [_, b, c, d] = if self.flood { [0; 4] } else { n.to_be_bytes() };
        let _ = write!(into, "{}20.{b}.{c}.{d}\r\n\r\n{}", self.head, self.body);
    }

    pub async fn once(&self, address: SocketAddr) -> Sample {
        let mut stream = connect(address).await;
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        self.bytes(1, &mut request);
        stream.write_all(&request).await.expect("sent");
        let length = read(&mut stream, &mut reply).await;
        Sample { bytes: reply[..length].to_vec() }
    }
}

impl Sample {
    pub fn header(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.map(str::to_owned)
    }
}

async fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.expect("a connection");
    let _ = stream.set_nodelay(true);
    stream
}

/// Sends a request and reads its reply; false when the server has closed the connection instead, as
/// it does after it refused one.
async fn exchange(stream: &mut TcpStream, request: &[u8], reply: &mut Vec<u8>) -> bool {
    reply.clear();
    stream.write_all(request).await.is_ok() && read(stream, reply).await > 0
}

/// Reads one reply to the start of the buffer; returns its length.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> usize {
    buffer.clear();
    loop {
        let before = buffer.len();
        if !stream.read_buf(buffer).await.is_ok_and(|read| read > 0) {
            return before;
        }
        let Some(head) = buffer.windows(4).position(|part| part == b"\r\n\r\n") else { continue };
        let length = buffer[..head]
            .windows(16)
            .position(|part| part.eq_ignore_ascii_case(b"content-length: "));
        let body = length.map_or(0, |at| {
            buffer[at + 16..head]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .fold(0, |n, b| n * 10 + usize::from(b - b'0'))
        });
        // A 304 announces the length of what it does not send.
        let body = if buffer.starts_with(b"HTTP/1.1 304") { 0 } else { body };
        if buffer.len() >= head + 4 + body {
            return head + 4 + body;
        }
    }
}

pub async fn run(server: &Running, request: &Request, time: Duration) -> Outcome {
    run_with(server, request, time, super::CONNECTIONS).await
}

/// As many requests as the connections can make in `time`, one at a time each.
pub async fn run_with(
    server: &Running,
    request: &Request,
    time: Duration,
    connections: usize,
) -> Outcome {
    let (address, computed) = (server.address, server.cpu());
    let latencies: Rc<RefCell<Vec<Duration>>> = Rc::default();
    let (number, refused) = (Rc::new(RefCell::new(0_u32)), Rc::new(RefCell::new(0_u64)));
    let local = LocalSet::new();
    let began = Instant::now();
    for _ in 0..connections {
        let (request, latencies, number, refused) =
            (request.clone(), latencies.clone(), number.clone(), refused.clone());
        local.spawn_local(async move {
            let mut stream = connect(address).await;
            let (mut sent, mut reply, mut status) =
                (Vec::new(), Vec::with_capacity(64 << 10), Vec::new());
            while began.elapsed() < time {
                *number.borrow_mut() += 1;
                if let Some(write) = &request.write {
                    stream.write_all(write).await.expect("sent");
                    read(&mut stream, &mut reply).await;
                    assert!(reply.starts_with(b"HTTP/1.1 200"), "written");
                }
                request.bytes(*number.borrow(), &mut sent);
                let at = Instant::now();
                while !exchange(&mut stream, &sent, &mut reply).await {
                    assert!(request.flood, "only a flood loses its connections");
                    stream = connect(address).await;
                }
                latencies.borrow_mut().push(at.elapsed());
                if status.is_empty() {
                    status = reply[..12].to_vec();
                }
                *refused.borrow_mut() += u64::from(
                    !reply.starts_with(&status)
                        || reply.starts_with(b"HTTP/1.1 4")
                        || reply.starts_with(b"HTTP/1.1 5"),
                );
            }
        });
    }
    // Keeps this core awake. To wake a sleeping client costs the server time, and a slow server
    // pays it more often.
    local.spawn_local(async move {
        while began.elapsed() < time {
            tokio::task::yield_now().await;
        }
    });
    local.await;
    let elapsed = began.elapsed();
    let mut latencies = latencies.take();
    latencies.sort_unstable();
    let at = |share: f64| {
        latencies.get((latencies.len() as f64 * share) as usize).copied().unwrap_or_default()
    };
    let refused = *refused.borrow();
    let sent = latencies.len();
    let cpu = (server.cpu() - computed) / u32::try_from(sent.max(1)).unwrap_or(u32::MAX);
    Outcome {
        cpu,
        rate: sent as f64 / elapsed.as_secs_f64(),
        sent,
        refused,
        p50: at(0.5),
        p99: at(0.99),
    }
}
