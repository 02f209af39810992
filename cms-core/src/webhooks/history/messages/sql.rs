//! Statements of recorded events.

use super::{Message, MessageDetail, MessageFilter, Pattern, Position};
use crate::{
    Direction, Result,
    db::{Db, args, read, record, statements},
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
        "select ", message_columns!(), " from cms_events e where (e.created_at, e.id) < ($1, $2) \
         and ", filtered!(), " order by e.created_at desc, e.id desc limit $3"
    );
    OLDEST = concat!(
        "select ", message_columns!(), " from cms_events e where (e.created_at, e.id) > ($1, $2) \
         and ", filtered!(), " order by e.created_at, e.id limit $3"
    );
    GET = concat!("select ", detail_columns!(), " from cms_events e where e.id = $1");
}

/// Paths that the payload filter removed.
fn removed(text: Option<String>) -> Result<serde_json::Value> {
    read::json(text.unwrap_or_else(|| "[]".to_owned()))
}

/// Events after the position, in the given direction.
pub(in crate::webhooks) async fn list(
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
    db.all(sql, args![at, id, limit, filter.since, pattern.name.clone(), pattern.beginning.clone()])
        .await
}

pub(in crate::webhooks) async fn get(db: &Db, id: &str) -> Result<Option<MessageDetail>> {
    db.optional(GET, args![id]).await
}
