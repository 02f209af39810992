//! Makes calls. Those to a remote site keep to the rate of its limiter, writes first. A read is
//! broken off when nobody waits for its reply any more.

use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use cms_http::client::{Answer, Ask, Client, ClientError};
use tokio::{
    sync::{mpsc::UnboundedSender, watch},
    task::AbortHandle,
    time::Instant,
};

use super::{Incoming, pace::Turns};
use crate::{
    calls::{Fault, Read, Reply},
    model::Msg,
};

/// How often a call is repeated that the limiter refused.
const MOST_REFUSED: u32 = 5;

/// Makes calls, each in a task of its own.
pub(super) struct Calls {
    pub(super) client: Client,
    turns: Option<Arc<Turns>>,
    /// Reads under way, by ticket.
    reads: HashMap<u64, AbortHandle>,
    /// How many changes this process is making, at sites that it has opened itself.
    changes: watch::Sender<usize>,
}

impl Calls {
    pub(super) fn new(client: Client, is_local: bool) -> Self {
        let turns = (!is_local).then(|| Arc::new(Turns::new(Instant::now())));
        Self { client, turns, reads: HashMap::new(), changes: watch::Sender::new(0) }
    }

    /// Makes calls to another site. Changes at this one go on.
    pub(super) fn elsewhere(&self, client: Client, is_local: bool) -> Self {
        Self { changes: self.changes.clone(), ..Self::new(client, is_local) }
    }

    pub(super) fn start(
        &mut self,
        ticket: u64,
        ask: Ask,
        read: Read,
        sender: &UnboundedSender<Incoming>,
    ) {
        let (client, turns, sender) = (self.client.clone(), self.turns.clone(), sender.clone());
        let is_read = is_read(&ask);
        let change = (!is_read && turns.is_none()).then(|| UnderWay::begin(&self.changes));
        let task = tokio::spawn(async move {
            let outcome = make(&client, turns.as_deref(), ask, read).await;
            drop(change);
            // Fails only after the end of the loop.
            let _ = sender.send(Incoming::Msg(Msg::Answered(ticket, outcome)));
        });
        self.reads.retain(|_, task| !task.is_finished());
        if is_read {
            self.reads.insert(ticket, task.abort_handle());
        }
    }

    /// Breaks a read off. Changes go on, because otherwise their outcome would be unknown.
    pub(super) fn forget(&mut self, ticket: u64) {
        if let Some(task) = self.reads.remove(&ticket) {
            task.abort();
        }
    }

    /// Whether this process is making a change, and thus holds the database's writer.
    pub(super) fn is_changing(&self) -> bool {
        *self.changes.borrow() > 0
    }

    /// Waits until this process makes no change. Returns false if it still makes one
    /// after `patience`.
    pub(super) fn at_rest(&self, patience: Duration) -> impl Future<Output = bool> + use<> {
        let mut changes = self.changes.subscribe();
        async move {
            let rests = changes.wait_for(|changes| *changes == 0);
            tokio::time::timeout(patience, rests).await.is_ok()
        }
    }
}

/// A change under way, until dropped.
struct UnderWay(watch::Sender<usize>);

impl UnderWay {
    fn begin(changes: &watch::Sender<usize>) -> Self {
        changes.send_modify(|changes| *changes += 1);
        Self(changes.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|changes| *changes -= 1);
    }
}

fn is_read(ask: &Ask) -> bool {
    ask.line().starts_with("GET ")
}

async fn make(
    client: &Client,
    turns: Option<&Turns>,
    ask: Ask,
    read: Read,
) -> Result<Reply, Fault> {
    let answer = match turns {
        Some(turns) => paced(client, turns, &ask, tokio::time::sleep, Instant::now).await?,
        None => client.send(ask).await?,
    };
    read(&answer)
}

/// Makes a call once the limiter has a token for it. After a refusal all calls wait.
async fn paced(
    client: &Client,
    turns: &Turns,
    ask: &Ask,
    wait: impl AsyncFn(Duration),
    now: impl Fn() -> Instant,
) -> Result<Answer, ClientError> {
    // Logins have a bucket of their own, and health checks none: neither tells anything about
    // the next calls.
    let counts = ask.line().contains("/api/") && !ask.line().contains("/auth/");
    let mut refused = 0;
    loop {
        let turn = turns.take(!is_read(ask), &wait, &now).await;
        let answer = client.send_once(ask).await;
        let seconds = answer.as_ref().err().and_then(ClientError::come_again);
        match seconds.filter(|_| refused < MOST_REFUSED) {
            Some(seconds) => {
                refused += 1;
                turn.refused(seconds, now());
            }
            None => {
                let said = answer.as_ref().ok().filter(|_| counts).map(|answer| answer.limit);
                turn.answered(said, now());
                return answer;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use cms_core::{Secret, settings::LimiterStore};
    use cms_http::client::Credential;
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        sync::mpsc::unbounded_channel,
    };

    use super::*;
    use crate::driver::site::TestSite;

    /// Against the service's own limiter.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn six_hundred_calls_are_never_refused() {
        let site = TestSite::with(|s| s.limiter.store = LimiterStore::Memory).await;
        let key = site.key("tui", json!({"rights": [{"endpoint": "*"}]})).await;
        let served = site.serve("127.0.0.1:0").await;
        let (client, begun) = (served.client(&key), Instant::now());
        let turns = Turns::new(begun);
        let (waited, refused) = (std::sync::Mutex::new(Duration::ZERO), AtomicU32::new(0));
        for n in 0..600 {
            let ask = match n % 3 {
                0 => Ask::get("/api/backend/keys"),
                1 => Ask::get("/api/backend/item").query("table", "posts"),
                _ => Ask::get("/api/backend/webhooks/queue"),
            };
            let wait = async |pause: Duration| {
                // A token comes within 1.1 s; after a refusal it takes longer.
                refused
                    .fetch_add(u32::from(pause > Duration::from_millis(1_200)), Ordering::Relaxed);
                let ms =
                    pause.as_millis() + u128::from(!pause.subsec_nanos().is_multiple_of(1_000_000));
                site.clock.advance(i64::try_from(ms).expect("a pause"));
                *waited.lock().expect("a lock") += pause;
            };
            let now = || begun + *waited.lock().expect("a lock");
            let answer = paced(&client, &turns, &ask, wait, now).await;
            assert!(answer.is_ok_and(|answer| answer.limit.is_some()), "call {n} is refused");
        }
        // A key's bucket holds 60 and gets one a second.
        let waited = waited.into_inner().expect("a lock").as_secs();
        assert!((500..640).contains(&waited), "{waited} s");
        assert_eq!(refused.into_inner(), 0);
        served.stop().await;
    }

    /// A server that answers when the test says so.
    async fn asked(listener: &TcpListener) -> TcpStream {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let read = stream.read(&mut [0; 4096]).await.expect("a request");
        assert!(read > 0);
        stream
    }

    #[tokio::test]
    async fn only_a_read_that_nobody_waits_for_is_broken_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let client = Client::remote(&url, &Credential::Key(Secret::new("key"))).expect("a client");
        let (sender, mut incoming) = unbounded_channel();
        let mut calls = Calls::new(client, false);
        let read: Read = |_| Ok(Reply::default());
        calls.start(1, Ask::get("/api/backend/keys"), read, &sender);
        let mut reading = asked(&listener).await;
        calls.forget(1);
        let end = reading.read(&mut [0; 16]).await;
        assert!(matches!(end, Ok(0) | Err(_)), "the connection is closed");
        let write = Ask::post("/api/backend/keys").json(&json!({}));
        calls.start(2, write, read, &sender);
        let mut writing = asked(&listener).await;
        calls.forget(2);
        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        writing.write_all(reply).await.expect("taken");
        let answered = incoming.recv().await;
        assert!(matches!(answered, Some(Incoming::Msg(Msg::Answered(2, Ok(_))))));
    }

    #[tokio::test]
    async fn a_change_that_this_process_makes_is_known_until_it_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let client = Client::remote(&url, &Credential::Key(Secret::new("key"))).expect("a client");
        let (sender, mut incoming) = unbounded_channel();
        let read: Read = |_| Ok(Reply::default());
        let write = || Ask::post("/api/backend/keys").json(&json!({}));
        // As if it were a site of this process: only its changes hold a database.
        let mut calls = Calls::new(client.clone(), true);
        calls.start(1, Ask::get("/api/backend/keys"), read, &sender);
        assert!(!calls.is_changing(), "a read");
        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
        asked(&listener).await.write_all(reply).await.expect("taken");
        incoming.recv().await.expect("an answer");
        calls.start(2, write(), read, &sender);
        let mut writing = asked(&listener).await;
        let elsewhere = calls.elsewhere(client.clone(), false);
        assert!(calls.is_changing() && elsewhere.is_changing());
        assert!(!calls.at_rest(Duration::from_millis(20)).await);
        writing.write_all(reply).await.expect("taken");
        assert!(elsewhere.at_rest(Duration::from_secs(60)).await && !calls.is_changing());
        let mut remote = Calls::new(client, false);
        remote.start(3, write(), read, &sender);
        let _writing = asked(&listener).await;
        assert!(!remote.is_changing(), "a server has its own writer");
    }
}
