//! SQL of the embedding program, in the same transaction as records, events and audit rows.

use super::Items;
use crate::{
    Change, Code, Error, Result,
    content::core,
    db::{FromRow, Value},
};

/// Words that a statement of the program cannot begin with: they would end the transaction or
/// change the schema, which the service has read.
const ALLOWED: [&str; 5] = ["select", "insert", "update", "delete", "with"];

/// A statement of the embedding program under a change. Made by [`Items::sql`].
#[must_use = "a statement does nothing before `run`, `rows` or `optional`"]
pub struct OwnSql<'c> {
    items: &'c Items,
    change: &'c mut Change,
    text: &'static str,
    touched: Vec<&'static str>,
    values: Vec<Value>,
}

impl Items {
    /// A statement of your own on content tables, under `change`: it sees what the change wrote,
    /// and is kept or undone with it. One text serves both engines, with values as `$1`, `$2`...
    ///
    /// No rules of columns, hooks or events apply to what it writes; raise an event yourself with
    /// [`Change::emit`]. Tables of the service itself are read only through their rooms.
    ///
    /// ```no_run
    /// # async fn take(cms: cms_core::Cms) -> cms_core::Result<()> {
    /// let mut change = cms.change(cms_core::Actor::Operator).await?;
    /// let left = "update stock set amount = amount - $1 where sku = $2 and amount >= $1";
    /// let taken = cms.items().sql(&mut change, left).touches(["stock"]).bind(2).bind("bell");
    /// if taken.run().await? == 0 {
    ///     return Err(cms_core::Error::new(cms_core::Code::Conflict, "Too few bells are left."));
    /// }
    /// change.commit().await
    /// # }
    /// ```
    pub fn sql<'c>(&'c self, change: &'c mut Change, text: &'static str) -> OwnSql<'c> {
        OwnSql { items: self, change, text, touched: Vec::new(), values: Vec::new() }
    }
}

impl OwnSql<'_> {
    /// Names the content tables that the statement changes, so that no cache serves what was
    /// before.
    pub fn touches<const N: usize>(mut self, tables: [&'static str; N]) -> Self {
        self.touched.extend(tables);
        self
    }

    /// The next value: `$1`, then `$2`...
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Runs it. Returns the number of rows that it changed.
    ///
    /// # Errors
    /// `internal_error` for a statement that is not allowed here, that writes without
    /// [`OwnSql::touches`], or that the database refuses; `unknown_table`; `conflict` when a value
    /// is there already or a reference is broken. After an error of the database the change cannot
    /// be committed.
    pub async fn run(self) -> Result<u64> {
        self.check()?;
        let Self { change, text, touched, values, .. } = self;
        let done = change.run(text, values).await.map_err(explained)?;
        touched.into_iter().for_each(|table| change.touch(table));
        Ok(done)
    }

    /// Runs it, and reads its rows: as tuples such as `(i64, String)`, or as your own
    /// [`FromRow`].
    ///
    /// # Errors
    /// As [`OwnSql::run`], and `internal_error` for a column of another type.
    pub async fn rows<T: FromRow>(self) -> Result<Vec<T>> {
        self.check()?;
        let Self { change, text, touched, values, .. } = self;
        let rows = change.all(text, values).await.map_err(explained)?;
        touched.into_iter().for_each(|table| change.touch(table));
        Ok(rows)
    }

    /// As [`OwnSql::rows`]; only the first row.
    ///
    /// # Errors
    /// As [`OwnSql::rows`].
    pub async fn optional<T: FromRow>(self) -> Result<Option<T>> {
        Ok(self.rows().await?.into_iter().next())
    }

    fn check(&self) -> Result<()> {
        let words = words(self.text);
        let refused = |why: &str| Err(Error::internal(format!("{why}: {}", self.text)));
        if !words.first().is_some_and(|first| ALLOWED.contains(&first.as_str())) {
            return refused(
                "a statement of your own begins with one of select, insert, update, \
                            delete, with",
            );
        }
        if self.text.contains(';') {
            return refused("one statement at a time, without ';'; bind texts that hold one");
        }
        if words.iter().any(|word| word.starts_with("cms_")) {
            return refused("tables whose names begin with cms_ belong to the service");
        }
        let writes = ["insert", "update", "delete"];
        // `for update` locks rows and changes none.
        let locks = words.windows(2).any(|pair| pair == ["for", "update"]);
        let writes = words.iter().filter(|word| writes.contains(&word.as_str())).count();
        if writes > usize::from(locks) && self.touched.is_empty() {
            return refused("name the tables that it changes with `touches`");
        }
        for name in &self.touched {
            let table = self.items.table(name)?;
            if table.plugin == core::ID {
                return refused("tables of the service are written through their rooms");
            }
            if !words.contains(&table.source.to_lowercase()) {
                return refused("`touches` names a table that the statement does not");
            }
        }
        Ok(())
    }
}

/// The words outside of texts, in lower case.
fn words(sql: &str) -> Vec<String> {
    let outside = sql.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = outside.split(|c| !is_of_word(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn explained(error: Error) -> Error {
    let detail = match error.database() {
        Some(sqlx::Error::Database(cause)) if cause.is_unique_violation() => {
            "Another row already has this value. Nothing was changed."
        }
        Some(sqlx::Error::Database(cause)) if cause.is_foreign_key_violation() => {
            "A reference is broken: a row names a record that is missing, or is named by another. \
             Nothing was changed."
        }
        _ => return error,
    };
    Error::new(Code::Conflict, detail).caused_by(error)
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_read_outside_of_texts() {
        let sql = "UPDATE \"stock\" set a = 'it''s cms_x; delete' where n=$1";
        assert_eq!(super::words(sql), ["update", "stock", "set", "a", "where", "n", "1"]);
    }
}
