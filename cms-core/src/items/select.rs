//! Builds the reads. Names come from the registered tables and are quoted; values are bound.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{
    bound::Bound,
    cursor,
    key::Key,
    order,
    query::{Filter, Op, Query},
};
use crate::{
    Code, Error, Result,
    content::{Column, Table, Tables, check},
    db::{
        Value,
        dialect::{Kind, quote},
    },
    ground::Cursors,
};

/// A statement and its values.
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) args: Vec<Value>,
}

/// The JSON object of a row `t`.
pub(super) fn object<'t>(
    tables: &Tables,
    table: &'t Table,
    fields: &[String],
    expand: &[String],
) -> Result<Cow<'t, str>> {
    if fields.is_empty() && expand.is_empty() {
        return Ok(table.object.get_or_init(|| whole(table, "t")).into());
    }
    for name in fields.iter().chain(expand) {
        table.readable(name)?;
    }
    let shown = table
        .columns
        .iter()
        .filter(|c| c.readable() && (fields.is_empty() || fields.contains(&c.name)));
    let members = shown.map(|column| {
        let value = if expand.contains(&column.name) {
            expanded(tables, table, column, "t")?
        } else {
            table.dialect.member("t", column.col())
        };
        Ok((column.name.as_str(), value))
    });
    Ok(table.dialect.object(&members.collect::<Result<Vec<_>>>()?).into())
}

/// The JSON object of a row `of` with all readable columns.
pub(super) fn whole(table: &Table, of: &str) -> String {
    let shown = table.columns.iter().filter(|column| column.readable());
    let members: Vec<_> = shown
        .map(|column| (column.name.as_str(), table.dialect.member(of, column.col())))
        .collect();
    table.dialect.object(&members)
}

/// The referenced record in place of its id, inside the same statement.
fn expanded(tables: &Tables, table: &Table, column: &Column, of: &str) -> Result<String> {
    let target = reference(tables, table, &column.name)?;
    let key = target
        .key_columns()
        .next()
        .map(Column::col)
        .ok_or_else(|| no_reference(table, &column.name))?;
    let inner = format!(
        "{of}_{}",
        table.columns.iter().position(|c| c.name == column.name).unwrap_or_default()
    );
    let object = whole(&target, &inner);
    let dialect = table.dialect;
    let query = format!(
        "select {object} from {} {inner} where {} = {}",
        target.quoted(),
        dialect.compared(&inner, key),
        dialect.compared(of, column.col()),
    );
    Ok(dialect.nested(&query))
}

/// The content table that a column refers to.
pub(super) fn reference(
    tables: &Tables,
    table: &Table,
    column: &str,
) -> Result<std::sync::Arc<Table>> {
    let target = table.readable(column)?.references.as_deref().and_then(|name| tables.find(name));
    target.filter(|t| t.key.len() == 1).ok_or_else(|| no_reference(table, column))
}

fn no_reference(table: &Table, column: &str) -> Error {
    Error::new(
        Code::BadQuery,
        format!(
            "{}.{column} does not refer to a content table with a single key, so it cannot be \
             expanded.",
            table.name
        ),
    )
}

/// Collects conditions and their bound values.
pub(super) struct Conditions<'a> {
    table: &'a Table,
    args: Vec<Value>,
    parts: Vec<String>,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self { table, args: Vec::new(), parts: Vec::new() }
    }

    /// Continues after values that are bound already.
    pub(super) fn after(table: &'a Table, args: Vec<Value>) -> Self {
        Self { table, args, parts: Vec::new() }
    }

    fn compared(&self, column: &Column) -> String {
        self.table.dialect.compared("t", column.col())
    }

    fn bind(&mut self, column: &Column, value: &Json) -> String {
        self.args.push(self.table.dialect.comparable(column.col(), value));
        self.table.dialect.parameter(self.args.len(), column.col())
    }

    fn bind_text(&mut self, text: &str) -> usize {
        self.args.push(text.into());
        self.args.len()
    }

    pub(super) fn key(&mut self, key: &Key) {
        let table = self.table;
        for (column, value) in table.key_columns().zip(&key.0) {
            let bound = self.bind(column, value);
            self.parts.push(format!("{} = {bound}", self.compared(column)));
            self.parts.extend(table.dialect.indexed("t", column.col(), self.args.len(), value));
        }
    }

    /// Matches rows that are versions of the same record as `key`.
    pub(super) fn version_of(&mut self, key: &Key) {
        let mut base = Conditions::after(self.table, std::mem::take(&mut self.args));
        base.key(key);
        let id = self.table.key_columns().next().map(|c| quote(&c.name)).unwrap_or_default();
        let source = self.table.quoted();
        let part = format!(
            "coalesce(t.\"base_id\", t.{id}) = (select coalesce(t.\"base_id\", t.{id}) from \
             {source} t{})",
            base.sql()
        );
        self.args = base.into_args();
        self.parts.push(part);
    }

    pub(super) fn equals(&mut self, column: &str, value: &str) -> Result<()> {
        self.filter(&Filter {
            column: column.to_owned(),
            op: Op::Eq,
            values: vec![value.to_owned()],
        })
    }

    pub(super) fn query(&mut self, query: &Query) -> Result<()> {
        for filter in &query.filters {
            self.filter(filter)?;
        }
        if let Some(language) = &query.language {
            if !self.table.multilanguage {
                return Err(Error::new(
                    Code::BadQuery,
                    format!("{} has no language versions: leave language out.", self.table.name),
                ));
            }
            self.equals("language_short", language)?;
        }
        if let Some(text) = &query.search {
            let n = self.bind_text(text);
            let table = self.table;
            let within = &query.search_in;
            let searched = |c: &&Column| within.is_empty() || within.contains(&c.name);
            let columns = table.columns.iter().filter(|c| c.kind == Kind::Text).filter(searched);
            let parts: Vec<_> =
                columns.map(|c| table.dialect.contains(&self.compared(c), n)).collect();
            self.parts.push(if parts.is_empty() {
                "1 = 0".to_owned()
            } else {
                format!("({})", parts.join(" or "))
            });
        }
        Ok(())
    }

    fn filter(&mut self, filter: &Filter) -> Result<()> {
        let column = self.table.readable(&filter.column)?;
        let e = self.compared(column);
        let bad = |detail: String| Error::new(Code::BadQuery, detail);
        let first = filter.values.first().map_or("", String::as_str);
        if filter.op == Op::Null {
            let word = match first {
                "true" | "1" => "is null",
                "false" | "0" => "is not null",
                _ => {
                    return Err(bad(format!(
                        "filter[{}][null] must be true or false.",
                        column.name
                    )));
                }
            };
            self.parts.push(format!("{e} {word}"));
            return Ok(());
        }
        if column.kind == Kind::Binary {
            return Err(bad(format!(
                "{} holds bytes: it can only be filtered by null.",
                column.name
            )));
        }
        let part = match filter.op {
            Op::Contains | Op::StartsWith | Op::EndsWith => {
                if !matches!(column.kind, Kind::Text | Kind::Json) || first.contains('\0') {
                    return Err(bad(format!(
                        "{} is not text: compare it with eq, gt, lt or in.",
                        column.name
                    )));
                }
                let n = self.bind_text(first);
                match filter.op {
                    Op::Contains => self.table.dialect.contains(&e, n),
                    Op::StartsWith => format!("substr({e}, 1, length(${n})) = ${n}"),
                    _ => format!(
                        "(length({e}) >= length(${n}) and substr({e}, length({e}) - length(${n}) \
                         + 1) = ${n})"
                    ),
                }
            }
            op => {
                let mut bound = Vec::new();
                for value in &filter.values {
                    let value = check::text(column, self.table.dialect, value)
                        .map_err(|e| bad(format!("filter[{}]: {}.", e.field, e.message)))?;
                    bound.push(self.bind(column, &value));
                }
                let (bound, first) = (bound.join(", "), bound.first().cloned().unwrap_or_default());
                match op {
                    Op::Ne => format!("({e} <> {first} or {e} is null)"),
                    Op::Gt => format!("{e} > {first}"),
                    Op::Gte => format!("{e} >= {first}"),
                    Op::Lt => format!("{e} < {first}"),
                    Op::Lte => format!("{e} <= {first}"),
                    Op::In => format!("{e} in ({bound})"),
                    Op::Nin => format!("({e} not in ({bound}) or {e} is null)"),
                    _ => format!("{e} = {first}"),
                }
            }
        };
        self.parts.push(part);
        Ok(())
    }

    /// Matches rows after the position `values` in the order `sort`. Nulls always come last.
    fn after_position(&mut self, sort: &[(&Column, bool)], values: &[Json]) {
        let mut same: Vec<String> = Vec::new();
        let mut ways = Vec::new();
        for ((column, descending), value) in sort.iter().zip(values) {
            let e = self.compared(column);
            if value.is_null() {
                // Only other nulls come after null.
                same.push(format!("{e} is null"));
                continue;
            }
            let bound = self.bind(column, value);
            let order = if *descending { "<" } else { ">" };
            let nulls = if column.nullable { format!(" or {e} is null") } else { String::new() };
            let mut way = same.clone();
            way.push(format!("({e} {order} {bound}{nulls})"));
            ways.push(way.join(" and "));
            same.push(format!("{e} = {bound}"));
        }
        self.parts.push(if ways.is_empty() {
            "1 = 0".to_owned()
        } else {
            format!("({})", ways.join(" or "))
        });
    }

    pub(super) fn sql(&self) -> String {
        if self.parts.is_empty() {
            String::new()
        } else {
            format!(" where {}", self.parts.join(" and "))
        }
    }

    pub(super) fn into_args(self) -> Vec<Value> {
        self.args
    }
}

/// One record: a row with its JSON, or no row.
pub(super) fn one(
    tables: &Tables,
    table: &Table,
    conditions: Conditions,
    query: &Query,
    lock: bool,
) -> Result<Statement> {
    let object = object(tables, table, &query.fields, &query.expand)?;
    let lock = if lock { table.dialect.for_update() } else { "" };
    let sql = format!("select {object} from {} t{}{lock}", table.quoted(), conditions.sql());
    Ok(Statement { sql, args: conditions.into_args() })
}

/// Separates the records of a page. JSON contains no bare control characters.
pub(super) const SEPARATOR: char = '\u{1e}';

/// A page: one row with the records that fit, the position of each found in the order, the number
/// found (at most one more than the limit), the number that fit and, on demand, the number of all
/// matching rows.
///
/// Both engines aggregate the rows of a sorted subquery in its order: PostgreSQL documents it,
/// tests show it for SQLite. Sorting again by row numbers would cost more than the records.
pub(super) fn page(
    tables: &Tables,
    cursors: &Cursors,
    table: &Table,
    query: &Query,
    bound: Bound,
) -> Result<Statement> {
    let sort = order::of(table, query)?;
    let mut conditions = Conditions::new(table);
    conditions.query(query)?;
    let matching = conditions.sql();
    let mut offset = query.offset;
    if let Some(cursor) = &query.cursor {
        if table.writable() {
            let position = cursor::decode(cursors, table, query, cursor, sort.len())?;
            conditions.after_position(&sort, &position);
        } else {
            offset = cursor::decode_offset(cursors, table, query, cursor)?;
        }
    }
    let dialect = table.dialect;
    let keys: Vec<String> =
        sort.iter().map(|(column, _)| dialect.compared("t", column.col())).collect();
    let positions: Vec<String> =
        sort.iter().map(|(column, _)| dialect.placed("t", column.col())).collect();
    let order = sort.iter().zip(&keys).map(|((_, descending), e)| {
        format!("{e} {} nulls last", if *descending { "desc" } else { "asc" })
    });
    let order = order.collect::<Vec<_>>().join(", ");
    let order_by = if order.is_empty() { String::new() } else { format!(" order by {order}") };
    let (source, filtered) = (table.quoted(), conditions.sql());
    let object = object(tables, table, &query.fields, &query.expand)?;
    let position = dialect.array(&positions);
    let total = if query.count {
        format!("(select count(*) from {source} t{matching})")
    } else {
        "cast(null as bigint)".to_owned()
    };
    // The outer limit keeps the engines from writing the JSON of a record twice, for its size.
    let found = query.limit + 1;
    let records = format!(
        "select {object} as j, {position} as k from (select t.* from {source} \
         t{filtered}{order_by} limit {found} offset {offset}) t limit {found}"
    );
    let (fits, records) = bound.applied(&records, query.limit);
    let sql = format!(
        "select string_agg(case when {fits} then r.j end, '{SEPARATOR}'), \
         string_agg(r.k, '{SEPARATOR}'), count(*), count(case when {fits} then 1 end), {total} \
         from {records}"
    );
    Ok(Statement { sql, args: conditions.into_args() })
}
