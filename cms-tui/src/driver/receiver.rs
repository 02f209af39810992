//! A receiver of webhooks on loopback.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU16, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(super) struct Receiver {
    pub(super) url: String,
    /// The status of its answers.
    pub(super) status: Arc<AtomicU16>,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    pub(super) async fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let (status, bodies) = (Arc::new(AtomicU16::new(status)), Arc::default());
        let (answer, kept): (_, Arc<Mutex<Vec<String>>>) = (status.clone(), Arc::clone(&bodies));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                take(stream, answer.load(Ordering::SeqCst), &kept).await;
            }
        });
        Self { url, status, bodies }
    }

    pub(super) fn count(&self) -> usize {
        self.bodies.lock().expect("a lock").len()
    }
}

/// Reads one request and ends the connection.
async fn take(mut stream: TcpStream, status: u16, kept: &Mutex<Vec<String>>) {
    let mut read = Vec::new();
    let body = loop {
        let mut part = [0; 4096];
        let Ok(n) = stream.read(&mut part).await else { return };
        read.extend_from_slice(&part[..n]);
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if n == 0 {
                return;
            }
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
        });
        if n == 0 || body.len() >= length.unwrap_or(0) {
            break body.to_owned();
        }
    };
    kept.lock().expect("a lock").push(body);
    let says = if status < 300 { "{\"ok\":true}" } else { "{\"error\":\"maintenance\"}" };
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close", says.len());
    let _ = stream.write_all(format!("{head}\r\n\r\n{says}").as_bytes()).await;
}
