//! Plans a declared table that the database does not have yet.

use super::{
    ColumnDeclaration, Declared, TableDeclaration, Tables, check, index,
    plan::{Action, Plan},
    table::Column,
};
use crate::{
    Result,
    db::{
        Dialect, args,
        dialect::{Col, Kind, quote},
    },
};

pub(super) async fn create(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    table: &TableDeclaration,
) -> Result<()> {
    let at = format!("{}: {}", declared.plugin, table.name);
    if let Some(before) = &table.renamed_from
        && plan.optional::<(String, String)>(super::DECLARATION, args![before]).await?.is_some()
    {
        plan.refuse(format!("{at} cannot be renamed from {before} yet: keep the old name."));
        return Ok(());
    }
    let mut columns = Vec::new();
    if table.multilanguage {
        columns.push((own_column("base_id", Kind::Integer), String::new()));
        columns.push((own_column("language_short", Kind::Text), " not null".to_owned()));
    }
    for column in &table.columns {
        let target = target(plan, tables, declared, column).await?;
        match (target, definition(plan.dialect(), column)) {
            (Ok(target), Ok((kind, rest))) => {
                columns
                    .push((own_column(&column.name, kind), rest + &referring(target.as_deref())));
            }
            (target, definition) => {
                let reasons = target.err().into_iter().chain(definition.err());
                reasons.for_each(|why| plan.refuse(format!("{at}.{}: {why}.", column.name)));
            }
        }
    }
    let dialect = plan.dialect();
    plan.run(dialect.create_table(&table.name, &columns));
    plan.step(Action::CreateTable, &table.name, Vec::new());
    for index in index::of(table) {
        plan.run(index.create(dialect, table, false));
        let action = if index.unique { Action::CreateUnique } else { Action::CreateIndex };
        plan.step(action, &table.name, index.spelled());
    }
    Ok(())
}

fn own_column(name: &str, kind: Kind) -> Col<'_> {
    Col { name, kind, native: "", own: true }
}

/// ` references ...`
pub(super) fn referring(target: Option<&str>) -> String {
    target.map_or_else(String::new, |target| format!(" references {} (\"id\")", quote(target)))
}

/// The database name of the table that a column refers to, or why it cannot. The table's key must
/// be `id` and have the column's type.
pub(super) async fn target(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    column: &ColumnDeclaration,
) -> Result<std::result::Result<Option<String>, String>> {
    let Some(name) = &column.references else { return Ok(Ok(None)) };
    let wrong = |what: String| Ok(Err(format!("it refers to {name:?}, {what}")));
    let (source, key) = match (declared.tables.iter().find(|t| t.name == *name), tables.find(name))
    {
        (Some(other), _) if !other.adopt => (name.clone(), vec![("id".to_owned(), Kind::Integer)]),
        (Some(other), _) => {
            let source = other.source.as_ref().unwrap_or(name);
            let described = plan.describe_adopted(source).await?;
            let columns = described
                .iter()
                .flat_map(|found| found.columns.iter().filter(|c| found.key.contains(&c.name)));
            (source.clone(), columns.map(|c| (c.name.clone(), c.kind)).collect())
        }
        (None, Some(known)) => {
            (known.source.clone(), known.key_columns().map(|c| (c.name.clone(), c.kind)).collect())
        }
        (None, None) => {
            return wrong(
                "which is not a content table of this plugin or of an earlier one".to_owned(),
            );
        }
    };
    match key.as_slice() {
        [(id, kind)] if id == "id" && column.kind() == Some(*kind) => Ok(Ok(Some(source))),
        [(id, kind)] if id == "id" => wrong(format!("whose id is of another type ({kind:?})")),
        _ => wrong("whose key is not `id`".to_owned()),
    }
}

/// A column's kind, and ` not null default ...`.
pub(super) fn definition(
    dialect: Dialect,
    column: &ColumnDeclaration,
) -> std::result::Result<(Kind, String), String> {
    let kind = column.kind().ok_or("it has no known type")?;
    let mut sql = String::new();
    if column.required {
        sql.push_str(" not null");
    }
    let like = Column::declared(&column.name, kind);
    let allowed = match &column.allowed {
        Some(values) => Some(check::allowed(&like, dialect, values)?),
        None => None,
    };
    let like = Column { allowed, ..like };
    if let Some(default) = column.default.as_ref().filter(|v| !v.is_null()) {
        let value = check::value(&like, dialect, default)
            .and_then(|value| check::permitted(&like, default, &value).map(|()| value))
            .map_err(|e| format!("default of {}: {}", e.field, e.message))?;
        sql.push_str(" default ");
        sql.push_str(&dialect.literal(&dialect.stored(like.col(), value)));
    }
    Ok((kind, sql))
}
