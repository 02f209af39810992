//! Events that were recorded, whether anybody listens or not.

pub(in crate::webhooks) mod sql;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{
    Code, Direction, Error, Millis, Page, Paging, Result, events::is_name, ground::ListName,
    webhooks::Webhooks,
};

/// A recorded event.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its id; receivers see it as `webhook-id`.
    pub id: String,
    /// Its name.
    pub event: String,
    /// When it happened: RFC 3339 in UTC.
    pub created_at: String,
    /// Jobs that are in the queue for it now; delivered ones leave it after a day.
    pub jobs: i64,
    #[serde(skip)]
    pub(in crate::webhooks) at: Millis,
}

/// A recorded event with what is sent of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessageDetail {
    /// The event.
    #[serde(flatten)]
    pub message: Message,
    /// The body of its deliveries.
    pub payload: Json,
    /// Paths of members that the payload filter took out.
    pub removed: Json,
}

/// Which recorded events.
#[derive(Clone, Debug, Default)]
pub struct MessageFilter {
    /// A name, or the beginning of names and `*`.
    pub event: Option<String>,
    /// Not older, in milliseconds.
    pub since: Millis,
}

/// The place of an event in a list: when it happened, then its id.
pub(in crate::webhooks) type Place = (Millis, String);

impl Webhooks {
    /// Recorded events, newest first (backward: oldest first), a page at a time. They are kept for `retention.events_days`, longer while a
    /// job waits.
    ///
    /// # Errors
    /// `bad_query` for a cursor that is not from here, or a pattern that has its `*` elsewhere than
    /// at the end.
    pub async fn messages(&self, filter: &MessageFilter, paging: &Paging) -> Result<Page<Message>> {
        let first = match paging.direction {
            Direction::Forward => i64::MAX,
            Direction::Backward => i64::MIN,
        };
        let pattern = filter.event.as_deref().map(pattern).transpose()?.unwrap_or_default();
        let read = async |after: Option<Place>, limit| {
            let place = after.unwrap_or((first, String::new()));
            let (db, direction) = (self.0.base.db(), paging.direction);
            sql::list(db, filter, &pattern, direction, place, limit).await
        };
        let key =
            |message: &Message| [&message.at.to_be_bytes()[..], message.id.as_bytes()].concat();
        Page::by_key(ListName::Messages, paging, place, read, key).await
    }

    /// One recorded event with its payload.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn message(&self, id: &str) -> Result<MessageDetail> {
        let missing = || {
            Error::new(
                Code::NotFound,
                format!("There is no event with id {id:?}, or its time is over."),
            )
        };
        if !is_name(id) {
            return Err(missing());
        }
        sql::get(self.0.base.db(), id).await?.ok_or_else(missing)
    }
}

/// What names of events must be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::webhooks) struct Pattern {
    /// Exactly this.
    pub(in crate::webhooks) name: Option<String>,
    /// Or begin like this.
    pub(in crate::webhooks) beginning: Option<String>,
}

fn pattern(text: &str) -> Result<Pattern> {
    let (beginning, is_beginning) =
        text.strip_suffix('*').map_or((text, false), |beginning| (beginning, true));
    if !is_name(text) || beginning.contains('*') {
        let detail = "event is a name such as order.created, or the beginning of names and *, such as item.blog.*";
        return Err(Error::new(Code::BadQuery, format!("{detail}.")));
    }
    let text = Some(beginning.to_owned());
    Ok(if is_beginning {
        Pattern { beginning: text, name: None }
    } else {
        Pattern { name: text, beginning: None }
    })
}

fn place(bytes: &[u8]) -> Option<Place> {
    let (at, id) = bytes.split_at_checked(8)?;
    let id = String::from_utf8(id.to_vec()).ok().filter(|id| is_name(id))?;
    Some((i64::from_be_bytes(at.try_into().ok()?), id))
}

#[cfg(test)]
mod tests {
    use super::{Pattern, pattern, place};

    #[test]
    fn patterns_are_names_and_beginnings() {
        let exact = |name: &str| Some(Pattern { name: Some(name.to_owned()), beginning: None });
        let begins = |text: &str| Some(Pattern { name: None, beginning: Some(text.to_owned()) });
        for (text, expected) in [
            ("order.created", exact("order.created")),
            ("item.blog.*", begins("item.blog.")),
            ("*", begins("")),
            ("", None),
            ("item.*.created", None),
            ("**", None),
            ("a\0", None),
        ] {
            assert_eq!(pattern(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn no_cursor_panics() {
        for bytes in [&b""[..], b"1234567", b"12345678", b"12345678\xff", b"12345678\0"] {
            assert_eq!(place(bytes), None, "{bytes:?}");
        }
        assert_eq!(place(b"\0\0\0\0\0\0\0\x07abc"), Some((7, "abc".to_owned())));
    }
}
