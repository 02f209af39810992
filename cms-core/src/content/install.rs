//! Creates and extends the tables that plugins declare. Only additions happen automatically; a
//! change that would lose data is refused.

use serde_json::json;
use sqlx::AssertSqlSafe;

use super::{
    ColumnDeclaration, Declared, TableDeclaration, Tables, check, plan::Plan, resolve::load_error,
    sql, table::Column,
};
use crate::{
    AuditEntry, Change, Code, Error, Result,
    db::{
        Db, Dialect, Lock, args,
        dialect::{Col, Kind, quote},
    },
};

/// Whether the tables of a plugin have their declared form.
pub(crate) async fn is_installed(db: &Db, declared: Declared<'_>) -> Result<bool> {
    for table in declared.tables.iter().filter(|table| !table.adopt) {
        let recorded: Option<(String, String)> =
            db.optional(sql::DECLARATION, args![&table.name]).await?;
        let text = serde_json::to_string(table).map_err(Error::internal)?;
        if recorded.is_none_or(|(owner, before)| owner != declared.plugin || before != text) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Brings the declared tables of a plugin to their declared form. `tables` are those of earlier
/// plugins.
pub(crate) async fn install(
    change: &mut Change,
    tables: &Tables,
    declared: Declared<'_>,
) -> Result<()> {
    apply(change, tables, declared).await.map_err(|error| told(declared, error))
}

/// Refuses what [`install`] would refuse before its first statement. Only reads.
pub(crate) async fn check(db: &Db, tables: &Tables, declared: Declared<'_>) -> Result<()> {
    for table in in_order_of_reference(declared)? {
        fill(&mut Plan::of(db), tables, declared, table).await?;
    }
    Ok(())
}

/// Reports the engine's own message, because the operator wrote the declaration or knows who did.
fn told(declared: Declared<'_>, error: Error) -> Error {
    match error.database() {
        Some(sqlx::Error::Database(cause)) if error.code() == Code::Internal => {
            load_error(format!(
                "{}: the database refuses the declaration: {}.",
                declared.plugin,
                cause.message()
            ))
            .caused_by(error)
        }
        _ => error,
    }
}

async fn apply(change: &mut Change, tables: &Tables, declared: Declared<'_>) -> Result<()> {
    // Processes that start together install one after the other. Each reads the state that the last
    // one left.
    change.lock(Lock::SCHEMA).await?;
    for table in in_order_of_reference(declared)? {
        let mut plan = Plan::within(change);
        let Some(text) = fill(&mut plan, tables, declared, table).await? else { continue };
        for statement in plan.statements {
            change.script(AssertSqlSafe(statement)).await?;
        }
        change
            .run(sql::RECORD_DECLARATION, args![&table.name, declared.plugin, text, change.now()])
            .await?;
        change.touch(&table.name);
        change
            .audit(AuditEntry { action: "install", table: &table.name, id: "", columns: &[] })
            .await?;
    }
    Ok(())
}

/// Plans what a table needs. Returns the declaration to record; None when it needs nothing.
async fn fill(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    table: &TableDeclaration,
) -> Result<Option<String>> {
    let recorded: Option<(String, String)> =
        plan.optional(sql::DECLARATION, args![&table.name]).await?;
    let text = serde_json::to_string(table).map_err(Error::internal)?;
    match recorded {
        None => create(plan, tables, declared, table).await?,
        Some((owner, _)) if owner != declared.plugin => {
            return Err(load_error(format!(
                "{}: the table {} belongs to the plugin {owner}.",
                declared.plugin, table.name
            )));
        }
        Some((_, before)) if before == text => return Ok(None),
        Some((_, before)) => extend(plan, tables, declared, table, &before).await?,
    }
    Ok(Some(text))
}

/// Sorts referenced tables first, because a foreign key needs them.
fn in_order_of_reference(declared: Declared<'_>) -> Result<Vec<&TableDeclaration>> {
    let mut waiting: Vec<_> = declared.tables.iter().filter(|table| !table.adopt).collect();
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let blocked = |table: &TableDeclaration| {
            let mut targets = table.columns.iter().filter_map(|c| c.references.as_deref());
            targets.any(|target| target != table.name && waiting.iter().any(|w| w.name == target))
        };
        let Some(free) = waiting.iter().position(|table| !blocked(table)) else {
            let names: Vec<_> = waiting.iter().map(|t| t.name.as_str()).collect();
            return Err(load_error(format!(
                "The tables {} refer to each other in a circle: leave one `references` out.",
                names.join(", ")
            )));
        };
        ordered.push(waiting.remove(free));
    }
    Ok(ordered)
}

async fn create(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    table: &TableDeclaration,
) -> Result<()> {
    let dialect = plan.dialect();
    if plan.describe(&table.name).await?.is_some() {
        return Err(load_error(format!(
            "{}: the database has a table {} that this service did not make: serve it with \
             \"adopt\": true, or choose another name.",
            declared.plugin, table.name
        )));
    }
    let mut columns = Vec::new();
    if table.multilanguage {
        columns.push((own("base_id", Kind::Integer), String::new()));
        columns.push((own("language_short", Kind::Text), " not null".to_owned()));
    }
    for column in &table.columns {
        let target = target(plan, tables, declared, column).await?;
        columns.push((
            own(&column.name, kind(column)?),
            definition(dialect, column, target.as_deref())?,
        ));
    }
    plan.add(dialect.create_table(&table.name, &columns));
    if table.multilanguage {
        index(plan, true, &table.name, &["base_id", "language_short"]);
    }
    for column in &table.columns {
        index_column(plan, table, column);
    }
    Ok(())
}

async fn extend(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    table: &TableDeclaration,
    before: &str,
) -> Result<()> {
    let before: TableDeclaration = serde_json::from_str(before).map_err(Error::internal)?;
    let mut losses = Vec::new();
    for old in &before.columns {
        match table.columns.iter().find(|c| c.name == old.name) {
            None => losses.push(loss(plan, table, &old.name, "would be dropped").await?),
            Some(new) if new.kind() != old.kind() => {
                losses.push(loss(plan, table, &old.name, "would change its type").await?)
            }
            Some(_) => {}
        }
    }
    if before.multilanguage && !table.multilanguage {
        losses.push("language versions would be mixed".to_owned());
    }
    if !losses.is_empty() {
        return Err(load_error(format!(
            "{}: {} was not changed, because data would be lost: {}.",
            declared.plugin,
            table.name,
            losses.join("; ")
        )));
    }
    if table.multilanguage && !before.multilanguage {
        return Err(load_error(format!(
            "{}: {} has rows without a language: make a new table for language versions.",
            declared.plugin, table.name
        )));
    }
    let dialect = plan.dialect();
    for column in &table.columns {
        if let Some(old) = before.columns.iter().find(|old| old.name == column.name) {
            alter(plan, declared, table, old, column).await?;
            continue;
        }
        if column.required && column.default.is_none() {
            return Err(load_error(format!(
                "{}: {}.{} is new and required, so it needs a default for the rows that exist.",
                declared.plugin, table.name, column.name
            )));
        }
        let kind = kind(column)?;
        let target = target(plan, tables, declared, column).await?;
        let sql = format!(
            "alter table {} add column {} {}{}",
            quote(&table.name),
            quote(&column.name),
            dialect.declared_type(kind),
            definition(dialect, column, target.as_deref())?
        );
        plan.add(sql);
        index_column(plan, table, column);
    }
    Ok(())
}

/// Applies a changed declaration of an existing column. SQLite cannot alter columns, so changes
/// that need this are refused on both engines.
async fn alter(
    plan: &mut Plan<'_>,
    declared: Declared<'_>,
    table: &TableDeclaration,
    old: &ColumnDeclaration,
    new: &ColumnDeclaration,
) -> Result<()> {
    let at = format!("{}: {}.{}", declared.plugin, table.name, new.name);
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
        return Err(load_error(format!(
            "{at} exists, so its `{what}` stays {was}: declare it so again, or declare another \
             column and copy the values."
        )));
    }
    if old.unique == new.unique {
        return Ok(());
    }
    let (name, column) = (quote(&table.name), quote(&new.name));
    if new.unique {
        let sql = format!(
            "select count(*) from {name} where {column} in (select {column} from {name} group by \
             {column} having count(*) > 1)"
        );
        let rows = plan.count(AssertSqlSafe(sql)).await?;
        if rows > 0 {
            return Err(load_error(format!(
                "{at} cannot become unique: {rows} rows share their value with another one."
            )));
        }
    }
    // A reference has a plain index of the same name; the unique index replaces it.
    plan.add(format!("drop index if exists {}", index_name(&table.name, &[&new.name])));
    index_column(plan, table, new);
    Ok(())
}

async fn loss(
    plan: &mut Plan<'_>,
    table: &TableDeclaration,
    column: &str,
    what: &str,
) -> Result<String> {
    let sql = format!("select count({}) from {}", quote(column), quote(&table.name));
    let rows = plan.count(AssertSqlSafe(sql)).await?;
    Ok(format!("column {column} {what} ({rows} rows have a value)"))
}

fn own(name: &str, kind: Kind) -> Col<'_> {
    Col { name, kind, native: "", own: true }
}

fn kind(column: &ColumnDeclaration) -> Result<Kind> {
    column.kind().ok_or_else(|| load_error(format!("column {} has no known type", column.name)))
}

/// The database name of the table that a column refers to. Its key must be `id` and have the
/// column's type.
async fn target(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    column: &ColumnDeclaration,
) -> Result<Option<String>> {
    let Some(name) = &column.references else { return Ok(None) };
    let wrong = |what: String| {
        Err(load_error(format!("{}: {} refers to {name:?}, {what}.", declared.plugin, column.name)))
    };
    let (source, key) = match (declared.tables.iter().find(|t| t.name == *name), tables.find(name))
    {
        (Some(other), _) if !other.adopt => (name.clone(), vec![("id".to_owned(), Kind::Integer)]),
        (Some(other), _) => {
            let source = other.source.as_ref().unwrap_or(name);
            let described = plan.describe(source).await?;
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
                "which is no content table of this plugin or of an earlier one".to_owned(),
            );
        }
    };
    match key.as_slice() {
        [(id, kind)] if id == "id" && column.kind() == Some(*kind) => Ok(Some(source)),
        [(id, kind)] if id == "id" => wrong(format!("whose id is of another type ({kind:?})")),
        _ => wrong("whose key is not `id`".to_owned()),
    }
}

/// ` not null default ... references ...`
fn definition(
    dialect: Dialect,
    column: &ColumnDeclaration,
    target: Option<&str>,
) -> Result<String> {
    let mut sql = String::new();
    if column.required {
        sql.push_str(" not null");
    }
    if let Some(default) = column.default.as_ref().filter(|v| !v.is_null()) {
        let kind = kind(column)?;
        let like = Column {
            name: column.name.clone(),
            kind,
            field_type: String::new(),
            required: false,
            has_default: false,
            generated: false,
            references: None,
            length: None,
            nullable: true,
            cast: String::new(),
            own: true,
        };
        let value = check::value(&like, dialect, default)
            .map_err(|e| load_error(format!("default of {}: {}", e.field, e.message)))?;
        sql.push_str(" default ");
        sql.push_str(&dialect.literal(&dialect.stored(like.col(), value)));
    }
    if let Some(target) = target {
        sql.push_str(&format!(" references {} (\"id\")", quote(target)));
    }
    Ok(sql)
}

fn index_column(plan: &mut Plan<'_>, table: &TableDeclaration, column: &ColumnDeclaration) {
    if column.unique || column.references.is_some() {
        index(plan, column.unique, &table.name, &[&column.name]);
    }
}

fn index(plan: &mut Plan<'_>, unique: bool, table: &str, columns: &[&str]) {
    let unique = if unique { "unique " } else { "" };
    let name = index_name(table, columns);
    let columns: Vec<_> = columns.iter().map(|c| quote(c)).collect();
    plan.add(format!("create {unique}index {name} on {} ({})", quote(table), columns.join(", ")));
}

fn index_name(table: &str, columns: &[&str]) -> String {
    quote(&format!("{table}_{}", columns.join("_")))
}
