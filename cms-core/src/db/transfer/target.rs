//! The target before the first row and after the last.

use std::collections::BTreeSet;

use super::{
    cell::literal,
    side::Side,
    state,
    table::{Table, TableRules},
};
use crate::{
    Code, Error, Result,
    db::{
        Db, Dialect,
        dialect::quote,
        migrate::{self, COPYING},
        save::postgres::{self, Sequence},
    },
};

const REFERENCES: &str = "select cast(r.relname as text), cast(c.conname as text), \
                          pg_get_constraintdef(c.oid) from pg_constraint c join pg_class r on \
                          r.oid = c.conrelid join pg_namespace n on n.oid = r.relnamespace \
                          where c.contype = 'f' and n.nspname = current_schema() \
                          order by r.relname, c.conname";
const NO_SCHEMA: &str = "select current_setting('search_path') where current_schema() is null";
/// A table follows, as the argument.
const BROKEN: &str = "select \"table\" || ' row ' || coalesce(rowid, '?') || ' names no row of ' \
                      || \"parent\" from pragma_foreign_key_check";
const MAX_BROKEN: usize = 20;
const COUNTED: &str = "select name, seq from sqlite_sequence order by name";

impl Side {
    /// The first table that holds rows which a user has made.
    pub(super) async fn first_used_table(
        &mut self,
        content: &BTreeSet<String>,
        rules: &TableRules,
    ) -> Result<Option<String>> {
        let is_ours = |name: &String| {
            (name.starts_with(rules.prefix) && !name.starts_with(rules.skipped))
                || content.contains(name)
        };
        for name in self.tables().await?.into_iter().filter(is_ours) {
            let found = rules.initial_rows.iter().find(|(table, _)| *table == name);
            let which = found.map_or("1 = 1", |(_, which)| which);
            let text = format!("select 'used' from {} where {which} limit 1", quote(&name));
            if !self.all::<(String,)>(text).await?.is_empty() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The schemas that the address names, when none of them is there.
    pub(super) async fn missing_schemas(&mut self) -> Result<Option<String>> {
        match self {
            Self::Sqlite(..) => Ok(None),
            Self::Postgres(_) => {
                let found: Vec<(String,)> = self.all(NO_SCHEMA).await?;
                Ok(found.into_iter().next().map(|(path,)| path))
            }
        }
    }

    /// Rows of these tables that refer to rows which do not exist. PostgreSQL has none.
    pub(super) async fn broken_references(&mut self, tables: &[Table]) -> Result<Vec<String>> {
        let mut broken = Vec::new();
        if self.dialect() == Dialect::Postgres {
            return Ok(broken);
        }
        for table in tables {
            let room = MAX_BROKEN - broken.len();
            let text = format!("{BROKEN}({}) limit {room}", literal(&table.name));
            let found: Vec<(String,)> = self.all(text).await?;
            broken.extend(found.into_iter().map(|(line,)| line));
        }
        Ok(broken)
    }

    /// Notes the source of the copy, and keeps sites from opening the database.
    pub(super) async fn mark(&mut self, source: &str) -> Result<()> {
        self.begin().await?;
        self.make_state().await?;
        self.set_value("source", source).await?;
        self.run(migrate::sql::TABLE).await?;
        self.run(format!(
            "insert into cms_migrations (version, name, checksum, applied_at) values ({COPYING}, \
             'an unfinished copy', '', 0) on conflict (version) do nothing"
        ))
        .await?;
        self.commit().await
    }

    /// Empties the tables, and drops the foreign keys between them, because rows come in any
    /// order.
    pub(super) async fn prepare(&mut self, tables: &[Table]) -> Result<()> {
        self.begin().await?;
        if self.dialect() == Dialect::Postgres {
            let names: Vec<_> = tables.iter().map(|table| quote(&table.name)).collect();
            let rules: Vec<(String, String, String)> = self.all(REFERENCES).await?;
            let rules = rules.iter().filter(|(of, ..)| tables.iter().any(|t| t.name == *of));
            for (number, (table, rule, what)) in rules.enumerate() {
                let (table, rule) = (quote(table), quote(rule));
                let add = format!("alter table {table} add constraint {rule} {what}");
                self.set_value(&format!("rule:{number:05}"), &add).await?;
                self.run(format!("alter table {table} drop constraint {rule}")).await?;
            }
            for name in &names {
                self.run(format!("alter table {name} disable trigger user")).await?;
            }
            self.run(format!("truncate {}", names.join(", "))).await?;
        } else {
            for table in tables {
                self.run(format!("delete from {}", quote(&table.name))).await?;
            }
            self.run("delete from sqlite_sequence").await?;
        }
        self.set_value("prepared", "").await?;
        self.commit().await
    }

    /// How far the ids of each table have counted.
    pub(super) async fn sequences(&mut self) -> Result<Vec<(String, i64)>> {
        match self {
            Self::Sqlite(..) => self.all(COUNTED).await,
            Self::Postgres(connection) => {
                let all = postgres::sequences(connection).await?;
                let counted = all.into_iter().filter_map(|sequence| {
                    let (table, _) = sequence.of?;
                    Some((table, sequence.last?))
                });
                Ok(counted.collect())
            }
        }
    }

    /// Lets ids go on where the source's would, so that no id is given twice.
    async fn go_on(&mut self, sequences: &[(String, i64)]) -> Result<()> {
        if let Self::Postgres(connection) = self {
            let mut all = postgres::sequences(connection).await?;
            for Sequence { of, last, .. } in &mut all {
                let table = of.as_ref().map(|(table, _)| table);
                let counted = sequences.iter().find(|(name, _)| Some(name) == table);
                *last = counted.map(|(_, last)| *last);
            }
            return postgres::settle(connection, &all).await;
        }
        for (table, last) in sequences {
            let name = literal(table);
            self.run(format!(
                "delete from sqlite_sequence where name = {name} and seq < {last}; \
                 insert into sqlite_sequence (name, seq) select {name}, {last} where not exists \
                 (select 1 from sqlite_sequence where name = {name}) and exists (select 1 from \
                 sqlite_schema where name = {name} and sql like '%autoincrement%')"
            ))
            .await?;
        }
        Ok(())
    }

    /// Restores the foreign keys, and makes the target a site that can be opened.
    pub(super) async fn finish(
        &mut self,
        tables: &[Table],
        sequences: &[(String, i64)],
        rules: &TableRules,
    ) -> Result<()> {
        self.begin().await?;
        self.run(rules.leases).await?;
        self.go_on(sequences).await?;
        for rule in self.values_with_prefix("rule:").await? {
            self.run(rule).await.map_err(|error| match error.database() {
                Some(sqlx::Error::Database(cause)) if error.code() == Code::Internal => {
                    let what = format!("Rows refer to rows that are missing: {}.", cause.message());
                    Error::new(Code::Conflict, what)
                }
                _ => error,
            })?;
        }
        let broken = self.broken_references(tables).await?;
        if !broken.is_empty() {
            let what = format!("Rows refer to rows that are missing: {}.", broken.join("; "));
            return Err(Error::new(Code::Conflict, what));
        }
        if self.dialect() == Dialect::Postgres {
            for table in tables {
                let name = quote(&table.name);
                self.run(format!("alter table {name} enable trigger user")).await?;
            }
        }
        self.run(state::DROP).await?;
        self.run(format!("delete from cms_migrations where version = {COPYING}")).await?;
        self.commit().await?;
        // Plans of queries need to know how large the tables are now.
        match self.dialect() {
            Dialect::Postgres => {
                let names: Vec<_> = tables.iter().map(|table| quote(&table.name)).collect();
                self.run(format!("analyze {}", names.join(", "))).await
            }
            Dialect::Sqlite => self.run("pragma wal_checkpoint(truncate)").await,
        }
    }
}

/// The steps of the schema that a database has, without the mark of an unfinished copy.
pub(super) async fn steps(db: &Db) -> Result<Vec<(i64, i64)>> {
    let steps: Vec<(i64, i64)> = db.all(state::MADE, Vec::new()).await?;
    Ok(steps.into_iter().filter(|(version, _)| *version != COPYING).collect())
}
