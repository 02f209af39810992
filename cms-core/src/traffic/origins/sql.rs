//! The statements of origins and the functions that run them.

use super::Origin;
use crate::{
    Code, Error, Result, args,
    change::{Change, is_unique_violation},
    db::{Db, FromRow, Row},
    ground::clock,
};

crate::db::statements! {
    INSERT = "insert into cms_origins (origin, active, created_at) values ($1, $2, $3) returning id";
    ACTIVE = "select origin from cms_origins where active";
    LIST = "select id, origin, active, created_at from cms_origins where id > $1 order by id limit $2";
    GET = "select id, origin, active, created_at from cms_origins where id = $1";
    UPDATE = "update cms_origins set origin = $2, active = $3 where id = $1";
    DELETE = "delete from cms_origins where id = $1";
}

impl FromRow for Origin {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            origin: row.get(1)?,
            active: row.get(2)?,
            created_at: clock::rfc3339(row.get(3)?),
        })
    }
}

pub(super) async fn active(db: &Db) -> Result<Vec<(String,)>> {
    db.all(ACTIVE, Vec::new()).await
}

pub(super) async fn list(db: &Db, after: i64, limit: i64) -> Result<Vec<Origin>> {
    db.all(LIST, args![after, limit]).await
}

pub(super) async fn get(db: &Db, id: i64) -> Result<Option<Origin>> {
    db.optional(GET, args![id]).await
}

pub(super) async fn get_in(change: &mut Change, id: i64) -> Result<Option<Origin>> {
    change.optional(GET, args![id]).await
}

pub(super) async fn insert(change: &mut Change, origin: &Origin) -> Result<i64> {
    let args = args![&origin.origin, origin.active, change.now()];
    let (id,): (i64,) = change.one(INSERT, args).await.map_err(|e| taken(e, origin))?;
    Ok(id)
}

pub(super) async fn update(change: &mut Change, origin: &Origin) -> Result<()> {
    let args = args![origin.id, &origin.origin, origin.active];
    change.run(UPDATE, args).await.map(drop).map_err(|e| taken(e, origin))
}

pub(super) async fn delete(change: &mut Change, id: i64) -> Result<()> {
    change.run(DELETE, args![id]).await.map(drop)
}

fn taken(error: Error, origin: &Origin) -> Error {
    if is_unique_violation(&error) {
        return Error::new(
            Code::Conflict,
            format!("The origin {} is registered already.", origin.origin),
        )
        .caused_by(error);
    }
    error
}
