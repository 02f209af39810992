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
const WAITING: usize = 64;

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
mod tests {
    use std::time::Duration;

    use cms_http::client::Ask;
    use serde_json::{Value as Json, json};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::driver::site::{Served, TestSite};

    const STREAM: &str = "/api/backend/events/stream";

    /// What comes in, in words.
    struct Reader(UnboundedReceiver<Incoming>);

    impl Reader {
        async fn next(&mut self) -> String {
            let next = tokio::time::timeout(Duration::from_secs(20), self.0.recv()).await;
            match next.expect("something in time") {
                Some(Incoming::Happened(event, _)) => event,
                Some(Incoming::Msg(Msg::Live(true))) => "live".to_owned(),
                Some(Incoming::Msg(Msg::Live(false))) => "not live".to_owned(),
                _ => panic!("neither an event nor its end"),
            }
        }

        async fn some(&mut self, count: usize) -> Vec<String> {
            let mut some = Vec::new();
            for _ in 0..count {
                some.push(self.next().await);
            }
            some
        }

        async fn rests(&mut self) {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            assert!(self.0.is_empty(), "{}", self.next().await);
        }
    }

    /// A served site, and a reader of its stream who may read its records.
    async fn followed() -> (TestSite, Served, Reader, JoinHandle<()>) {
        let site = TestSite::open().await;
        let rights = [STREAM, ITEM].map(|path| json!({"endpoint": path, "methods": ["GET"]}));
        let key = site.key("reader", json!({"rights": rights})).await;
        let served = site.serve("127.0.0.1:0").await;
        let (sender, receiver) = unbounded_channel();
        let follow = follow(served.client(&key), sender);
        let mut reader = Reader(receiver);
        assert_eq!(reader.next().await, "live");
        (site, served, reader, follow)
    }

    async fn change(site: &TestSite, ask: Ask, title: &str) {
        let ask = ask.query("table", "posts").query("id", 1);
        site.does(ask, json!({"title": title})).await;
        site.clock.advance(1_000);
    }

    async fn post(site: &TestSite) {
        site.post("Post").await;
        site.clock.advance(1_000);
    }

    const ITEM: &str = "/api/backend/item";

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_restart_of_the_service_skips_and_repeats_nothing() {
        let (site, served, mut reader, follow) = followed().await;
        post(&site).await;
        change(&site, Ask::patch(ITEM), "A").await;
        assert_eq!(reader.some(2).await, ["item.posts.created", "item.posts.updated"]);
        let address = served.address.clone();
        served.stop().await;
        assert_eq!(reader.next().await, "not live");
        // What happens while nobody serves is not missed.
        let site = site.again().await;
        change(&site, Ask::patch(ITEM), "B").await;
        site.client()
            .send(Ask::delete(ITEM).query("table", "posts").query("id", 1))
            .await
            .expect("gone");
        site.clock.advance(1_000);
        let served = site.serve(&address).await;
        let expected = ["live", "item.posts.updated", "item.posts.deleted"];
        assert_eq!(reader.some(3).await, expected);
        post(&site).await;
        assert_eq!(reader.next().await, "item.posts.created");
        reader.rests().await;
        follow.abort();
        served.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_slow_reader_holds_few_events_and_misses_none() {
        let (site, served, mut reader, follow) = followed().await;
        let many: Vec<Json> = (0..500).map(|n| json!({"title": n.to_string()})).collect();
        site.does(Ask::post(ITEM).query("table", "posts"), json!(many)).await;
        site.clock.advance(1_000);
        while reader.0.len() < WAITING {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        assert_eq!(reader.0.len(), WAITING, "the others wait at the service");
        assert!(reader.some(500).await.iter().all(|event| event == "item.posts.created"));
        reader.rests().await;
        follow.abort();
        served.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_reader_whose_right_is_gone_sees_nothing_more() {
        let (site, served, mut reader, follow) = followed().await;
        post(&site).await;
        assert_eq!(reader.next().await, "item.posts.created");
        // The right to the table goes: the stream stays, its events do not come.
        let patch = || Ask::patch("/api/backend/keys").query("id", 1);
        let stream = json!([{"endpoint": STREAM, "methods": ["GET"]}]);
        site.does(patch(), json!({"rights": stream})).await;
        post(&site).await;
        site.does(patch(), json!({"active": false})).await;
        post(&site).await;
        assert_eq!(reader.next().await, "not live");
        post(&site).await;
        tokio::time::sleep(AGAIN).await;
        reader.rests().await;
        follow.abort();
        served.stop().await;
    }
}
