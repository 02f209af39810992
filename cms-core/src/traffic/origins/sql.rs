//! The statements of origins and the functions that run them.

use super::Origin;
use crate::{
    Code, Error, Result,
    change::{Change, is_unique_violation},
    db::{Db, Statement, args, read, record, statements},
    items::{OwnColumn, RowList},
};

record! { Origin: origin_columns {
    id: "id",
    origin: "origin",
    active: "active",
    created_at: "created_at" => read::time,
} }

/// Origins as a list.
pub(super) const LIST: RowList = RowList {
    name: "The list of origins",
    table: "cms_origins",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("origin").searched(),
        OwnColumn::boolean("active"),
        OwnColumn::time("created_at"),
    ],
    rows: Statement::new(
        concat!(module_path!(), "::LIST"),
        concat!("select ", origin_columns!(), " from cms_origins where id in"),
    ),
};

statements! {
    INSERT = "insert into cms_origins (origin, active, created_at) values ($1, $2, $3) \
              returning id";
    ACTIVE = "select origin from cms_origins where active";
    GET = concat!("select ", origin_columns!(), " from cms_origins where id = $1");
    LOCK = concat!(
        "update cms_origins set active = active where id = $1 returning ", origin_columns!()
    );
    UPDATE = "update cms_origins set origin = $2, active = $3 where id = $1";
    DELETE = "delete from cms_origins where id = $1";
}

pub(super) async fn active(db: &Db) -> Result<Vec<(String,)>> {
    db.all(ACTIVE, Vec::new()).await
}

pub(super) async fn get(db: &Db, id: i64) -> Result<Option<Origin>> {
    db.optional(GET, args![id]).await
}

/// Reads and locks the origin until this change ends.
pub(super) async fn lock(change: &mut Change, id: i64) -> Result<Option<Origin>> {
    change.optional(LOCK, args![id]).await
}

pub(super) async fn insert(change: &mut Change, origin: &Origin) -> Result<i64> {
    let args = args![&origin.origin, origin.active, change.now()];
    let (id,): (i64,) = change.one(INSERT, args).await.map_err(|e| taken(e, origin))?;
    Ok(id)
}

pub(super) async fn update(change: &mut Change, origin: &Origin) -> Result<()> {
    let args = args![origin.id, &origin.origin, origin.active];
    change.hit(UPDATE, args).await.map_err(|e| taken(e, origin))
}

pub(super) async fn delete(change: &mut Change, id: i64) -> Result<()> {
    change.hit(DELETE, args![id]).await
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
