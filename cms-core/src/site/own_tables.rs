//! Tables of the embedding program, made by steps of SQL that the database remembers.

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::{
    Actor, Change, Clock, Code, Error, Random, Result,
    db::{Db, Dialect, Lock, args},
    events::Outbox,
};

pub(crate) mod sql {
    crate::db::statements! {
        APPLIED = "select name, step, sql, tables from cms_own_tables order by name, step";
        /// All steps of one name list the same tables.
        LIST = "update cms_own_tables set tables = $2 where name = $1";
        RECORD = "insert into cms_own_tables (name, step, sql, tables, applied_at) values ($1, \
                  $2, $3, $4, $5)";
    }
}

/// Statements that a step must not contain, by their first word: they would end the transaction of
/// the steps, or affect more than it.
const REFUSED: [&str; 13] = [
    "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "set",
    "pragma", "attach", "detach", "vacuum",
];
const MAX_NAME: usize = 40;

/// Tables of the embedding program, and the SQL that creates them. The steps run when the site
/// opens, after the steps of the service and before plugins load, in one transaction, each once.
/// Never edit a step that was applied: add another step instead.
///
/// One text serves both engines. These tokens stand for engine-specific SQL: `{{id}}` a
/// primary key that counts up, `{{json}}` a JSON type, `{{bytes}}` a type for bytes,
/// `{{false}}` and `{{true}}`, `{{strict}}` SQLite's mark of STRICT tables. Other types are
/// `TEXT`, `BIGINT`, `BOOLEAN` and `DOUBLE PRECISION`, in capitals. Texts, quoted names and
/// comments are not changed.
///
/// ```
/// use cms_core::{Cms, OwnTables, settings::Settings};
///
/// const LEDGER: OwnTables = OwnTables::new("ledger", &["ledger"], &[
///     "create table ledger (id {{id}}, account TEXT not null, cents BIGINT not null) {{strict}}",
///     "create index ledger_by_account on ledger (account)",
/// ]);
/// let builder = Cms::builder(Settings::default()).own_tables(LEDGER);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OwnTables {
    pub(super) name: &'static str,
    pub(super) tables: &'static [&'static str],
    steps: &'static [&'static str],
}

impl OwnTables {
    /// `name` is 1 to 40 of `a-z`, `0-9` and `_`, and must not change. `tables` are all tables
    /// that exist after the last step. Names of tables and columns are in lower case and do not
    /// begin with `cms_`; names of tables do not begin with `sqlite_` or `pg_` either.
    #[must_use]
    pub const fn new(
        name: &'static str,
        tables: &'static [&'static str],
        steps: &'static [&'static str],
    ) -> Self {
        Self { name, tables, steps }
    }

    /// The list of tables as the database stores it.
    fn list(&self) -> String {
        json!(self.tables).to_string()
    }

    /// Whether all applied steps list these tables.
    fn is_listed(&self, applied: &[Applied]) -> bool {
        let list = self.list();
        applied.iter().filter(|(name, ..)| name == self.name).all(|(.., tables)| *tables == list)
    }

    fn problems(&self, dialect: Dialect) -> Vec<String> {
        let mut problems = Vec::new();
        let mut problem = |what: String| problems.push(format!("{}: {what}", self.name));
        let is_word = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_');
        let is_name = |name: &str| (1..=63).contains(&name.len()) && name.chars().all(is_word);
        if self.steps.is_empty() {
            problem("steps are missing".to_owned());
        }
        if self.name.len() > MAX_NAME || !is_name(self.name) {
            problem(format!("a name is 1 to {MAX_NAME} of a-z, 0-9 and _"));
        }
        for table in self.tables {
            let is_taken = ["cms_", "sqlite_", "pg_"].iter().any(|own| table.starts_with(own));
            if is_taken || !is_name(table) {
                problem(format!(
                    "a table is named by a-z, 0-9 and _, not beginning with cms_, sqlite_ or pg_: \
                     {table:?} is not"
                ));
            }
        }
        for (at, step) in (1..).zip(self.steps) {
            let text = step.to_lowercase();
            for words in dialect.statements(step) {
                if let Some(word) = words.first().filter(|word| REFUSED.contains(&word.as_str())) {
                    problem(format!("step {at} has {word:?}: all steps run in one transaction"));
                }
                // That would undo the changes of others that share the commit.
                if words.windows(3).any(|three| three == ["on", "conflict", "rollback"]) {
                    problem(format!(
                        "step {at} has \"on conflict rollback\": leave it out, a value that is \
                         there already is refused anyway"
                    ));
                }
            }
            let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(word) = words.find(|word| word.starts_with("cms_")) {
                problem(format!("step {at} has {word:?}: names with cms_ belong to the service"));
            }
            if text.contains("u&") {
                problem(format!("step {at} has a text with u&: write its letters"));
            }
        }
        problems
    }
}

/// An applied step: its name, number, text and tables.
pub(super) type Applied = (String, i64, String, String);

/// With `apply`, applies the missing steps; otherwise refuses a database that lacks one.
///
/// # Errors
/// `validation_failed` for invalid steps; `unavailable` when steps were edited, and when the
/// database has more steps, lacks some that may not be applied, or refuses one.
pub(super) async fn make(
    own: &[OwnTables],
    (db, clock, random): (&Db, &Clock, &Random),
    apply: bool,
) -> Result<()> {
    let mut problems: Vec<_> = own.iter().flat_map(|one| one.problems(db.dialect())).collect();
    let mut seen = BTreeSet::new();
    for one in own.iter().filter(|one| !seen.insert(one.name)) {
        problems.push(format!("{}: two have this name", one.name));
    }
    if !problems.is_empty() {
        let why = format!("Own tables cannot be made: {}.", problems.join("; "));
        return Err(Error::new(Code::ValidationFailed, why));
    }
    if own.is_empty() {
        return Ok(());
    }
    let applied: Vec<Applied> = db.all(sql::APPLIED, Vec::new()).await?;
    match pending(own, &applied)?.first() {
        Some((one, at, _)) if !apply => {
            let why =
                format!("step {at} of {} is missing, and this opening writes nothing", one.name);
            return Err(refused(why));
        }
        None if !apply || own.iter().all(|one| one.is_listed(&applied)) => return Ok(()),
        _ => {}
    }
    let outbox = Outbox::default();
    let mut change = Change::begin(db, clock, random, &outbox, Actor::System, true).await?;
    change.lock_within(Lock::SCHEMA, 0).await?;
    let applied = change.all(sql::APPLIED, Vec::new()).await?;
    for (one, at, step) in pending(own, &applied)? {
        add(&mut change, &(one.name.to_owned(), at, step.to_owned(), one.list())).await?;
    }
    for OwnTables { name, tables, .. } in own {
        for table in *tables {
            let Some(made) = change.describe(table).await? else {
                return Err(refused(format!("the steps of {name} make no table {table}")));
            };
            // PostgreSQL stores unquoted names in lower case, SQLite as they are written.
            let is_large = |name: &str| name.chars().any(char::is_uppercase);
            if let Some(column) = made.columns.iter().find(|column| is_large(&column.name)) {
                let why = format!("{table}.{}: names are written in small letters", column.name);
                return Err(refused(why));
            }
        }
    }
    for one in own.iter().filter(|one| !one.is_listed(&applied)) {
        change.run(sql::LIST, args![one.name, one.list()]).await?;
    }
    change.commit().await
}

/// All applied steps, of whichever program.
#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub(super) async fn applied(db: &Db) -> Result<Vec<Applied>> {
    db.all(sql::APPLIED, Vec::new()).await
}

/// Creates the own tables of one database in another, by the same steps.
///
/// # Errors
/// `conflict` when the other database has steps that the first lacks.
#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub(super) async fn make_as(wanted: &[Applied], target: &Db, change: &mut Change) -> Result<()> {
    let there = applied(target).await?;
    let is_in = |step: &Applied, all: &[Applied]| {
        all.iter().any(|one| (&one.0, one.1, &one.2) == (&step.0, step.1, &step.2))
    };
    if let Some((name, at, ..)) = there.iter().find(|step| !is_in(step, wanted)) {
        let why = format!(
            "The target has step {at} of the own tables {name}, which the source has not: empty it."
        );
        return Err(Error::new(Code::Conflict, why));
    }
    for step in wanted.iter().filter(|step| !is_in(step, &there)) {
        add(change, step).await?;
    }
    Ok(())
}

/// The tables that steps list.
#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub(super) fn names(applied: &[Applied]) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for (.., tables) in applied {
        names.extend(serde_json::from_str::<Vec<String>>(tables).map_err(Error::internal)?);
    }
    Ok(names)
}

async fn add(change: &mut Change, (name, at, step, tables): &Applied) -> Result<()> {
    let script = AssertSqlSafe(change.dialect().fill(step));
    change.script(script).await.map_err(|error| {
        let cause = error.database().map_or_else(|| error.to_string(), ToString::to_string);
        refused(format!("step {at} of {name} failed: {cause}")).caused_by(error)
    })?;
    let now = change.now();
    change.run(sql::RECORD, args![name, *at, step, tables, now]).await.map(drop)
}

fn refused(why: String) -> Error {
    Error::new(Code::Unavailable, format!("Own tables cannot be made: {why}."))
}

/// The steps that are not applied, each with its number.
fn pending<'o>(
    own: &'o [OwnTables],
    applied: &[Applied],
) -> Result<Vec<(&'o OwnTables, i64, &'static str)>> {
    let mut pending = Vec::new();
    let same = |text: &str| text.replace("\r\n", "\n");
    for one in own {
        let found: Vec<_> = applied.iter().filter(|(name, ..)| name == one.name).collect();
        if found.len() > one.steps.len() {
            return Err(refused(format!(
                "the database has {} steps of {}, and this program knows {}: run a newer one",
                found.len(),
                one.name,
                one.steps.len()
            )));
        }
        for (at, step) in (1..).zip(one.steps) {
            match found.iter().find(|(_, number, ..)| *number == at) {
                Some((.., text, _)) if same(text) != same(step) => {
                    return Err(refused(format!(
                        "step {at} of {} differs from the text that was applied: leave it as it \
                         was, and add another",
                        one.name
                    )));
                }
                Some(_) => {}
                None => pending.push((one, at, *step)),
            }
        }
    }
    Ok(pending)
}
