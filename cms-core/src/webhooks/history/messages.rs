//! Recorded events, with or without subscriptions; and which subscriptions would get an event, with
//! the delivery that they would get. Nothing is written or sent for that.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    Code, Direction, Error, Millis, Page, Paging, Result,
    events::{body, is_name, judge_data},
    ground::ListName,
    items::Query,
    webhooks::{
        Webhooks,
        deliver::request::{AttemptHeaders, headers},
        rules::matches,
        subscriptions::{
            Subscription,
            catalogue::{self, unknown_event},
        },
    },
};

/// The delivery that would be sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Explained {
    /// The event.
    pub event: String,
    /// The exact body, except `id` and `created_at`, which differ for each event; null without
    /// data.
    pub body: Option<String>,
    /// The headers; `<…>` describes values that differ for each delivery. Custom headers come
    /// after these.
    pub headers: BTreeMap<String, String>,
    /// Paths in `data` that the payload filter removes; null without data.
    pub removed: Option<Vec<String>>,
}

/// A subscription, and what would happen to the event there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Considered {
    /// The subscription.
    #[serde(flatten)]
    pub subscription: Subscription,
    /// `sent`, `held` or `not_matched`.
    pub outcome: String,
    /// The reason as a sentence.
    pub reason: String,
}

impl Webhooks {
    /// The delivery that this event would cause, and the subscriptions that would get it: by id, a
    /// page at a time.
    ///
    /// Signs nothing: the caller must not get signatures for events that never happened.
    ///
    /// # Errors
    /// `unknown_event`; as [`Webhooks::judge`] for data that does not fit, except that missing data
    /// asks only for the subscriptions.
    pub async fn explain(
        &self,
        event: &str,
        data: Map<String, Json>,
        paging: &Paging,
    ) -> Result<(Explained, Page<Considered>)> {
        if catalogue::sql::named(self.0.base.db(), event).await?.is_empty() {
            return Err(unknown_event("event".to_owned(), event));
        }
        let data = (!data.is_empty()).then_some(Json::Object(data));
        if let Some(data) = &data {
            judge_data(event, data)?;
        }
        let Paging { limit, cursor, count, .. } = paging.clone();
        let subscriptions = self
            .list(&Query { limit, cursor, count, ..Query::default() })
            .await?
            .map(|subscription| considered(subscription, event));
        let id = self.0.base.random().uuid_v7(self.0.base.clock())?;
        let now = self.0.base.clock().now();
        let (body, removed) = data.map(|data| body(&id, event, now, data)).unzip();
        let attempt = AttemptHeaders {
            delivery: "<id of the job>",
            id: &id,
            timestamp: "<seconds at the attempt>",
            simple: "<lower-case hex HMAC-SHA256 of the body, keyed with the secret as it was \
                     shown>",
            standard: "<v1,base64 HMAC-SHA256 of id.timestamp.body, keyed with the decoded secret>",
        };
        let headers = headers(&self.0.base, event, &attempt).into_iter().collect();
        Ok((Explained { event: event.to_owned(), body, headers, removed }, subscriptions))
    }
}

fn considered(subscription: Subscription, event: &str) -> Considered {
    let entry = subscription.events.iter().find(|entry| matches(entry, event));
    let (outcome, reason) = match (entry, subscription.active) {
        (None, _) => {
            ("not_matched", format!("no entry matches: {}", subscription.events.join(", ")))
        }
        (Some(entry), true) => ("sent", format!("{entry} matches")),
        (Some(entry), false) => {
            let why = subscription.disabled_reason.as_deref().unwrap_or("switched off");
            ("held", format!("{entry} matches; not active ({why}): held until it is activated"))
        }
    };
    Considered { subscription, outcome: outcome.to_owned(), reason }
}

/// A recorded event.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Message {
    /// Its id; receivers see it as `webhook-id`.
    pub id: String,
    /// Its name.
    pub event: String,
    /// When it happened: RFC 3339 in UTC.
    pub created_at: String,
    /// Jobs in the queue for it now; delivered jobs leave the queue after `retention.queue_h`.
    pub jobs: i64,
    #[serde(skip)]
    at: Millis,
}

/// A recorded event with its payload.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MessageDetail {
    /// The event.
    #[serde(flatten)]
    pub message: Message,
    /// The body that deliveries send.
    pub payload: Json,
    /// Paths of the members that the payload filter removed.
    pub removed: Json,
}

/// Selects recorded events.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MessageFilter {
    /// A name, or the beginning of names followed by `*`.
    pub event: Option<String>,
    /// Only events of this time or later, in milliseconds.
    pub since: Millis,
}

/// Where an event stands in a list: its time, then its id.
type Position = (Millis, String);

impl Webhooks {
    /// Recorded events, newest first (backward: oldest first), a page at a time. They are kept for
    /// `retention.events_days`, longer while a job waits.
    ///
    /// # Errors
    /// `bad_query` for a cursor that is not from here, or for a pattern with `*` anywhere but at
    /// the end.
    pub async fn messages(&self, filter: &MessageFilter, paging: &Paging) -> Result<Page<Message>> {
        let first = match paging.direction {
            Direction::Forward => i64::MAX,
            Direction::Backward => i64::MIN,
        };
        let pattern = filter.event.as_deref().map(pattern).transpose()?.unwrap_or_default();
        let read = async |after: Option<Position>, limit| {
            let position = after.unwrap_or((first, String::new()));
            let (db, direction) = (self.0.base.db(), paging.direction);
            sql::list(db, filter, &pattern, direction, position, limit).await
        };
        let key =
            |message: &Message| [&message.at.to_be_bytes()[..], message.id.as_bytes()].concat();
        let list = self.0.base.list(ListName::Messages).of((&filter.event, filter.since));
        let page = Page::by_key(list, paging, position, read, key).await?;
        let count = async || sql::count(self.0.base.db(), filter, &pattern).await;
        page.counted(paging, count).await
    }

    /// One recorded event with its payload.
    pub async fn message(&self, id: &str) -> Result<MessageDetail> {
        let missing = || {
            Error::new(
                Code::NotFound,
                format!("There is no event with id {id:?}, or retention has removed it."),
            )
        };
        if !is_name(id) {
            return Err(missing());
        }
        sql::get(self.0.base.db(), id).await?.ok_or_else(missing)
    }
}

/// Which event names a filter matches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The exact name.
    pub(super) name: Option<String>,
    /// The beginning of the name.
    pub(super) beginning: Option<String>,
}

pub(super) fn pattern(text: &str) -> Result<Pattern> {
    let (beginning, is_beginning) =
        text.strip_suffix('*').map_or((text, false), |beginning| (beginning, true));
    if !is_name(text) || beginning.contains('*') {
        let detail = "event is a name such as order.created, or the beginning of names and *, such \
                      as item.blog.*";
        return Err(Error::new(Code::BadQuery, format!("{detail}.")));
    }
    let text = Some(beginning.to_owned());
    Ok(if is_beginning {
        Pattern { beginning: text, name: None }
    } else {
        Pattern { name: text, beginning: None }
    })
}

fn position(bytes: &[u8]) -> Option<Position> {
    let (at, id) = bytes.split_at_checked(8)?;
    let id = String::from_utf8(id.to_vec()).ok().filter(|id| is_name(id))?;
    Some((i64::from_be_bytes(at.try_into().ok()?), id))
}

/// Statements of recorded events.
pub(in crate::webhooks) mod sql {
    use super::{Message, MessageDetail, MessageFilter, Pattern, Position};
    use crate::{
        Direction, Result,
        db::{Db, Value, args, read, record, statements},
        ground::clock,
    };

    record! { Message: message_columns {
        id: "e.id",
        event: "e.name",
        at: "e.created_at",
        jobs: "(select count(*) from cms_webhook_queue q where q.event_id = e.id)";
        created_at: clock::rfc3339(at),
    } }

    record! { MessageDetail: detail_columns {
        message: (message_columns),
        payload: "e.body" => read::json,
        removed: "e.removed" => removed,
    } }

    /// Matches events since `$4`, with the name `$5`, or with a name that begins with `$6`.
    macro_rules! filtered {
        () => {
            "e.created_at >= $4 and (cast($5 as text) is null or e.name = $5) \
             and (cast($6 as text) is null or substr(e.name, 1, length($6)) = $6)"
        };
    }

    statements! {
        NEWEST = concat!(
            "select ", message_columns!(), " from cms_events e where (e.created_at, e.id) < ($1, \
             $2) and ", filtered!(), " order by e.created_at desc, e.id desc limit $3"
        );
        OLDEST = concat!(
            "select ", message_columns!(), " from cms_events e where (e.created_at, e.id) > ($1, \
             $2) and ", filtered!(), " order by e.created_at, e.id limit $3"
        );
        GET = concat!("select ", detail_columns!(), " from cms_events e where e.id = $1");
    }

    /// Paths that the payload filter removed.
    fn removed(text: Option<String>) -> Result<serde_json::Value> {
        read::json(text.unwrap_or_else(|| "[]".to_owned()))
    }

    /// Events after the position, in the given direction.
    pub(super) async fn list(
        db: &Db,
        filter: &MessageFilter,
        pattern: &Pattern,
        direction: Direction,
        (at, id): Position,
        limit: i64,
    ) -> Result<Vec<Message>> {
        let sql = match direction {
            Direction::Forward => NEWEST,
            Direction::Backward => OLDEST,
        };
        db.all(sql, selected(filter, pattern, (at, id), limit)).await
    }

    /// The number of events that a filter matches.
    pub(super) async fn count(db: &Db, filter: &MessageFilter, pattern: &Pattern) -> Result<i64> {
        let start = (i64::MIN, String::new());
        db.count_rows(OLDEST, selected(filter, pattern, start, i64::MAX)).await
    }

    fn selected(
        filter: &MessageFilter,
        pattern: &Pattern,
        (at, id): Position,
        limit: i64,
    ) -> Vec<Value> {
        args![at, id, limit, filter.since, pattern.name.clone(), pattern.beginning.clone()]
    }

    pub(super) async fn get(db: &Db, id: &str) -> Result<Option<MessageDetail>> {
        db.optional(GET, args![id]).await
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, pattern, position};

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
            assert_eq!(position(bytes), None, "{bytes:?}");
        }
        assert_eq!(position(b"\0\0\0\0\0\0\0\x07abc"), Some((7, "abc".to_owned())));
    }
}
