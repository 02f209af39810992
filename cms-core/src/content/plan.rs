//! A plan: what a declaration changes in the database, what it would lose, and the statements
//! that bring a table to its declared form. Making a plan only reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TableDeclaration, index::Index};
use crate::{
    Result,
    change::Reader,
    db::{DbTable, Dialect, FromRow, IndexState, Sql, Value, args},
};

/// What is to be done for the tables of a plugin.
pub(super) struct Plan<'a> {
    reader: Reader<'a>,
    /// Whether to drop indexes that are no longer declared.
    pub(super) exactly: bool,
    /// Statements for one change, in this order.
    pub(super) script: Vec<String>,
    /// Declarations to record with them.
    pub(super) recorded: Vec<(String, String)>,
    /// Indexes to make after that change: tables with rows get them while readers go on.
    pub(super) builds: Vec<Build>,
    pub(super) changes: Changes,
}

/// An index to be made.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) table: TableDeclaration,
    pub(crate) index: Index,
}

impl<'a> Plan<'a> {
    /// Plans from the committed state, or from the state that a change sees.
    pub(super) fn of(reader: impl Into<Reader<'a>>) -> Self {
        let (script, recorded, builds) = Default::default();
        let (reader, changes) = (reader.into(), Changes::default());
        Self { reader, exactly: true, script, recorded, builds, changes }
    }

    pub(super) fn run(&mut self, statement: String) {
        self.script.push(statement);
    }

    /// Adds a step to the changes.
    pub(super) fn step(&mut self, action: Action, table: &str, columns: Vec<String>) {
        self.changes.steps.push(Step { action, table: table.to_owned(), columns });
    }

    pub(super) fn refuse(&mut self, why: String) {
        self.changes.refused.push(why);
    }

    pub(super) fn lose(&mut self, table: &str, column: &str, rows: i64) {
        let (table, column) = (table.to_owned(), column.to_owned());
        self.changes.losses.push(Loss { table, column, rows });
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.reader.dialect()
    }

    pub(super) async fn describe(&mut self, table: &str) -> Result<Option<DbTable>> {
        let dialect = self.dialect();
        Ok(DbTable::of(dialect, self.all(dialect.columns(), args![table]).await?))
    }

    pub(super) async fn describe_adopted(&mut self, table: &str) -> Result<Option<DbTable>> {
        let dialect = self.dialect();
        Ok(DbTable::of(dialect, self.all(dialect.adopted_columns(), args![table]).await?))
    }

    /// The indexes that a table has.
    pub(super) async fn indexes(&mut self, table: &str) -> Result<Vec<IndexState>> {
        let states = self.dialect().index_states();
        self.all(states, args![table]).await
    }

    pub(super) async fn all<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        self.reader.all(sql, args).await
    }

    pub(super) async fn optional<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Option<T>> {
        self.reader.optional(sql, args).await
    }

    /// The number that a query returns.
    pub(super) async fn count(&mut self, sql: impl Into<Sql>) -> Result<i64> {
        let found: Option<(i64,)> = self.optional(sql, Vec::new()).await?;
        Ok(found.map_or(0, |(rows,)| rows))
    }
}

/// The difference between a declaration and the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Changes {
    /// What installing does, in this order.
    pub steps: Vec<Step>,
    /// Reasons for refusal. If there are any, nothing is done.
    pub refused: Vec<String>,
    /// Values that the declaration would lose; each is refused as well.
    pub losses: Vec<Loss>,
}

impl Changes {
    /// Whether the database has the declared form.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.refused.is_empty()
    }
}

/// One step of installing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// To which table; empty for a declaration that changes no table.
    pub table: String,
    /// The column, or the columns of an index: `-` before those that descend.
    pub columns: Vec<String>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Makes a table.
    CreateTable,
    /// Adds a column.
    AddColumn,
    /// Changes the allowed values of a column, or removes the limit.
    ChangeEnum,
    /// Makes an index, beside readers.
    CreateIndex,
    /// Makes an index that refuses a second row with the same values.
    CreateUnique,
    /// Removes an index that is declared no longer.
    DropIndex,
    /// Records the declaration; the tables stay as they are.
    Record,
    /// Serves a table no longer; its rows stay in the database.
    LeaveTable,
}

impl Action {
    /// As JSON spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CreateTable => "create_table",
            Self::AddColumn => "add_column",
            Self::ChangeEnum => "change_enum",
            Self::CreateIndex => "create_index",
            Self::CreateUnique => "create_unique",
            Self::DropIndex => "drop_index",
            Self::Record => "record",
            Self::LeaveTable => "leave_table",
        }
    }
}

/// Values that a declaration would lose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Loss {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// Rows that have a value there.
    pub rows: i64,
}
