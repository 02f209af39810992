//! Placed rows: the nodes of pages. Their tables belong to the service and have a column for each
//! value of a widget. Plugins add columns, so these statements are composed. The rows are not
//! served as items.

use serde::Serialize;
use serde_json::{Map, Value as Json};
use sqlx::AssertSqlSafe;

use crate::{
    Change, Error, Result,
    db::{Db, Dialect, Snapshot, Value, dialect::quote, record},
};

/// A table of placed rows. Each has `id`, `page_id` and `sort_order`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedTable {
    pub(crate) source: &'static str,
    /// The column with the id of a row's parent.
    pub(crate) parent: &'static str,
    /// The column of [`PlacedRow::name`].
    pub(crate) name: Option<&'static str>,
    /// The column of [`PlacedRow::base`].
    pub(crate) base: Option<&'static str>,
    /// Whether it has the columns of widgets.
    pub(crate) has_data: bool,
}

record! {
    /// A row of one of several tables.
    #[derive(Debug)]
    pub(crate) struct PlacedRow: placed_columns {
        /// The place of its table among the tables, from 0.
        pub(crate) floor: i64 = "floor",
        pub(crate) id: i64 = "id",
        pub(crate) parent: i64 = "parent",
        pub(crate) name: Option<String> = "name",
        pub(crate) base: Option<i64> = "base",
        /// The values as one JSON object of texts and nulls.
        pub(crate) data: Option<String> = "data",
    }
}

/// A row to be written. Values are texts.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct NewPlaced {
    /// None: the database assigns the next id.
    pub(crate) id: Option<i64>,
    pub(crate) parent: i64,
    pub(crate) position: i64,
    pub(crate) name: Option<String>,
    pub(crate) base: Option<i64>,
    pub(crate) data: Map<String, Json>,
}

/// The place of a written row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) id: i64,
    pub(crate) parent: i64,
    pub(crate) position: i64,
}

/// The rows of a page in all `tables`, in one statement: table by table, grouped by parent and in
/// order. `columns`: the columns of widgets.
pub(crate) async fn of_page(
    dialect: Dialect,
    snapshot: &mut Snapshot,
    tables: &[PlacedTable],
    columns: &[String],
    page: i64,
) -> Result<Vec<PlacedRow>> {
    snapshot.all(AssertSqlSafe(selected(dialect, tables, columns)), vec![page.into()]).await
}

/// As [`of_page`], as a change sees them.
pub(crate) async fn of_page_in(
    change: &mut Change,
    tables: &[PlacedTable],
    columns: &[String],
    page: i64,
) -> Result<Vec<PlacedRow>> {
    let sql = selected(change.dialect(), tables, columns);
    change.all(AssertSqlSafe(sql), vec![page.into()]).await
}

/// Adds rows to a table of a page, in one statement. Values of other columns than `columns` are
/// left out.
pub(crate) async fn add(
    change: &mut Change,
    table: &PlacedTable,
    columns: &[String],
    page: i64,
    rows: &[NewPlaced],
) -> Result<Vec<At>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let has = |column: &&String| rows.iter().any(|row| row.data.contains_key(*column));
    let columns: Vec<_> = columns.iter().filter(has).map(String::as_str).collect();
    let sql = inserted(change.dialect(), table, &columns, rows.iter().any(|row| row.id.is_some()));
    let document = serde_json::to_string(rows).map_err(Error::internal)?;
    let written: Vec<(i64, i64, i64)> =
        change.all(AssertSqlSafe(sql), vec![document.into(), page.into()]).await?;
    Ok(written.into_iter().map(|(id, parent, position)| At { id, parent, position }).collect())
}

/// Writes values of an existing row; null empties a column.
pub(crate) async fn set(
    change: &mut Change,
    table: &PlacedTable,
    id: i64,
    values: &Map<String, Json>,
) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let assigned: Vec<_> =
        values.keys().zip(2..).map(|(name, n)| format!("{} = ${n}", quote(name))).collect();
    let sql = format!("update {} set {} where id = $1", table.source, assigned.join(", "));
    let texts = values.values().map(|value| Value::Text(value.as_str().map(str::to_owned)));
    change.run_one(AssertSqlSafe(sql), [Value::from(id)].into_iter().chain(texts).collect()).await
}

/// The pages whose placed rows hold a text, at most `most`.
pub(crate) async fn holding(
    db: &Db,
    tables: &[PlacedTable],
    columns: &[String],
    text: &str,
    most: usize,
) -> Result<Vec<i64>> {
    let value = |name: &String| format!("coalesce(t.{}, '')", quote(name));
    let values: Vec<_> = columns.iter().map(value).collect();
    let all = joined(&values);
    let part = |table: &PlacedTable| {
        format!("select t.page_id as page from {} t where {all} like $1", table.source)
    };
    let parts: Vec<_> = tables.iter().filter(|table| table.has_data).map(part).collect();
    let sql = format!("{} order by page limit {most}", parts.join(" union "));
    let rows: Vec<(i64,)> = db.all(AssertSqlSafe(sql), vec![format!("%{text}%").into()]).await?;
    Ok(rows.into_iter().map(|(page,)| page).collect())
}

/// The rows of a table after an id: each row's id, its page, its widget by the expression
/// `widget`, and its values of `columns` as a JSON object.
pub(crate) async fn after(
    db: &Db,
    table: &PlacedTable,
    widget: &'static str,
    columns: &[&str],
    after: i64,
    most: usize,
) -> Result<Vec<(i64, i64, Option<String>, String)>> {
    let members: Vec<_> =
        columns.iter().map(|name| (*name, format!("t.{}", quote(name)))).collect();
    let (source, data) = (table.source, db.dialect().object(&members));
    let sql = format!(
        "select t.id, t.page_id, cast({widget} as text), cast({data} as text) from {source} t \
         where t.id > $1 order by t.id limit {most}"
    );
    db.all(AssertSqlSafe(sql), vec![after.into()]).await
}

/// Joins the texts of expressions with blanks, as a balanced tree: SQLite refuses expressions
/// deeper than 1,000.
fn joined(values: &[String]) -> String {
    match values {
        [] => "''".to_owned(),
        [one] => one.clone(),
        values => {
            let (left, right) = values.split_at(values.len() / 2);
            format!("({} || ' ' || {})", joined(left), joined(right))
        }
    }
}

fn selected(dialect: Dialect, tables: &[PlacedTable], columns: &[String]) -> String {
    let members: Vec<_> =
        columns.iter().map(|name| (name.as_str(), format!("t.{}", quote(name)))).collect();
    let data = dialect.object(&members);
    let part = |(floor, table): (usize, &PlacedTable)| {
        let PlacedTable { source, parent, .. } = table;
        let name = table.name.map_or("null".to_owned(), |name| format!("t.{name}"));
        let base = table.base.map_or("null".to_owned(), |base| format!("t.{base}"));
        let data = if table.has_data && !members.is_empty() { data.as_str() } else { "null" };
        format!(
            "select cast({floor} as bigint) as floor, t.id as id, t.{parent} as parent, \
             t.sort_order as sort_order, cast({name} as text) as name, cast({base} as bigint) as \
             base, cast({data} as text) as data from {source} t where t.page_id = $1"
        )
    };
    let parts: Vec<_> = tables.iter().enumerate().map(part).collect();
    format!(
        "select {} from ({}) n order by floor, parent, sort_order, id",
        placed_columns!(),
        parts.join(" union all ")
    )
}

fn inserted(dialect: Dialect, table: &PlacedTable, columns: &[&str], keeps_ids: bool) -> String {
    let PlacedTable { source, parent, .. } = table;
    let number = |name: &str| format!("cast(e.value ->> '{name}' as bigint)");
    let mut written =
        vec![(parent.to_string(), number("parent")), ("sort_order".to_owned(), number("position"))];
    if *parent != "page_id" {
        written.push(("page_id".to_owned(), "cast($2 as bigint)".to_owned()));
    }
    if keeps_ids {
        written.push(("id".to_owned(), number("id")));
    }
    written.extend(table.name.map(|name| (name.to_owned(), "e.value ->> 'name'".to_owned())));
    written.extend(table.base.map(|base| (base.to_owned(), number("base"))));
    written.extend(columns.iter().map(|name| {
        (quote(name), format!("e.value -> 'data' ->> '{}'", name.replace('\'', "''")))
    }));
    let (names, values): (Vec<_>, Vec<_>) = written.into_iter().unzip();
    // Not every table inserts `$2`: this condition makes each statement use both bound values.
    format!(
        "insert into {source} ({}) select {} from {} where cast($2 as bigint) > 0 returning id, \
         {parent} as parent, sort_order",
        names.join(", "),
        values.join(", "),
        dialect.elements(1)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEMS: PlacedTable = PlacedTable {
        source: "items",
        parent: "widget_id",
        name: Some("language_short"),
        base: Some("base_id"),
        has_data: true,
    };

    #[test]
    fn names_are_quoted_and_values_are_bound() {
        let sql = inserted(Dialect::Sqlite, &ITEMS, &["order", "a'b\"c"], true);
        assert_eq!(
            sql,
            "insert into items (widget_id, sort_order, page_id, id, language_short, base_id, \
             \"order\", \"a'b\"\"c\") select cast(e.value ->> 'parent' as bigint), cast(e.value \
             ->> 'position' as bigint), cast($2 as bigint), cast(e.value ->> 'id' as bigint), \
             e.value ->> 'name', cast(e.value ->> 'base' as bigint), e.value -> 'data' ->> \
             'order', e.value -> 'data' ->> 'a''b\"c' from json_each($1) e where cast($2 as \
             bigint) > 0 returning id, widget_id as parent, sort_order"
        );
        let sql = selected(Dialect::Sqlite, &[ITEMS], &["order".to_owned()]);
        assert!(sql.contains("json_object('order', t.\"order\")"), "{sql}");
    }
}
