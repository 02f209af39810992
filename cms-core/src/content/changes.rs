//! What a declaration changes in the database, and what it would lose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The difference between a declaration and the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Changes {
    /// What installing does, in this order.
    pub steps: Vec<Step>,
    /// What is in the way. Then nothing is done.
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
    /// To which table.
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
    /// Limits a column to other values, or to none any more.
    ChangeEnum,
    /// Makes an index, beside readers.
    CreateIndex,
    /// Makes an index that refuses a second row with the same values.
    CreateUnique,
    /// Removes an index that is declared no longer.
    DropIndex,
    /// Records the declaration; the table stays as it is.
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
