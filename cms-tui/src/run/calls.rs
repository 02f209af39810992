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
mod tests;
