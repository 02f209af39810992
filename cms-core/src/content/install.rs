//! Brings the tables that plugins declare to their declared form. Additions happen automatically; a
//! change that would lose data is refused.

use sqlx::AssertSqlSafe;

use super::{
    Declared, TableDeclaration, Tables,
    changes::{Action, Changes},
    create::create,
    extend, index,
    plan::{Build, Plan},
    resolve::load_error,
    sql,
};
use crate::{
    AuditEntry, Change, Code, Error, Result,
    db::{Db, IndexState, Lock, args},
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
        let wanted = index::of(table);
        if wanted.is_empty() {
            continue;
        }
        let found: Vec<IndexState> =
            db.all(db.dialect().index_states(), args![&table.name]).await?;
        let is_there = |index: &index::Index| {
            found.iter().any(|f| f.name == index.name && f.unique == index.unique && f.valid)
        };
        if !wanted.iter().all(is_there) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What [`install`] would do and refuse. Only reads. `tables` are those of earlier plugins.
pub(crate) async fn changes(db: &Db, tables: &Tables, declared: Declared<'_>) -> Result<Changes> {
    Ok(planned(Plan::of(db), tables, declared).await?.changes)
}

/// Brings the declared tables of a plugin to their declared form, but for the indexes it returns:
/// they are to be made when the change is committed.
pub(crate) async fn install(
    change: &mut Change,
    tables: &Tables,
    declared: Declared<'_>,
) -> Result<Vec<Build>> {
    apply(change, tables, declared).await.map_err(|error| told(declared.plugin, error))
}

/// Makes an index of a table that has rows. Readers go on; on PostgreSQL writers too.
pub(crate) async fn build(db: &Db, plugin: &str, build: &Build) -> Result<()> {
    let create = build.index.create(db.dialect(), &build.table, true);
    let built = db.build_index(&build.table.name, &build.index.name, create).await;
    built.map_err(|error| told(plugin, error))
}

/// Reports the engine's own message, because the operator wrote the declaration or knows who did.
fn told(plugin: &str, error: Error) -> Error {
    match error.database() {
        Some(sqlx::Error::Database(cause)) if error.code() == Code::Internal => load_error(
            format!("{plugin}: the database refuses the declaration: {}.", cause.message()),
        )
        .caused_by(error),
        _ => error,
    }
}

async fn apply(change: &mut Change, tables: &Tables, declared: Declared<'_>) -> Result<Vec<Build>> {
    // Processes that start together install one after the other. Each reads the state that the last
    // one left.
    change.lock(Lock::SCHEMA).await?;
    let plan = planned(Plan::within(change), tables, declared).await?;
    let Plan { script, recorded, builds, changes, .. } = plan;
    if !changes.refused.is_empty() {
        return Err(load_error(changes.refused.join(" ")));
    }
    for statement in script {
        change.script(AssertSqlSafe(statement)).await?;
    }
    for (table, text) in recorded {
        let args = args![&table, declared.plugin, text, change.now()];
        change.run(sql::RECORD_DECLARATION, args).await?;
        change.touch(&table);
        let entry = AuditEntry { action: "install", table: &table, id: "", columns: &[] };
        change.audit(entry).await?;
    }
    Ok(builds)
}

async fn planned<'a>(
    mut plan: Plan<'a>,
    tables: &Tables,
    declared: Declared<'_>,
) -> Result<Plan<'a>> {
    match in_order_of_reference(declared) {
        Ok(ordered) => {
            for table in ordered {
                fill(&mut plan, tables, declared, table).await?;
            }
        }
        Err(circle) => plan.refuse(circle),
    }
    Ok(plan)
}

/// Plans what a table needs.
async fn fill(
    plan: &mut Plan<'_>,
    tables: &Tables,
    declared: Declared<'_>,
    table: &TableDeclaration,
) -> Result<()> {
    let recorded: Option<(String, String)> =
        plan.optional(sql::DECLARATION, args![&table.name]).await?;
    let text = serde_json::to_string(table).map_err(Error::internal)?;
    let steps = plan.changes.steps.len();
    match recorded {
        None => create(plan, tables, declared, table).await?,
        Some((owner, _)) if owner != declared.plugin => {
            plan.refuse(format!(
                "{}: the table {} belongs to the plugin {owner}.",
                declared.plugin, table.name
            ));
            return Ok(());
        }
        Some((_, before)) if before == text => {
            let at = format!("{}: {}", declared.plugin, table.name);
            return extend::indexes(plan, &at, table, None).await;
        }
        Some((_, before)) => extend::extend(plan, tables, declared, table, &before).await?,
    }
    if plan.changes.steps.len() == steps {
        plan.step(Action::Record, &table.name, Vec::new());
    }
    plan.recorded.push((table.name.clone(), text));
    Ok(())
}

/// Sorts referenced tables first, because a foreign key needs them.
fn in_order_of_reference(
    declared: Declared<'_>,
) -> std::result::Result<Vec<&TableDeclaration>, String> {
    let mut waiting: Vec<_> = declared.tables.iter().filter(|table| !table.adopt).collect();
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let blocked = |table: &TableDeclaration| {
            let mut targets = table.columns.iter().filter_map(|c| c.references.as_deref());
            targets.any(|target| target != table.name && waiting.iter().any(|w| w.name == target))
        };
        let Some(free) = waiting.iter().position(|table| !blocked(table)) else {
            let names: Vec<_> = waiting.iter().map(|t| t.name.as_str()).collect();
            return Err(format!(
                "The tables {} refer to each other in a circle: leave one `references` out.",
                names.join(", ")
            ));
        };
        ordered.push(waiting.remove(free));
    }
    Ok(ordered)
}
