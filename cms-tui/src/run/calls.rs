//! Makes calls. Those to a remote site go at a pace that its limiter allows, so that nobody waits
//! for a refusal.

use std::{sync::Arc, time::Duration};

use cms_http::client::{Ask, Client};
use tokio::{
    sync::{Mutex, mpsc::UnboundedSender},
    time::Instant,
};

use super::Incoming;
use crate::{calls::Read, model::Msg};

/// A user's bucket holds 250 tokens and gets 4.17 a second; other programs of the user want some.
const TOKENS: f64 = 200.0;
const PER_SECOND: f64 = 4.0;

/// Makes calls, each in a task of its own.
pub(super) struct Calls {
    pub(super) client: Client,
    pace: Option<Arc<Mutex<Pace>>>,
}

impl Calls {
    pub(super) fn new(client: Client, is_local: bool) -> Self {
        let pace = (!is_local).then(|| Arc::new(Mutex::new(Pace::new(Instant::now()))));
        Self { client, pace }
    }

    pub(super) fn start(
        &self,
        ticket: u64,
        ask: Ask,
        read: Read,
        sender: &UnboundedSender<Incoming>,
    ) {
        let (client, pace, sender) = (self.client.clone(), self.pace.clone(), sender.clone());
        tokio::spawn(async move {
            if let Some(pace) = pace {
                let wait = pace.lock().await.take(Instant::now());
                tokio::time::sleep(wait).await;
            }
            let outcome = match client.send(ask).await {
                Ok(answer) => read(&answer),
                Err(error) => Err(error.into()),
            };
            // Fails only after the end of the loop.
            let _ = sender.send(Incoming::Msg(Msg::Answered(ticket, outcome)));
        });
    }
}

/// A bucket like the limiter's, kept on this side.
struct Pace {
    tokens: f64,
    at: Instant,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { tokens: TOKENS, at: now }
    }

    /// Takes a token, and tells how long to wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + since * PER_SECOND).min(TOKENS) - 1.0;
        self.at = now.max(self.at);
        Duration::from_secs_f64((-self.tokens / PER_SECOND).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 600 calls as fast as they may go, against a bucket like the service's.
    #[test]
    fn six_hundred_calls_take_no_token_that_is_not_there() {
        let start = Instant::now();
        let (mut pace, mut now) = (Pace::new(start), start);
        let (mut bucket, mut at) = (250.0_f64, start);
        for n in 0..600 {
            now += pace.take(now);
            bucket = (bucket + (now - at).as_secs_f64() * 4.17).min(250.0) - 1.0;
            at = now;
            assert!(bucket >= 0.0, "call {n} would be refused");
        }
        assert!((now - start).as_secs() < 110, "{:?}", now - start);
    }
}
