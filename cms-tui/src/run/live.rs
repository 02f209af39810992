//! Follows events of the site as they happen.

use std::{sync::Arc, time::Duration};

use cms_http::{
    client::{Client, ClientError},
    wire::stream::Followed,
};
use tokio::{
    sync::{Semaphore, mpsc::UnboundedSender},
    task::JoinHandle,
};

use super::Incoming;
use crate::model::Msg;

/// Time before the stream is opened again.
const AGAIN: Duration = Duration::from_secs(2);
/// The same after a refusal: the caller may get the right meanwhile.
const REFUSED: Duration = Duration::from_secs(60);
/// The most events that wait. Beyond that the stream itself waits, and the service holds it back.
pub(super) const WAITING: usize = 64;

/// Follows events until the user leaves. Screens are polled if the caller has no right to follow.
pub(super) fn follow(client: Client, sender: UnboundedSender<Incoming>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut stream = Stream {
            client,
            sender,
            last: None,
            is_live: false,
            free: Arc::new(Semaphore::new(WAITING)),
        };
        while let Some(pause) = stream.follow().await {
            stream.tell(false);
            tokio::time::sleep(pause).await;
        }
    })
}

struct Stream {
    client: Client,
    sender: UnboundedSender<Incoming>,
    /// The last event seen: the next stream goes on after it.
    last: Option<String>,
    is_live: bool,
    free: Arc<Semaphore>,
}

impl Stream {
    fn tell(&mut self, is_live: bool) {
        if std::mem::replace(&mut self.is_live, is_live) != is_live {
            // Fails only after the end of the loop, which `follow` notices.
            let _ = self.sender.send(Incoming::Msg(Msg::Live(is_live)));
        }
    }

    /// Follows one stream to its end. Returns how long to wait for the next one; None:
    /// nobody listens.
    async fn follow(&mut self) -> Option<Duration> {
        let following = self.client.follow(&Followed::default(), self.last.as_deref()).await;
        let mut following = match following {
            Ok(following) => following,
            Err(error) => return Some(pause(&error)),
        };
        self.tell(true);
        while let Some(Ok(happened)) = following.next().await {
            let permit = self.free.clone().acquire_owned().await.ok()?;
            self.sender.send(Incoming::Happened(happened.event, permit)).ok()?;
            if happened.id.is_some() {
                self.last = happened.id;
            }
        }
        (!self.sender.is_closed()).then_some(AGAIN)
    }
}

/// How long to wait after a refusal.
fn pause(error: &ClientError) -> Duration {
    match error {
        ClientError::Problem { retry_after: Some(seconds), .. } => Duration::from_secs(*seconds),
        ClientError::Problem { status, .. } if !status.is_server_error() => REFUSED,
        ClientError::Unexpected(_) => REFUSED,
        _ => AGAIN,
    }
}

#[cfg(test)]
mod tests;
