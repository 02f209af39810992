//! Statements that follow events.

use super::{Happened, Pattern, Position, data};
use crate::{
    Millis, Result,
    db::{Db, args, record, statements},
};

record! { Happened: happened_columns {
    id: "e.id",
    event: "e.name",
    data: "e.body" => data,
    at: "e.created_at",
} }

statements! {
    /// After the position `$1`, `$2` and not later than `$3`.
    NEXT = concat!(
        "select ", happened_columns!(), " from cms_events e \
         where (e.created_at, e.id) > ($1, $2) and e.created_at <= $3 \
         and (cast($5 as text) is null or e.name = $5) \
         and (cast($6 as text) is null or substr(e.name, 1, length($6)) = $6) \
         order by e.created_at, e.id limit $4"
    );
    MOMENT = "select e.created_at from cms_events e where e.id = $1";
}

pub(super) async fn next(
    db: &Db,
    pattern: &Pattern,
    (at, id): &Position,
    until: Millis,
    limit: i64,
) -> Result<Vec<Happened>> {
    let (name, beginning) = (pattern.name.clone(), pattern.beginning.clone());
    db.all(NEXT, args![*at, id, until, limit, name, beginning]).await
}

/// When an event happened; None: it is not there.
pub(super) async fn moment(db: &Db, id: &str) -> Result<Option<Millis>> {
    let found: Option<(Millis,)> = db.optional(MOMENT, args![id]).await?;
    Ok(found.map(|(at,)| at))
}
