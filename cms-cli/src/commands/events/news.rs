//! Waits until there may be new events: the stream tells, else they are asked for again and again

use std::time::Duration;

use cms_http::{
    client::{Client, ClientError, Following},
    wire::stream::Followed,
};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::output::Output;

/// Time between two requests for new events.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Time between two requests while the stream is silent: it tells a caller no more than the caller
/// may subscribe to or read, and the list may hold more.
const SILENCE: Duration = Duration::from_secs(5);

/// The stream, and where it goes on.
pub(super) struct News<'a> {
    out: &'a Output,
    client: &'a Client,
    which: Followed,
    following: Option<Following>,
    /// `Last-Event-ID`: nothing is left out while no stream is open.
    last: Option<String>,
    /// The site does not stream to this caller.
    is_refused: bool,
    asked_at: Instant,
}

impl<'a> News<'a> {
    /// News of these events, behind the event `last`.
    pub(super) fn new(
        out: &'a Output,
        client: &'a Client,
        event: Option<String>,
        last: Option<String>,
    ) -> Self {
        let which = Followed { event };
        let asked_at = Instant::now();
        Self { out, client, which, following: None, last, is_refused: false, asked_at }
    }

    /// Returns when there may be something new, and not more often than once in a pause.
    pub(super) async fn wait(&mut self) {
        match &mut self.following {
            Some(following) => match timeout(SILENCE, following.next()).await {
                Err(_) => {}
                Ok(Some(Ok(happened))) => {
                    self.last = happened.id.or(self.last.take());
                    self.gather().await;
                }
                // It ends when the service stops, and is opened again.
                Ok(_) => {
                    self.following = None;
                    sleep(PAUSE).await;
                }
            },
            None if self.is_refused => sleep(PAUSE).await,
            None => self.open().await,
        }
        self.asked_at = Instant::now();
    }

    async fn open(&mut self) {
        match self.client.follow(&self.which, self.last.as_deref()).await {
            Ok(following) => {
                self.out.detail("the site tells of events as they happen");
                self.following = Some(following);
            }
            Err(ClientError::Problem { status, .. })
                if status.is_client_error() && status.as_u16() != 429 =>
            {
                self.out
                    .detail("the site does not stream to this caller: it is asked every second");
                self.is_refused = true;
            }
            Err(_) => sleep(PAUSE).await,
        }
    }

    /// Takes what else comes in until a pause since the last request is over.
    async fn gather(&mut self) {
        let until = self.asked_at + PAUSE;
        while let Some(following) = &mut self.following {
            match timeout_at(until, following.next()).await {
                Ok(Some(Ok(happened))) => self.last = happened.id.or(self.last.take()),
                Ok(_) => {
                    self.following = None;
                    sleep_until(until).await;
                }
                Err(_) => return,
            }
        }
    }
}
