//! SQL of the embedding program, in the same transaction as records, events and audit rows.

use super::Items;
use crate::{
    Change, Code, Error, Result,
    content::core,
    db::{Dialect, FromRow, Token, Value},
};

/// The words that a statement of the program may begin with. Other statements could end the
/// transaction, or change the schema that the service has read.
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
    /// A statement of your own under `change`, on content tables and on those of
    /// [`Builder::own_tables`](crate::Builder::own_tables): the statement sees the change's
    /// writes, and is kept or undone with the change. One text serves both engines, with values as
    /// `$1`, `$2`... The text may hold neither string literals nor comments, because each of its
    /// words is judged: bind texts as values.
    ///
    /// Its writes skip the rules of columns, hooks and events; raise an event yourself
    /// with [`Change::emit`]. The service's own tables can be read and written only
    /// through their rooms.
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

    /// Raises the epochs of these tables. A plugin may serve an own table under another name.
    fn touch(&self, change: &mut Change, names: &[&str]) {
        let tables = self.0.registry.tables();
        for name in names {
            change.touch(name);
            let served = tables.iter().filter(|table| table.source == **name);
            served.for_each(|table| change.touch(&table.name));
        }
    }
}

impl OwnSql<'_> {
    /// Names the tables that the statement changes, so that no cache serves their old rows. Each
    /// table behind `update`, `insert into` and `delete from` must be among them.
    pub fn touches<const N: usize>(mut self, tables: [&'static str; N]) -> Self {
        self.touched.extend(tables);
        self
    }

    /// The next value: `$1`, then `$2`...
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Runs the statement. Returns the number of rows that it changed.
    ///
    /// # Errors
    /// `internal_error` for a statement that is not allowed here or writes a table without
    /// [`OwnSql::touches`], for values other than exactly `$1`, `$2`... of its text, and when the
    /// database refuses the statement. `unknown_table`. `conflict` when a value is there already
    /// or a reference is broken. After an error of the database the change cannot be committed.
    pub async fn run(self) -> Result<u64> {
        self.check()?;
        let Self { items, change, text, touched, values } = self;
        let done = change.run(text, values).await.map_err(explain_violation)?;
        items.touch(change, &touched);
        Ok(done)
    }

    /// Runs the statement and reads its rows: as tuples such as `(i64, String)`, or as your
    /// own [`FromRow`].
    ///
    /// # Errors
    /// As [`OwnSql::run`], and `internal_error` for a column of another type.
    pub async fn rows<T: FromRow>(self) -> Result<Vec<T>> {
        self.check()?;
        let Self { items, change, text, touched, values } = self;
        let rows = change.all(text, values).await.map_err(explain_violation)?;
        items.touch(change, &touched);
        Ok(rows)
    }

    /// As [`OwnSql::rows`]; only the first row.
    pub async fn optional<T: FromRow>(self) -> Result<Option<T>> {
        Ok(self.rows().await?.into_iter().next())
    }

    fn check(&self) -> Result<()> {
        let refused = |why: &str| Err(Error::internal(format!("{why}: {}", self.text)));
        let dialect = self.change.dialect();
        let judged = allowed_words(self.text)
            .and_then(|words| Ok((words, written_tables(dialect, self.text)?)));
        let (words, written) = match judged {
            Ok(judged) => judged,
            Err(why) => return refused(why),
        };
        if !written.is_empty() && self.touched.is_empty() {
            return refused("name the tables that it changes with `touches`");
        }
        let mut sources = Vec::new();
        for name in &self.touched {
            let source = match self.items.0.own.contains(name) {
                true => (*name).to_owned(),
                false => {
                    let table = self.items.table(name)?;
                    if table.plugin == core::ID {
                        return refused("tables of the service are written through their rooms");
                    }
                    table.source.to_lowercase()
                }
            };
            if !words.contains(&source) {
                return refused("`touches` names a table that the statement does not");
            }
            sources.push(source);
        }
        if let Some(table) = written.iter().find(|table| !sources.contains(table)) {
            return refused(&format!("it changes {table}, which `touches` does not name"));
        }
        dialect.expect_values(self.text, self.values.len()).or_else(|why| refused(&why))
    }
}

/// The words of an allowed statement, in lower case; the error says why a statement
/// is not allowed.
fn allowed_words(sql: &str) -> Result<Vec<String>, &'static str> {
    let sql = sql.to_lowercase();
    if sql.contains(['\'', ';']) || ["--", "/*", "u&"].iter().any(|part| sql.contains(part)) {
        return Err("one statement, without texts, comments and ';': bind texts");
    }
    // `$1` is a value, `$$` and `$tag$` would begin a text.
    if sql.split('$').skip(1).any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err("'$' begins a value such as $1");
    }
    let words = sql.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if !words.first().is_some_and(|first| ALLOWED.contains(&first.as_str())) {
        return Err(
            "a statement of your own begins with one of select, insert, update, delete, with",
        );
    }
    if words.iter().any(|word| word.starts_with("cms_")) {
        return Err("tables whose names begin with cms_ belong to the service");
    }
    for pair in words.windows(2) {
        match [pair[0].as_str(), &pair[1]] {
            // `or rollback` would undo the changes of others.
            ["insert" | "update", "or"] => return Err("write `on conflict` in place of `or`"),
            ["insert" | "replace", "into"] => {}
            [_, "into"] => return Err("`select into` makes a table: declare it in a plugin"),
            _ => {}
        }
    }
    Ok(words)
}

/// The tables that any part of a statement writes, in lower case. `for update` and
/// `for no key update` only lock; `do update` writes the table of its `insert`.
fn written_tables(dialect: Dialect, sql: &str) -> Result<Vec<String>, &'static str> {
    let sql = sql.to_lowercase();
    let tokens = dialect.tokens(&sql);
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => *word,
        _ => "",
    };
    let mut written = Vec::new();
    for at in 0..tokens.len() {
        let before = at.checked_sub(1).map_or("", word);
        match (before, word(at)) {
            ("for" | "key" | "do", "update") => continue,
            (_, "update") | ("insert" | "replace", "into") | ("delete", "from") => {}
            _ => continue,
        }
        let name = at + 1 + usize::from(word(at + 1) == "only");
        match (tokens.get(name), tokens.get(name + 1)) {
            (Some(Token::Word(_) | Token::Quoted(_)), Some(Token::Sign('.'))) => {
                return Err("name the table that it changes without its schema");
            }
            (Some(Token::Word(table) | Token::Quoted(table)), _) => {
                written.push((*table).to_owned());
            }
            _ => return Err("name the table that it changes"),
        }
    }
    Ok(written)
}

fn explain_violation(error: Error) -> Error {
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
    use super::{allowed_words, written_tables};
    use crate::db::Dialect;

    const BOTH: [Dialect; 2] = [Dialect::Sqlite, Dialect::Postgres];

    #[test]
    fn every_word_is_judged() {
        let allowed: [(&str, &[&str]); 10] = [
            ("select replace(a, $1, $2) from stock where \"left\" > $3", &[]),
            ("select \"update\", \"delete\" from stock", &[]),
            ("select a from stock for update", &[]),
            ("select a from stock for no key update", &[]),
            ("UPDATE stock set n = n - $1", &["stock"]),
            ("update only \"Stock\" set n = n - $1", &["stock"]),
            ("with x as (select 1) delete from stock", &["stock"]),
            ("with x as (select 1) replace into stock select 1", &["stock"]),
            ("insert into stock (n) values ($1) on conflict (n) do update set n = $1", &["stock"]),
            (
                "with a as (insert into b select 1), c as (update d set n = 1) delete from e",
                &["b", "d", "e"],
            ),
        ];
        for (sql, tables) in allowed {
            assert!(allowed_words(sql).is_ok(), "{sql}");
            for dialect in BOTH {
                let written = written_tables(dialect, sql).expect(sql);
                assert_eq!(written, tables, "{dialect:?} {sql}");
            }
        }
        for sql in ["update main.stock set n = 1", "delete from \"main\".\"stock\"", "update"] {
            for dialect in BOTH {
                assert!(written_tables(dialect, sql).is_err(), "{dialect:?} {sql}");
            }
        }
        for sql in [
            "select 1 /* ' */, (select key_hash from cms_api_keys) /* ' */",
            "select 1 as \"'\", key_hash from cms_api_keys where $1 = \"'\"",
            "select key_hash from cms_api_keys",
            "select key_hash from [CMS_api_keys]",
            "select key_hash from main.\"cms_api_keys\"",
            "select 1 from U&\"\\0063ms_users\"",
            "select $$'$$, 1",
            "select $a$ x $a$",
            "select 1 -- don't",
            "select 'text'",
            "select 1; commit",
            "select a into b from stock",
            "insert or rollback into stock (n) values ($1)",
            "update or rollback stock set n = $1",
            "vacuum",
            "merge into stock using x on a = b when matched then delete",
            "explain select 1",
            "",
        ] {
            assert!(allowed_words(sql).is_err(), "{sql}");
        }
    }
}
