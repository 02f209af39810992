//! Plans what an installed table needs for a newer declaration. Only additions are planned; a
//! change that would lose data is refused.

use serde_json::{Value as Json, json};
use sqlx::AssertSqlSafe;

use super::{
    ColumnDeclaration, Declared, TableDeclaration, Tables, check,
    create::{definition, referring, target},
    form,
    index::{self, Index},
    plan::{Action, Build, Plan},
    table::Column,
};
use crate::{
    Error, Result,
    db::{
        Kind,
        dialect::{Col, quote},
    },
};

/// How many conflicting values a refusal shows.
const SHOWN: usize = 3;

pub(super) async fn extend(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    table: &TableDeclaration,
    before: &str,
) -> Result<()> {
    let before: TableDeclaration = serde_json::from_str(before).map_err(Error::internal)?;
    let at = format!("{}: {}", declared.plugin, table.name);
    losses(plan, &at, table, &before).await?;
    if table.multilanguage && !before.multilanguage {
        plan.refuse(format!(
            "{at} was made without language versions, which no table gets later: declare a new \
             table for them."
        ));
    }
    for column in &table.columns {
        match before.columns.iter().find(|old| old.name == column.name) {
            Some(old) => alter(plan, &at, table, old, column).await?,
            // Its values are under the old name: refused above.
            None if before
                .columns
                .iter()
                .any(|c| Some(&c.name) == column.renamed_from.as_ref()) => {}
            None => add(plan, tables, declared, table, column).await?,
        }
    }
    if plan.changes.refused.is_empty() {
        indexes(plan, &at, table, Some(&before)).await?;
    }
    Ok(())
}

/// Refuses what would lose data, and says how much.
async fn losses(
    plan: &mut Plan<'_>,
    at: &str,
    table: &TableDeclaration,
    before: &TableDeclaration,
) -> Result<()> {
    let mut lost = Vec::new();
    for old in &before.columns {
        let renamed = |c: &&ColumnDeclaration| c.renamed_from.as_deref() == Some(&old.name);
        let what = match table.columns.iter().find(|c| c.name == old.name) {
            Some(new) if new.kind() != old.kind() => "would change its type".to_owned(),
            Some(_) => continue,
            None => match table.columns.iter().find(renamed) {
                Some(new) => {
                    plan.refuse(format!(
                        "{at}.{} cannot be renamed to {} yet: keep the old name.",
                        old.name, new.name
                    ));
                    continue;
                }
                None => "would be dropped".to_owned(),
            },
        };
        let sql = format!("select count({}) from {}", quote(&old.name), quote(&table.name));
        let rows = plan.count(AssertSqlSafe(sql)).await?;
        plan.lose(&table.name, &old.name, rows);
        lost.push(format!("column {} {what} ({})", old.name, valued(rows)));
    }
    if before.multilanguage && !table.multilanguage {
        lost.push("language versions would be mixed".to_owned());
    }
    if !lost.is_empty() {
        plan.refuse(format!(
            "{at} was not changed, because data would be lost: {}. Declare that as it was; new \
             columns may stand beside it.",
            lost.join("; ")
        ));
    }
    Ok(())
}

fn valued(rows: i64) -> String {
    if rows == 1 { "1 row has a value".to_owned() } else { format!("{rows} rows have a value") }
}

async fn add(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    table: &TableDeclaration,
    column: &ColumnDeclaration,
) -> Result<()> {
    let at = format!("{}: {}.{}", declared.plugin, table.name, column.name);
    if column.required && column.default.as_ref().is_none_or(Json::is_null) {
        plan.refuse(format!(
            "{at} is new and required, so it needs a default for the rows that exist."
        ));
        return Ok(());
    }
    let dialect = plan.dialect();
    match (target(plan, tables, declared, column).await?, definition(dialect, column)) {
        (Ok(target), Ok((kind, rest))) => {
            plan.run(format!(
                "alter table {} add column {} {}{rest}{}",
                quote(&table.name),
                quote(&column.name),
                dialect.declared_type(kind),
                referring(target.as_deref())
            ));
            plan.step(Action::AddColumn, &table.name, vec![column.name.clone()]);
        }
        (target, definition) => {
            let reasons = target.err().into_iter().chain(definition.err());
            reasons.for_each(|why| plan.refuse(format!("{at}: {why}.")));
        }
    }
    Ok(())
}

/// Applies a changed declaration of an existing column. SQLite cannot alter columns, so changes
/// that need this are refused on both engines.
async fn alter(
    plan: &mut Plan<'_>,
    at: &str,
    table: &TableDeclaration,
    old: &ColumnDeclaration,
    new: &ColumnDeclaration,
) -> Result<()> {
    let fixed = |c: &ColumnDeclaration| {
        [
            ("required", json!(c.required)),
            ("default", json!(c.default)),
            ("references", json!(c.references)),
        ]
    };
    if let Some(((what, was), _)) =
        fixed(old).into_iter().zip(fixed(new)).find(|(was, is)| was != is)
    {
        plan.refuse(format!(
            "{at}.{} exists, so its `{what}` stays {was}: declare it so again, or declare another \
             column and copy the values.",
            new.name
        ));
        return Ok(());
    }
    if old.kind() != new.kind() {
        return Ok(());
    }
    refuse_unchecked_texts(plan, at, table, old, new).await?;
    if old.allowed == new.allowed {
        return Ok(());
    }
    let Some(kind) = new.kind() else { return Ok(()) };
    if let Err(why) = definition(plan.dialect(), new) {
        plan.refuse(format!("{at}.{}: {why}.", new.name));
        return Ok(());
    }
    if let Some(values) = &new.allowed {
        let like = Column::declared(&new.name, kind);
        let allowed = check::allowed(&like, plan.dialect(), values).unwrap_or_default();
        refuse_other_values(plan, at, table, &like, allowed).await?;
    }
    plan.step(Action::ChangeEnum, &table.name, vec![new.name.clone()]);
    Ok(())
}

/// Refuses a field type that demands a form of its texts, when rows hold texts that may lack this
/// form: SQL cannot check them.
async fn refuse_unchecked_texts(
    plan: &mut Plan<'_>,
    at: &str,
    table: &TableDeclaration,
    old: &ColumnDeclaration,
    new: &ColumnDeclaration,
) -> Result<()> {
    let wanted = new.field_type.as_deref().unwrap_or_default();
    if !form::demands_more(wanted, old.field_type.as_deref().unwrap_or_default()) {
        return Ok(());
    }
    let name = quote(&new.name);
    let sql = format!("select count(*) from {} where {name} <> ''", quote(&table.name));
    let rows = plan.count(AssertSqlSafe(sql)).await?;
    if rows > 0 {
        plan.refuse(format!(
            "{at}.{} cannot become of the type {wanted}: {}, and nobody has checked that it is \
             one. Declare another column and copy the values.",
            new.name,
            valued(rows)
        ));
    }
    Ok(())
}

/// Refuses an enum when rows hold other values.
async fn refuse_other_values(
    plan: &mut Plan<'_>,
    at: &str,
    table: &TableDeclaration,
    column: &Column,
    allowed: Vec<Json>,
) -> Result<()> {
    let dialect = plan.dialect();
    let stored = |value| match column.kind {
        // Entries of JSON are compared as text.
        Kind::Json => match value {
            Json::String(text) => Json::String(text),
            other => other.to_string().into(),
        },
        _ => dialect.stored(column.col(), value),
    };
    let allowed: Vec<_> = allowed.into_iter().map(|v| dialect.literal(&stored(v))).collect();
    let (from, value) = dialect.entries(&quote(&table.name), column.col());
    let outside = format!("from {from} where {value} not in ({})", allowed.join(", "));
    let rows = plan.count(AssertSqlSafe(format!("select count(*) {outside}"))).await?;
    if rows == 0 {
        return Ok(());
    }
    let some = format!("select distinct cast({value} as text) {outside} limit {SHOWN}");
    let some: Vec<(String,)> = plan.all(AssertSqlSafe(some), Vec::new()).await?;
    let some: Vec<_> = some.into_iter().map(|(value,)| format!("{value:?}")).collect();
    let hold = if rows == 1 { "1 value is".to_owned() } else { format!("{rows} values are") };
    plan.refuse(format!(
        "{at}.{} cannot have this enum: {hold} not in it, such as {}.",
        column.name,
        some.join(", ")
    ));
    Ok(())
}

/// Plans the indexes that the table lacks, and drops those that only its declaration `before` had.
pub(super) async fn indexes(
    plan: &mut Plan<'_>,
    at: &str,
    table: &TableDeclaration,
    before: Option<&TableDeclaration>,
) -> Result<()> {
    let (wanted, declared) = (index::of(table), before.map(index::of).unwrap_or_default());
    if wanted.is_empty() && declared.is_empty() {
        return Ok(());
    }
    let found = plan.indexes(&table.name).await?;
    let is_there = |index: &Index| {
        found.iter().any(|f| f.name == index.name && f.unique == index.unique && f.valid)
    };
    let declared = if plan.exactly { declared } else { Vec::new() };
    for old in declared.iter().filter(|old| !wanted.contains(old)) {
        if found.iter().any(|f| f.name == old.name && f.unique == old.unique) {
            plan.run(format!("drop index {}", quote(&old.name)));
            plan.step(Action::DropIndex, &table.name, old.spelled());
        }
    }
    for index in wanted.into_iter().filter(|index| !is_there(index)) {
        refuse_conflicting_rows(plan, at, table, before, &index).await?;
        let action = if index.unique { Action::CreateUnique } else { Action::CreateIndex };
        plan.step(action, &table.name, index.spelled());
        plan.builds.push(Build { table: table.clone(), index });
    }
    Ok(())
}

/// Refuses an index that existing rows conflict with: texts too long for it, or, when it is
/// unique, rows that share their values.
async fn refuse_conflicting_rows(
    plan: &mut Plan<'_>,
    at: &str,
    table: &TableDeclaration,
    before: Option<&TableDeclaration>,
    index: &Index,
) -> Result<()> {
    let from = quote(&table.name);
    let new = |name: &str| {
        before.and_then(|before| {
            let there = index::kind_of(before, name).is_some();
            table.columns.iter().find(|column| !there && column.name == name)
        })
    };
    let old: Vec<&str> =
        index.columns.iter().map(|(name, _)| name.as_str()).filter(|n| new(n).is_none()).collect();
    for name in &old {
        let limit = index::text_limit(table, name);
        if limit.is_none() || limit == before.and_then(|b| index::text_limit(b, name)) {
            continue;
        }
        let limit = limit.unwrap_or_default();
        let sql = format!("select count(*) from {from} where length({}) > {limit}", quote(name));
        match plan.count(AssertSqlSafe(sql)).await? {
            0 => {}
            rows => plan.refuse(format!(
                "{at}.{name} cannot be indexed: {rows} of its texts are longer than {limit} \
                 characters."
            )),
        }
    }
    // Null differs from null, so a new column without a default keeps rows apart.
    let defaults = index.columns.iter().filter_map(|(name, _)| new(name));
    if !index.unique || defaults.map(|c| &c.default).any(|d| d.as_ref().is_none_or(Json::is_null)) {
        return Ok(());
    }
    let dialect = plan.dialect();
    let kind = |name: &str| index::kind_of(table, name).unwrap_or(Kind::Text);
    let columns = old
        .iter()
        .map(|name| dialect.compared("t", Col { name, kind: kind(name), native: "", own: true }));
    let columns = columns.collect::<Vec<_>>();
    let there: Vec<_> = columns.iter().map(|c| format!("{c} is not null")).collect();
    let (there, grouped) = match columns.as_slice() {
        [] => (String::new(), String::new()),
        _ => {
            (format!(" where {}", there.join(" and ")), format!(" group by {}", columns.join(", ")))
        }
    };
    let sql = format!(
        "select cast(coalesce(sum(n), 0) as bigint) from (select count(*) as n from {from} \
         t{there}{grouped} having count(*) > 1) d"
    );
    match plan.count(AssertSqlSafe(sql)).await? {
        0 => {}
        rows => plan.refuse(format!(
            "{at}.{} cannot become unique: {rows} rows share their value with another one.",
            index.spelled().join("+")
        )),
    }
    Ok(())
}
