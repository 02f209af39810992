//! Builds the reads. Names come from the registered tables and are quoted; values are bound.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{
    Condition, Filter, Op,
    key::Key,
    query::{Query, Within},
};
use crate::{
    Code, Error, Result,
    content::{Column, Table, Tables, check},
    db::{
        Value,
        dialect::{Kind, quote},
    },
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
    let fields = fields.iter().map(|name| Ok(table.queried(name)?.name.as_str()));
    let fields: Vec<&str> = fields.collect::<Result<_>>()?;
    for name in expand {
        table.readable(name)?;
    }
    let shown = table
        .columns
        .iter()
        .filter(|c| c.readable() && (fields.is_empty() || fields.contains(&c.name.as_str())));
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
    /// The keys to look up, as SQL before the table in `from`.
    keys: String,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self::after(table, Vec::new())
    }

    /// Continues after values that are bound already.
    pub(super) fn after(table: &'a Table, args: Vec<Value>) -> Self {
        Self { table, args, parts: Vec::new(), keys: String::new() }
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

    /// Matches rows that are versions of the same record as `key`, even when the row of
    /// `key` is gone.
    pub(super) fn version_of(&mut self, key: &Key) {
        let Some((column, value)) = self.table.key_columns().zip(&key.0).next() else { return };
        let mut base = Conditions::after(self.table, std::mem::take(&mut self.args));
        base.key(key);
        let (id, source) = (quote(&column.name), self.table.quoted());
        let mut record =
            format!("(select coalesce(t.\"base_id\", t.{id}) from {source} t{})", base.sql());
        // Adopted tables have rules of their own, and keys of any type.
        if !self.table.adopted {
            record = format!("coalesce({record}, {})", base.bind(column, value));
        }
        // No `coalesce` here: no index could serve it.
        let part =
            format!("(t.\"base_id\" = {record} or (t.\"base_id\" is null and t.{id} = {record}))");
        self.args = base.into_args();
        self.parts.push(part);
    }

    pub(super) fn equals(&mut self, column: &str, value: &str) -> Result<()> {
        let values = vec![value.to_owned()];
        let part = self.filter(&Filter { column: column.to_owned(), op: Op::Eq, values })?;
        self.parts.push(part);
        Ok(())
    }

    /// The source of the rows, named `t`.
    pub(super) fn source(&self) -> String {
        format!("{}{} t", self.keys, self.table.quoted())
    }

    /// Only the rows whose keys a statement finds, as its column `id`. Its values are bound
    /// already.
    pub(super) fn among_found(&mut self, sql: &str) {
        let Some(key) = self.table.key_columns().next() else { return };
        self.parts.push(format!("{} = k.id", self.compared(key)));
        self.keys = format!("({sql}) k cross join ");
    }

    /// Matches only some rows. Rows with given keys are looked up by the key, whatever the order.
    fn within(&mut self, within: &Within) {
        let Some(key) = self.table.key_columns().next() else { return };
        let (compared, table) = (self.compared(key), self.table);
        let part = match within {
            Within::Keys(keys) => {
                let n = self.bind_text(&serde_json::json!(keys).to_string());
                let (from, one) = table.dialect.keys(n);
                self.keys = format!("{from} cross join ");
                format!("{compared} = {one}")
            }
            Within::From(first) => {
                format!("{compared} >= {}", self.bind(key, &Json::from(*first)))
            }
        };
        self.parts.push(part);
    }

    pub(super) fn query(&mut self, query: &Query) -> Result<()> {
        if let Some(within) = &query.within {
            self.within(within);
        }
        for filter in &query.filters {
            let part = self.filter(filter)?;
            self.parts.push(part);
        }
        for condition in &query.conditions {
            // Also bounds how deep the next line goes.
            condition.filters()?;
            let part = self.condition(condition)?;
            self.parts.push(part);
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
        if let Some(text) = query.searched()? {
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

    fn condition(&mut self, condition: &Condition) -> Result<String> {
        let mut joined = |list: &[Condition], word: &str| {
            let parts: Result<Vec<_>> = list.iter().map(|one| self.condition(one)).collect();
            Ok(format!("({})", parts?.join(word)))
        };
        match condition {
            Condition::Is(filter) => self.filter(filter),
            Condition::All(list) => joined(list, " and "),
            Condition::Any(list) => joined(list, " or "),
            // The complement: a condition that null leaves open does not hold, so its
            // negation does.
            Condition::Not(one) => Ok(format!("(({}) is not true)", self.condition(one)?)),
        }
    }

    /// The SQL of one filter. Alternatives in it stand in parentheses.
    fn filter(&mut self, filter: &Filter) -> Result<String> {
        let column = self.table.queried(&filter.column)?;
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
            return Ok(format!("{e} {word}"));
        }
        if column.kind == Kind::Binary {
            return Err(bad(format!(
                "{} holds bytes: it can only be filtered by null.",
                column.name
            )));
        }
        Ok(match filter.op {
            Op::Contains | Op::StartsWith | Op::EndsWith => {
                if !filter.op.compares(column.kind) || first.contains('\0') {
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
                let is_folded = column.folded && matches!(op, Op::Eq | Op::Ne | Op::In | Op::Nin);
                let e = if is_folded { format!("lower({e})") } else { e };
                let mut bound = Vec::new();
                for value in &filter.values {
                    let small = is_folded.then(|| value.to_ascii_lowercase());
                    let value = small.as_ref().unwrap_or(value);
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
        })
    }

    /// Binds the values of a place in a list; None for null.
    pub(super) fn place(
        &mut self,
        sort: &[(&Column, bool)],
        values: &[Json],
    ) -> Vec<Option<String>> {
        let sort = sort.iter().zip(values);
        sort.map(|((column, _), value)| (!value.is_null()).then(|| self.bind(column, value)))
            .collect()
    }

    pub(super) fn sql(&self) -> String {
        self.sql_and(&[])
    }

    /// As [`Conditions::sql`], with conditions that bind nothing new.
    pub(super) fn sql_and(&self, more: &[String]) -> String {
        let parts: Vec<&str> = self.parts.iter().chain(more).map(String::as_str).collect();
        if parts.is_empty() { String::new() } else { format!(" where {}", parts.join(" and ")) }
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
