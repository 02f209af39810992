//! Fixed statements are declared through [`statements!`], so that a test can prepare them all and
//! traces can name them.

use sqlx::{SqlSafeStr, SqlStr};

use super::Value;

/// A fixed statement, and the path of its constant.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    name: &'static str,
    sql: &'static str,
}

impl Statement {
    pub(crate) const fn new(name: &'static str, sql: &'static str) -> Self {
        Self { name, sql }
    }

    /// The path of the constant, which traces and errors show instead of values.
    pub(crate) const fn name(self) -> &'static str {
        self.name
    }

    /// Its text.
    pub(crate) const fn sql(self) -> &'static str {
        self.sql
    }
}

/// The span of a statement that goes to the engine. A disabled span costs a comparison.
pub(super) fn span(name: &'static str) -> tracing::Span {
    tracing::trace_span!("statement", name)
}

/// A statement with its values, to be sent with others in one trip.
pub(crate) struct Step(pub(crate) Statement, pub(crate) Vec<Value>);

/// SQL to send: a [`Statement`], or a text that sqlx takes as safe.
pub struct Sql {
    pub(super) name: &'static str,
    pub(super) text: SqlStr,
}

impl Sql {
    /// The path of the constant, or `composed`.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl From<Statement> for Sql {
    fn from(statement: Statement) -> Self {
        Self { name: statement.name, text: statement.sql.into_sql_str() }
    }
}

impl<S: SqlSafeStr> From<S> for Sql {
    fn from(text: S) -> Self {
        Self { name: "composed", text: text.into_sql_str() }
    }
}

/// Declares `const` statements and a list of them named `ALL`.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) const $name: $crate::db::Statement = $crate::db::Statement::new(
                concat!(module_path!(), "::", stringify!($name)),
                $sql,
            );
        )*
        pub(crate) const ALL: &[$crate::db::Statement] = &[$($name),*];
    };
}
pub(crate) use statements;
