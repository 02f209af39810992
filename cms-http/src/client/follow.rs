//! Server-sent events, read as they come.

use std::time::Duration;

use futures_util::StreamExt as _;

use super::{Ask, Client, ClientError, stream::Parts};
use crate::wire::{NoBody, stream::Follow, stream::Followed};

/// The service speaks at least every 15 seconds.
const SILENCE: Duration = Duration::from_secs(45);
/// An event that is larger is not one of this service's.
const LARGEST: usize = 64 << 20;

/// An event as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Happened {
    /// To go on after: `Last-Event-ID`. `stream.gap` has none.
    pub id: Option<String>,
    /// Its name.
    pub event: String,
    /// The body that a delivery would have.
    pub data: String,
}

/// A stream that is open. It ends when the service stops; open another one then.
pub struct Following {
    parts: Parts,
    unread: Vec<u8>,
}

impl Client {
    /// Follows events, those after `last` first.
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
    /// [`ClientError`] when it broke off, or was silent for too long.
    pub async fn next(&mut self) -> Option<Result<Happened, ClientError>> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                match read(&String::from_utf8_lossy(&block)) {
                    Some(happened) => return Some(Ok(happened)),
                    // A comment, or a wish about reconnecting.
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

/// One event of the format (HTML standard, 9.2.6), as this service writes it.
fn read(block: &str) -> Option<Happened> {
    let (mut happened, mut data) = (Happened::default(), Vec::new());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_comments_are_not() {
        let happened = read("id: 7\nevent: a.b\ndata: one\ndata: two\n\n").expect("an event");
        assert_eq!((happened.id.as_deref(), happened.data.as_str()), (Some("7"), "one\ntwo"));
        assert_eq!(read(": \n\n"), None);
        assert_eq!(read("retry: 2000\n\n"), None);
        assert_eq!(read("event: stream.gap\ndata: {}\n\n").expect("an event").id, None);
    }
}
