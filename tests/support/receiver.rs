//! A receiver of webhooks on loopback, whose answers a test chooses.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value as Json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A delivery as it arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Delivery {
    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What to do with a delivery.
#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16),
    /// A status after a while.
    After(Duration, u16),
    /// These bytes, then the connection ends.
    Raw(Vec<u8>),
    /// The bytes again and again, with pauses.
    Drip(&'static [u8], Duration),
    /// Nothing, for ever.
    Silence,
    /// The connection ends at once.
    HangUp,
}

type Script = Arc<dyn Fn(usize, &Delivery) -> Answer + Send + Sync>;

pub struct Receiver {
    pub url: String,
    pub received: Arc<Mutex<Vec<Delivery>>>,
    connections: Arc<Mutex<usize>>,
}

impl Receiver {
    /// Answers every delivery with this status.
    pub async fn start(status: u16) -> Self {
        Self::scripted(move |_, _| Answer::Status(status)).await
    }

    /// `answer` gets the number of the delivery, from 0.
    pub async fn scripted(
        answer: impl Fn(usize, &Delivery) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (received, connections) =
            (Arc::<Mutex<Vec<Delivery>>>::default(), Arc::<Mutex<usize>>::default());
        let (kept, count, script): (_, _, Script) =
            (received.clone(), connections.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                tokio::spawn(connection(stream, kept.clone(), script.clone()));
            }
        });
        Self { url, received, connections }
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.received.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// Connections that were accepted.
    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn connection(mut stream: TcpStream, received: Arc<Mutex<Vec<Delivery>>>, script: Script) {
    let mut buffer = Vec::new();
    loop {
        let Some(delivery) = read(&mut stream, &mut buffer).await else { return };
        let number = {
            let mut received = received.lock().unwrap();
            received.push(delivery.clone());
            received.len() - 1
        };
        let mut answer = script(number, &delivery);
        if let Answer::After(wait, status) = answer {
            tokio::time::sleep(wait).await;
            answer = Answer::Status(status);
        }
        match answer {
            Answer::Status(status) | Answer::After(_, status) => {
                let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nok");
                if stream.write_all(reply.as_bytes()).await.is_err() {
                    return;
                }
            }
            Answer::Raw(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                return;
            }
            Answer::Drip(bytes, pause) => loop {
                if stream.write_all(bytes).await.is_err() {
                    return;
                }
                tokio::time::sleep(pause).await;
            },
            Answer::Silence => std::future::pending().await,
            Answer::HangUp => return,
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Delivery> {
    loop {
        if let Some(head) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).into_owned();
            let mut lines = text.lines();
            lines.next()?;
            let headers: BTreeMap<_, _> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect();
            let length: usize =
                headers.get("content-length").map_or(0, |length| length.parse().unwrap());
            if buffer.len() >= head + 4 + length {
                let body = buffer[head + 4..head + 4 + length].to_vec();
                buffer.drain(..head + 4 + length);
                return Some(Delivery { headers, body });
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
