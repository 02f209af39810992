//! Replies read part by part, server-sent events, and uploads sent part by part.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use cms_core::Random;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderValue, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};

use super::{Answer, Ask, Client, ClientError, local, local_request, retry_after};
use crate::wire::{
    NoBody,
    stream::{Follow, Followed},
};

/// The parts of a reply's body.
pub type Parts = Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>> + Send>>;

impl Client {
    /// Makes the call once, for a reply that is too large for memory or never ends.
    ///
    /// # Errors
    /// [`ClientError`], also for every status that is not 2xx. If the reply breaks off, its last
    /// part is an error.
    pub async fn stream(&self, ask: &Ask) -> Result<Parts, ClientError> {
        match self {
            Self::Local(api) | Self::LocalAs(api, _) => {
                let credential = match self {
                    Self::LocalAs(_, credential) => Some(credential),
                    _ => None,
                };
                let request = local_request(ask, credential)?;
                let (parts, body) = api.handle(request).await.into_parts();
                if !parts.status.is_success() {
                    let text = body.collect().await.map(|all| all.to_bytes()).unwrap_or_default();
                    let text = String::from_utf8_lossy(&text);
                    let problem = ClientError::problem(parts.status, &text);
                    return Err(problem.after(retry_after(&parts.headers)));
                }
                let broken = |_| ClientError::Unreachable("the stream broke off".to_owned());
                Ok(body.into_data_stream().map(move |part| part.map_err(broken)).boxed())
            }
            Self::Remote(remote) => {
                let mut response = remote.open(ask).await?;
                if !response.status().is_success() {
                    let (status, after) = (response.status(), retry_after(response.headers()));
                    let text = response.text().await.unwrap_or_default();
                    return Err(ClientError::problem(status, &text).after(after));
                }
                let broken = |e: reqwest::Error| ClientError::Unreachable(e.to_string());
                Ok(Box::pin(stream::poll_fn(move |context| {
                    let chunk = std::pin::pin!(response.chunk());
                    chunk.poll(context).map(|part| part.map_err(broken).transpose())
                })))
            }
        }
    }
}

/// The longest silence of a stream; the service sends something at least every 15 seconds.
const SILENCE: Duration = Duration::from_secs(45);
/// The largest event that is read; this service sends no larger ones.
const LARGEST: usize = 64 << 20;

/// An event as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamEvent {
    /// The id to go on after, in `Last-Event-ID`. `stream.gap` has none.
    pub id: Option<String>,
    /// Its name.
    pub event: String,
    /// The body that a delivery would have.
    pub data: String,
}

/// An open stream. It ends when the service stops; then open another one.
pub struct Following {
    parts: Parts,
    unread: Vec<u8>,
}

impl Client {
    /// Follows events, beginning with those after `last`.
    ///
    /// # Errors
    /// [`ClientError`], when the stream cannot be opened.
    pub async fn follow(
        &self,
        which: &Followed,
        last: Option<&str>,
    ) -> Result<Following, ClientError> {
        let mut ask = Ask::of::<Follow>(which, &NoBody)?;
        ask.last_event_id = last.map(str::to_owned);
        Ok(Following { parts: self.stream(&ask).await?, unread: Vec::new() })
    }
}

impl Following {
    /// The next event. None: the stream has ended.
    ///
    /// # Errors
    /// [`ClientError`] when the stream broke off, or was silent for too long.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                match happened(&String::from_utf8_lossy(&block)) {
                    Some(happened) => return Some(Ok(happened)),
                    // A comment, or a `retry` line.
                    None => continue,
                }
            }
            let Ok(part) = tokio::time::timeout(SILENCE, self.parts.next()).await else {
                return Some(Err(ClientError::Unreachable("the stream fell silent".to_owned())));
            };
            match part? {
                Ok(part) if self.unread.len() + part.len() <= LARGEST => {
                    self.unread.extend_from_slice(&part);
                }
                Ok(_) => {
                    let why = "an event is larger than 64 MiB".to_owned();
                    return Some(Err(ClientError::Unexpected(why)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Parses one event (HTML standard, 9.2.6), as this service writes it.
fn happened(block: &str) -> Option<StreamEvent> {
    let (mut happened, mut data) = (StreamEvent::default(), Vec::new());
    for line in block.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => happened.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut happened.event),
            "data" => data.push(value),
            _ => {}
        }
    }
    happened.data = data.join("\n");
    (!happened.event.is_empty()).then_some(happened)
}

/// A file to be sent.
pub struct Outgoing<S> {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its content.
    pub parts: S,
}

impl Client {
    /// Sends a form with fields and a file. The file is never whole in memory.
    ///
    /// # Errors
    /// [`ClientError`], also for every status that is not 2xx. A part that cannot be read
    /// ends the call.
    pub async fn upload<S>(
        &self,
        ask: &Ask,
        fields: &[(&str, &str)],
        file: Outgoing<S>,
    ) -> Result<Answer, ClientError>
    where
        S: Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    {
        let boundary = Random::system().uuid_v4().map_err(unmade)?;
        let (head, tail) = around(&boundary, fields, &file.name);
        let length = (head.len() + tail.len()) as u64 + file.size;
        let kind = format!("multipart/form-data; boundary={boundary}");
        let kind = HeaderValue::from_str(&kind).map_err(unmade)?;
        let one = |text: String| stream::iter([Ok(Bytes::from(text))]);
        let parts = one(head).chain(file.parts).chain(one(tail));
        let (status, retry_after, answer) = match self {
            Self::Local(api) | Self::LocalAs(api, _) => {
                let credential = match self {
                    Self::LocalAs(_, credential) => Some(credential),
                    _ => None,
                };
                let (mut head, _) = local_request(ask, credential)?.into_parts();
                head.headers.insert(header::CONTENT_TYPE, kind);
                let body = StreamBody::new(parts.map_ok(Frame::data));
                let request = http::Request::from_parts(head, Box::pin(body));
                local(api, request).await?
            }
            Self::Remote(remote) => {
                let body = reqwest::Body::wrap_stream(parts);
                remote.upload(ask, kind, length, body).await?
            }
        };
        match status.is_success() {
            true => Ok(answer),
            false => Err(ClientError::problem(status, &answer.body).after(retry_after)),
        }
    }
}

/// The body before and behind the file.
fn around(boundary: &str, fields: &[(&str, &str)], name: &str) -> (String, String) {
    // As browsers write them (HTML, 4.10.21.8).
    let escaped = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let line = |what: String| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name={what}\r\n\r\n")
    };
    let mut head = String::new();
    for (name, value) in fields {
        head += &line(format!("\"{}\"", escaped(name)));
        head += &format!("{value}\r\n");
    }
    head += &line(format!("\"file\"; filename=\"{}\"", escaped(name)));
    (head, format!("\r\n--{boundary}--\r\n"))
}

fn unmade(error: impl std::fmt::Display) -> ClientError {
    ClientError::Unexpected(format!("the form cannot be made: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_comments_are_not() {
        let event = happened("id: 7\nevent: a.b\ndata: one\ndata: two\n\n").expect("an event");
        assert_eq!((event.id.as_deref(), event.data.as_str()), (Some("7"), "one\ntwo"));
        assert_eq!(happened(": \n\n"), None);
        assert_eq!(happened("retry: 2000\n\n"), None);
        assert_eq!(happened("event: stream.gap\ndata: {}\n\n").expect("an event").id, None);
    }
}
