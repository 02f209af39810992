//! `/api/backend/events/stream`: events as they happen, as server-sent events (HTML standard,
//! 9.2.6)

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Clock, Cms, Result, webhooks::Feed};
use futures_util::{StreamExt as _, stream};
use http::{HeaderName, header};

use crate::{
    call::Call,
    caller::Caller,
    reauthorizer::Reauthorizer,
    streams::StreamPermit,
    success::Success,
    wire::{Text, stream::Followed},
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells proxies such as nginx not to buffer the reply.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Time between two checks of the caller, the clock and new events.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn follow(call: &Call<'_>, asked: Followed) -> Result<Success<Text>> {
    let last = call.request.header(&LAST_EVENT_ID)?.filter(|id| !id.is_empty());
    let place = call.streams.open(call.caller().repeats_as().unwrap_or_default())?;
    let feed = call.cms.webhooks().feed(asked.event.as_deref(), last).await?;
    let (caller, has_gap) = (Reauthorizer::of(call), feed.has_gap());
    let (cms, clock) = (call.cms.clone(), call.cms.clock().clone());
    let following = Following { spoke: clock.now(), cms, clock, feed, caller, place };
    let gap = last.filter(|_| has_gap).map(|last| Ok(Bytes::from(gap_event(last))));
    let beginning = [Ok(Bytes::from_static(BEGINNING.as_bytes()))];
    let beginning = stream::iter(beginning.into_iter().chain(gap));
    let parts = stream::unfold(following, |mut following| async move {
        Some((Ok(Bytes::from(following.next().await?)), following))
    });
    Ok(Success::streamed(beginning.chain(parts).boxed())
        .with(header::CACHE_CONTROL, "no-store")
        .with(BUFFERING, "no"))
}

/// One open stream. It reads events only when its client takes more.
struct Following {
    cms: Cms,
    clock: Clock,
    feed: Feed,
    caller: Reauthorizer,
    place: StreamPermit,
    /// When the stream last sent something.
    spoke: i64,
}

impl Following {
    /// The next text to send. None: the stream ends; its client may reconnect and go on.
    async fn next(&mut self) -> Option<String> {
        loop {
            let text = self.news().await.inspect_err(|why| tracing::debug!(%why, "a stream ends"));
            let (read, text) = text.ok()?;
            if !text.is_empty() {
                return self.send(text);
            }
            // The clock may have been set back.
            let quiet = self.spoke..self.spoke + HEARTBEAT_S * 1000;
            if !quiet.contains(&self.clock.now()) {
                return self.send(HEARTBEAT.to_owned());
            }
            let pause = if read { Duration::ZERO } else { PAUSE };
            tokio::select! {
                () = self.place.ended() => return None,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    fn send(&mut self, text: String) -> Option<String> {
        self.spoke = self.clock.now();
        Some(text)
    }

    /// Whether events were read, and the text of those that the caller may see. Judges the caller
    /// after the read, so that nothing is sent that happened after a revocation.
    async fn news(&mut self) -> Result<(bool, String)> {
        let happened = self.feed.next().await?;
        let caller = self.caller.caller().await?;
        let mut text = String::new();
        for one in &happened {
            if may_see(&self.cms, &caller, &one.event) {
                write_event(&mut text, &one.id, &one.event, &one.data);
            }
        }
        Ok((!happened.is_empty(), text))
    }
}

/// Events of items need the right to read the table, all others the right to subscribe
/// to everything.
fn may_see(cms: &Cms, caller: &Caller, event: &str) -> bool {
    let table = event.strip_prefix("item.").and_then(|rest| rest.rsplit_once('.'));
    let readable = |table: &str| cms.tables().find(table).is_some() && caller.may_read(cms, table);
    caller.may_see_payloads(cms) || table.is_some_and(|(table, _)| readable(table))
}

/// Seconds of silence after which a comment shows that the connection lives.
const HEARTBEAT_S: i64 = 15;
/// A comment: clients ignore it.
const HEARTBEAT: &str = ": \n\n";
/// The first line of a stream: how many milliseconds clients wait before they reconnect.
const BEGINNING: &str = "retry: 2000\n\n";

/// Reports that events may be missing, because the one to go on after was not found. The event
/// has no id, so that a client that breaks off here sends the same id again.
fn gap_event(last: &str) -> String {
    let data = serde_json::json!({"last_event_id": last});
    format!("event: stream.gap\ndata: {data}\n\n")
}

/// Writes an event. `id` and `event` hold no line ends; data of several lines are kept.
fn write_event(text: &mut String, id: &str, event: &str, data: &str) {
    for part in ["id: ", id, "\nevent: ", event, "\n"] {
        text.push_str(part);
    }
    // All three forms of a line end would end the field.
    for line in data.split("\r\n").flat_map(|line| line.split(['\r', '\n'])) {
        for part in ["data: ", line, "\n"] {
            text.push_str(part);
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    #[test]
    fn data_of_several_lines_stay_one_event() {
        let mut text = String::new();
        super::write_event(&mut text, "7", "a.b", "one\r\ntwo\rthree\n\nfive");
        assert_eq!(
            text,
            "id: 7\nevent: a.b\ndata: one\ndata: two\ndata: three\ndata: \ndata: five\n\n"
        );
    }
}
