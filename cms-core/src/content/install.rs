//! Brings the tables that plugins declare to their declared form. Additions happen automatically; a
//! change that would lose data is refused.

use std::{collections::BTreeSet, sync::Arc};

use sqlx::AssertSqlSafe;

use super::{
    Declared, TableDeclaration, Tables,
    create::create,
    extend, index,
    plan::{Action, Build, Changes, Plan},
    resolve::load_error,
};
use crate::{
    AuditEntry, Change, Code, Error, Result,
    db::{Db, Fault, IndexState, Lock, NewIndex, args},
};

/// How far the tables of a plugin match their declaration. A later variant misses more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// They match.
    Current,
    /// They have indexes that are no longer declared.
    Surplus,
    /// They lack only indexes that no rule needs.
    Unindexed,
    /// They lack more.
    Behind,
}

/// Compares the tables of a plugin with their declaration.
pub(crate) async fn standing(db: &Db, declared: Declared<'_>) -> Result<Standing> {
    let mut standing = Standing::Current;
    for table in declared.tables.iter().filter(|table| !table.adopt) {
        standing = standing.max(standing_of(db, declared.plugin, table).await?);
    }
    Ok(standing)
}

async fn standing_of(db: &Db, plugin: &str, table: &TableDeclaration) -> Result<Standing> {
    let recorded: Option<(String, String)> =
        db.optional(super::DECLARATION, args![&table.name]).await?;
    let Some((_, before)) = recorded.filter(|(owner, _)| owner == plugin) else {
        return Ok(Standing::Behind);
    };
    let recorded = if before == text(table)? {
        Standing::Current
    } else if before == text(&kept(table, &before)?)? {
        Standing::Surplus
    } else {
        return Ok(Standing::Behind);
    };
    let wanted = index::of(table);
    if wanted.is_empty() {
        return Ok(recorded);
    }
    let found: Vec<IndexState> = db.all(db.dialect().index_states(), args![&table.name]).await?;
    let is_there = |index: &index::Index| {
        found.iter().any(|f| f.name == index.name && f.unique == index.unique && f.valid)
    };
    let missing = wanted.iter().filter(|index| !is_there(index));
    let missing = missing
        .map(|index| if index.unique { Standing::Behind } else { Standing::Unindexed })
        .max();
    Ok(recorded.max(missing.unwrap_or(Standing::Current)))
}

fn text(table: &TableDeclaration) -> Result<String> {
    serde_json::to_string(table).map_err(Error::internal)
}

/// The table, with the indexes and rules that only its recorded declaration has.
fn kept(table: &TableDeclaration, recorded: &str) -> Result<TableDeclaration> {
    let before = serde_json::from_str(recorded).map_err(Error::internal)?;
    Ok(table.with_indexes_of(&before))
}

/// Adds the indexes and rules that tables still have, although they are no longer declared.
pub(crate) async fn keep_indexes(db: &Db, tables: &mut [TableDeclaration]) -> Result<()> {
    for table in tables.iter_mut().filter(|table| !table.adopt) {
        let recorded: Option<(String, String)> =
            db.optional(super::DECLARATION, args![&table.name]).await?;
        if let Some((_, before)) = recorded {
            *table = kept(table, &before)?;
        }
    }
    Ok(())
}

/// What [`install`] would do and refuse. Only reads. `tables` are the tables of earlier plugins.
pub(crate) async fn changes(db: &Db, tables: &Tables, declared: Declared<'_>) -> Result<Changes> {
    Ok(planned(Plan::of(db), tables, declared).await?.changes)
}

/// Whether none of the tables that are to be made exists yet, and none of them refers to any other
/// table.
pub(crate) async fn is_new(db: &Db, declared: Declared<'_>) -> Result<bool> {
    for table in declared.tables.iter().filter(|table| !table.adopt) {
        let is_own = |name: &str| declared.tables.iter().any(|own| own.name == name && !own.adopt);
        let mut targets = table.columns.iter().filter_map(|column| column.references.as_deref());
        if !targets.all(is_own) || db.describe(&table.name).await?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Brings the declared tables of a plugin to their declared form. Returns the indexes that the
/// caller must make after the commit. Indexes that are no longer declared are dropped only with
/// `exactly`.
pub(crate) async fn install(
    change: &mut Change,
    tables: &Tables,
    declared: Declared<'_>,
    exactly: bool,
) -> Result<Vec<Build>> {
    apply(change, tables, declared, exactly)
        .await
        .map_err(|error| with_engine_message(declared.plugin, error))
}

/// The tables that the database records for plugins, whether in service or not.
#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub(crate) async fn recorded(db: &Db) -> Result<Vec<TableDeclaration>> {
    let rows: Vec<(String, String)> = db.all(super::DECLARATIONS, args![]).await?;
    let read = |(_, text): &(String, String)| serde_json::from_str(text).map_err(Error::internal);
    rows.iter().map(read).collect()
}

/// The indexes that the tables of a plugin lack. Only reads: another process may be making them,
/// which blocks all writes on SQLite.
pub(crate) async fn lacking(
    db: &Db,
    tables: &Tables,
    declared: Declared<'_>,
) -> Result<Vec<Build>> {
    let mut plan = Plan::of(db);
    plan.exactly = false;
    let plan = planned(plan, tables, declared).await?;
    if plan.changes.refused.is_empty() {
        return Ok(plan.builds);
    }
    Err(load_error(plan.changes.refused.join(" ")))
}

/// Makes an index of a table that has rows. Readers go on; on PostgreSQL writers too. Returns
/// whether the index is still declared; otherwise nothing is made.
pub(crate) async fn build(db: &Db, plugin: &str, build: &Build) -> Result<bool> {
    let wanted = build.index.clone();
    let index = NewIndex {
        table: build.table.name.clone(),
        #[cfg(feature = "postgres")]
        name: build.index.name.clone(),
        create: build.index.create(db.dialect(), &build.table, true),
        declaration: super::DECLARATION,
        is_declared: Arc::new(move |text| {
            let table = serde_json::from_str::<TableDeclaration>(text);
            table.is_ok_and(|table| index::of(&table).contains(&wanted))
        }),
    };
    db.build_index(index).await.map_err(|error| with_engine_message(plugin, error))
}

/// Reports the engine's own message, because the operator wrote the declaration or knows who did.
pub(crate) fn with_engine_message(plugin: &str, error: Error) -> Error {
    match error.database() {
        Some(sqlx::Error::Database(cause))
            if error.code() == Code::Internal || error.fault() == Some(Fault::Forbidden) =>
        {
            let said = cause.message();
            load_error(format!("{plugin}: the database refuses the declaration: {said}."))
                .caused_by(error)
        }
        _ => error,
    }
}

async fn apply(
    change: &mut Change,
    tables: &Tables,
    declared: Declared<'_>,
    exactly: bool,
) -> Result<Vec<Build>> {
    // Processes that start together install one after the other. Each reads the state that the last
    // one left.
    change.lock(Lock::SCHEMA).await?;
    let mut plan = Plan::of(&mut *change);
    plan.exactly = exactly;
    let plan = planned(plan, tables, declared).await?;
    let Plan { script, recorded, builds, changes, .. } = plan;
    if !changes.refused.is_empty() {
        return Err(load_error(changes.refused.join(" ")));
    }
    for statement in script {
        change.script(AssertSqlSafe(statement)).await?;
    }
    for (table, text) in recorded {
        let args = args![&table, declared.plugin, text, change.now()];
        change.run(super::RECORD_DECLARATION, args).await?;
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
    match in_order_of_reference(declared.tables) {
        Ok(ordered) => {
            for table in ordered {
                fill(&mut plan, tables, declared, table).await?;
            }
        }
        Err(circles) => circles.iter().for_each(|circle| plan.refuse(in_a_circle(circle))),
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
    // Read before the declaration: a table that another process has made always has one.
    let is_there = plan.describe(&table.name).await?.is_some();
    let recorded: Option<(String, String)> =
        plan.optional(super::DECLARATION, args![&table.name]).await?;
    let mut text = text(table)?;
    let steps = plan.changes.steps.len();
    match recorded {
        None if is_there => {
            plan.refuse(format!(
                "{}: the database has a table {} that this service did not make: serve it with \
                 \"adopt\": true, or choose another name.",
                declared.plugin, table.name
            ));
            return Ok(());
        }
        None => create(plan, tables, declared, table).await?,
        Some((owner, _)) if owner != declared.plugin && !owner.is_empty() => {
            plan.refuse(format!(
                "{}: the table {} belongs to the plugin {owner}.",
                declared.plugin, table.name
            ));
            return Ok(());
        }
        Some((owner, before)) if before == text && owner == declared.plugin => {
            let at = format!("{}: {}", declared.plugin, table.name);
            return extend::indexes(plan, &at, table, None).await;
        }
        Some((owner, before)) => {
            extend::extend(plan, tables, declared, table, &before).await?;
            if !plan.exactly {
                text = self::text(&kept(table, &before)?)?;
            }
            // A plugin that gave the table up has left it to the next one that declares it.
            if before == text && owner == declared.plugin {
                return Ok(());
            }
        }
    }
    if plan.changes.steps.len() == steps {
        plan.step(Action::Record, &table.name, Vec::new());
    }
    plan.recorded.push((table.name.clone(), text));
    Ok(())
}

/// What is wrong with tables that refer to each other in a circle.
pub(crate) fn in_a_circle(tables: &[&TableDeclaration]) -> String {
    let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    format!(
        "The tables {} refer to each other in a circle: leave one `references` out.",
        names.join(", ")
    )
}

/// Sorts referenced tables first, because a foreign key needs them. Otherwise returns the circles:
/// tables that refer to each other, directly or through others.
pub(crate) fn in_order_of_reference(
    tables: &[TableDeclaration],
) -> std::result::Result<Vec<&TableDeclaration>, Vec<Vec<&TableDeclaration>>> {
    let mut waiting: Vec<_> = tables.iter().filter(|table| !table.adopt).collect();
    let mut ordered = Vec::new();
    let waits = |all: &[&TableDeclaration], table: &TableDeclaration| {
        all.iter().any(|other| refers(table, &other.name))
    };
    while let Some(free) = waiting.iter().position(|table| !waits(&waiting, table)) {
        ordered.push(waiting.remove(free));
    }
    if waiting.is_empty() {
        return Ok(ordered);
    }
    let reaches: Vec<_> = waiting.iter().map(|table| reached(&waiting, table)).collect();
    let mut circles: Vec<Vec<&TableDeclaration>> = Vec::new();
    for (table, far) in waiting.iter().zip(&reaches) {
        let is_told = circles.iter().flatten().any(|one| one.name == table.name);
        // A table that only refers to a circle is not in it.
        if is_told || !far.contains(table.name.as_str()) {
            continue;
        }
        let others = waiting.iter().zip(&reaches);
        let back = others.filter(|(other, theirs)| {
            far.contains(other.name.as_str()) && theirs.contains(table.name.as_str())
        });
        circles.push(back.map(|(other, _)| *other).collect());
    }
    Err(circles)
}

/// Whether a table refers to this other one.
fn refers(table: &TableDeclaration, target: &str) -> bool {
    let mut targets = table.columns.iter().filter_map(|column| column.references.as_deref());
    target != table.name && targets.any(|name| name == target)
}

/// The tables that one refers to, directly or through others.
fn reached<'t>(all: &[&'t TableDeclaration], from: &'t TableDeclaration) -> BTreeSet<&'t str> {
    let (mut found, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(table) = todo.pop() {
        for &other in all.iter().filter(|other| refers(table, &other.name)) {
            if found.insert(other.name.as_str()) {
                todo.push(other);
            }
        }
    }
    found
}
