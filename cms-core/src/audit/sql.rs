//! Statements of the audit log. Each list is a range of one index: the filtered columns, then time
//! and id. Ranges of whole keys keep both engines on that index, however often a value occurs.

use super::{ActorName, AuditActor, AuditFilter, AuditRow, span};
use crate::{
    Millis, Result,
    db::{Db, Statement, Value, args, read, record, statements},
    ground::clock,
};

/// The position of an entry in a list: its time, then its id.
pub(super) type Position = (Millis, i64);

record! { AuditRow: audit_columns {
    id: "id",
    actor: (actor_columns),
    action: "action",
    table: "table_name",
    row_id: "row_id",
    columns: "columns" => read::json,
    at: "created_at";
    created_at: clock::rfc3339(at),
} }

record! { AuditActor: actor_columns {
    kind: "actor_kind",
    id: "actor_id",
    name: "actor_name",
} }

/// Up to $5 entries after the position ($3, $4) and before ($1, $2), newest first, with the given
/// values in the leading columns of the index.
macro_rules! between {
    ($columns:literal, $values:literal, $downwards:literal, $also:literal) => {
        concat!(
            "select ",
            audit_columns!(),
            " from cms_audit where (",
            $columns,
            "created_at, id) < (",
            $values,
            "$1, $2) and (",
            $columns,
            "created_at, id) > (",
            $values,
            "$3, $4)",
            $also,
            " order by ",
            $downwards,
            "created_at desc, id desc limit $5"
        )
    };
}

statements! {
    EXPIRE = "delete from cms_audit where id in \
              (select id from cms_audit where created_at <= $1 order by created_at limit 1000)";
    ALL_TABLES = between!("", "", "", "");
    OF_TABLE = between!("table_name, ", "$6, ", "table_name desc, ", "");
    // Begins with the row's id, so that the index by table does not look equally good.
    OF_ROW = between!(
        "row_id, table_name, ", "$6, $7, ", "row_id desc, table_name desc, ",
        " and (cast($8 as text) is null or actor_kind = $8) \
         and (cast($9 as bigint) is null or actor_id = $9)"
    );
    OF_CALLER = between!(
        "actor_kind, actor_id, ", "$6, $7, ", "actor_kind desc, actor_id desc, ",
        " and actor_id is not null and (cast($8 as text) is null or table_name = $8)"
    );
    OF_OTHERS = between!(
        "actor_kind, ", "$6, ", "actor_kind desc, ",
        " and actor_id is null and (cast($7 as text) is null or table_name = $7)"
    );
}

/// Entries between two positions, as many as a page needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) after: Position,
    pub(super) before: Position,
    pub(super) limit: i64,
}

/// The statement and the values that read what the filter selects of one table, or of all.
fn selected(filter: &AuditFilter, table: Option<&str>, span: Span) -> (Statement, Vec<Value>) {
    let (before, after) = (span.before, span.after);
    let mut values = args![before.0, before.1, after.0, after.1, span.limit];
    let (statement, own) = match (&filter.row, filter.actor, table) {
        (Some(row), actor, Some(table)) => {
            let (kind, id) = (actor.map(|actor| actor.kind), actor.and_then(|actor| actor.id));
            (OF_ROW, args![row, table, kind, id])
        }
        (_, Some(ActorName { kind, id: Some(id) }), table) => (OF_CALLER, args![kind, id, table]),
        (_, Some(ActorName { kind, id: None }), table) => (OF_OTHERS, args![kind, table]),
        (_, None, Some(table)) => (OF_TABLE, args![table]),
        (_, None, None) => (ALL_TABLES, args![]),
    };
    values.extend(own);
    (statement, values)
}

/// Newest first.
pub(super) async fn list(
    db: &Db,
    filter: &AuditFilter,
    table: Option<&str>,
    span: Span,
) -> Result<Vec<AuditRow>> {
    let (statement, values) = selected(filter, table, span);
    db.all(statement, values).await
}

/// The number of entries that the filter selects.
pub(super) async fn count(db: &Db, filter: &AuditFilter) -> Result<i64> {
    let count = async |table| {
        let (statement, values) = selected(filter, table, span(filter, None, i64::MAX));
        db.count_rows(statement, values).await
    };
    if filter.tables.is_empty() {
        return count(None).await;
    }
    let mut all = 0;
    for table in &filter.tables {
        all += count(Some(table.as_str())).await?;
    }
    Ok(all)
}

/// The query plan of that read, by line.
#[cfg(feature = "testing")]
pub(super) async fn plan(
    db: &Db,
    filter: &AuditFilter,
    table: Option<&str>,
    span: Span,
) -> Result<Vec<String>> {
    let (statement, values) = selected(filter, table, span);
    db.plan(statement.sql(), values).await
}
