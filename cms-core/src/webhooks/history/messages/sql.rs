//! Recorded events as people see them.

use crate::{
    Error, Result, args,
    db::{Db, FromRow, Row, statements},
    ground::clock,
    webhooks::history::messages::{Message, MessageDetail, MessageFilter, Pattern, Place},
};

statements! {
    NEWEST = "select e.id, e.name, e.created_at, (select count(*) from cms_webhook_queue q where q.event_id = e.id) from cms_events e \
              where (e.created_at, e.id) < ($1, $2) and e.created_at >= $4 and (cast($5 as text) is null or e.name = $5) \
              and (cast($6 as text) is null or substr(e.name, 1, length($6)) = $6) order by e.created_at desc, e.id desc limit $3";
    OLDEST = "select e.id, e.name, e.created_at, (select count(*) from cms_webhook_queue q where q.event_id = e.id) from cms_events e \
              where (e.created_at, e.id) > ($1, $2) and e.created_at >= $4 and (cast($5 as text) is null or e.name = $5) \
              and (cast($6 as text) is null or substr(e.name, 1, length($6)) = $6) order by e.created_at, e.id limit $3";
    GET = "select e.id, e.name, e.created_at, (select count(*) from cms_webhook_queue q where q.event_id = e.id), e.body, e.removed \
           from cms_events e where e.id = $1";
}

impl FromRow for Message {
    fn from_row(row: &Row) -> Result<Self> {
        let at = row.get(2)?;
        Ok(Self {
            id: row.get(0)?,
            event: row.get(1)?,
            created_at: clock::rfc3339(at),
            jobs: row.get(3)?,
            at,
        })
    }
}

impl FromRow for MessageDetail {
    fn from_row(row: &Row) -> Result<Self> {
        let json = |text: &str| serde_json::from_str(text).map_err(Error::internal);
        let removed: Option<String> = row.get(5)?;
        Ok(Self {
            message: Message::from_row(row)?,
            payload: json(&row.get::<String>(4)?)?,
            removed: json(removed.as_deref().unwrap_or("[]"))?,
        })
    }
}

/// Those after `place`, in the order that the filter asks for.
pub(in crate::webhooks) async fn list(
    db: &Db,
    filter: &MessageFilter,
    pattern: &Pattern,
    (at, id): Place,
    limit: i64,
) -> Result<Vec<Message>> {
    let sql = if filter.oldest_first { OLDEST } else { NEWEST };
    db.all(sql, args![at, id, limit, filter.since, pattern.name.clone(), pattern.beginning.clone()])
        .await
}

pub(in crate::webhooks) async fn get(db: &Db, id: &str) -> Result<Option<MessageDetail>> {
    db.optional(GET, args![id]).await
}
