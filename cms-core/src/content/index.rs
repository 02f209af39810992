//! The indexes that a declaration asks for. Everything here is pure.

use serde_json::json;

use super::{ColumnDeclaration, TableDeclaration};
use crate::{
    crypto::sha256_hex,
    db::{
        Dialect, Kind,
        dialect::{Col, quote},
    },
};

/// Longest name that both engines keep whole.
const MAX_NAME: usize = 63;

/// Characters that the text columns of an index may hold together. PostgreSQL refuses entries of
/// more than 2,704 bytes; a character has up to four.
const MAX_TEXT: usize = 600;

/// An index of a declared table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) name: String,
    /// Whether no two rows may share their values.
    pub(crate) unique: bool,
    /// Its columns; true means descending.
    pub(crate) columns: Vec<(String, bool)>,
}

impl Index {
    /// Its columns as a declaration writes them.
    pub(crate) fn spelled(&self) -> Vec<String> {
        let spelled =
            |(name, down): &(String, bool)| format!("{}{name}", if *down { "-" } else { "" });
        self.columns.iter().map(spelled).collect()
    }

    /// The statement that makes it. With `beside` others can write meanwhile, where the engine
    /// allows that.
    pub(crate) fn create(
        &self,
        dialect: Dialect,
        table: &TableDeclaration,
        beside: bool,
    ) -> String {
        let column = |(name, down): &(String, bool)| {
            let kind = kind_of(table, name).unwrap_or(Kind::Text);
            let column = dialect.indexed_column(Col { name, kind, native: "", own: true });
            format!("{column}{}", if *down { " desc" } else { "" })
        };
        let mut columns = self.columns.clone();
        // Lists are sorted by the key at the end, in the direction of the last column.
        if !self.unique && !columns.iter().any(|(name, _)| name == "id") {
            columns.push(("id".to_owned(), columns.last().is_some_and(|(_, down)| *down)));
        }
        format!(
            "create {}index {}{} on {} ({})",
            if self.unique { "unique " } else { "" },
            if beside { dialect.beside() } else { "" },
            quote(&self.name),
            quote(&table.name),
            columns.iter().map(column).collect::<Vec<_>>().join(", ")
        )
    }
}

/// All indexes that a table should have.
pub(crate) fn of(table: &TableDeclaration) -> Vec<Index> {
    let mut indexes: Vec<Index> = Vec::new();
    let mut add = |unique: bool, columns: Vec<(String, bool)>| {
        if !indexes.iter().any(|known| known.unique == unique && known.columns == columns) {
            let name = name(&table.name, unique, &columns);
            indexes.push(Index { name, unique, columns });
        }
    };
    let up = |name: &str| (name.to_owned(), false);
    if table.multilanguage {
        add(true, vec![up("base_id"), up("language_short")]);
    }
    for column in &table.columns {
        if column.unique || column.references.is_some() {
            add(column.unique, vec![up(&column.name)]);
        }
    }
    for columns in &table.unique {
        add(true, columns.iter().map(|name| up(name)).collect());
    }
    for columns in &table.indexes {
        let read = |text: &String| match text.strip_prefix('-') {
            Some(name) => (name.to_owned(), true),
            None => up(text),
        };
        add(false, columns.iter().map(read).collect());
    }
    indexes
}

/// The same declaration gives the same name. A hash separates indexes whose columns would join to
/// the same name, such as `a_b` of `c` and `a` of `b_c`.
fn name(table: &str, unique: bool, columns: &[(String, bool)]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let plain = format!("{table}_{}", names.join("_"));
    let hash = sha256_hex(json!([table, unique, columns]).to_string().as_bytes());
    let kept: String = plain.chars().take(MAX_NAME - 9).collect();
    format!("{kept}_{}", &hash[..8])
}

/// The kind of a column of a declared table, including those that the service adds.
pub(crate) fn kind_of(table: &TableDeclaration, column: &str) -> Option<Kind> {
    match column {
        "id" => Some(Kind::Integer),
        "base_id" if table.multilanguage => Some(Kind::Integer),
        "language_short" if table.multilanguage => Some(Kind::Text),
        _ => table.columns.iter().find(|c| c.name == column).and_then(ColumnDeclaration::kind),
    }
}

/// How many characters a text column may hold because indexes contain it; None: no limit.
pub(crate) fn text_limit(table: &TableDeclaration, column: &str) -> Option<usize> {
    let is_text = |name: &str| kind_of(table, name) == Some(Kind::Text);
    let indexes = of(table);
    let holding = indexes.iter().filter(|i| i.columns.iter().any(|(name, _)| name == column));
    let texts = holding.map(|i| i.columns.iter().filter(|(name, _)| is_text(name)).count());
    texts.max().filter(|_| is_text(column)).map(|texts| MAX_TEXT / texts.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(json: serde_json::Value) -> TableDeclaration {
        serde_json::from_value(json).expect("a table")
    }

    #[test]
    fn names_are_short_and_differ() {
        let long = "a".repeat(60);
        let column = json!({"name": long, "type": "text", "unique": true});
        let one = table(json!({
            "name": long,
            "columns": [column, {"name": "b_c", "type": "text"}, {"name": "d", "type": "text"}],
            "indexes": [["b_c"], ["-b_c"], [long, "b_c"], [long, "-b_c"]],
            "unique": [["b_c"], ["b_c", "d"]],
        }));
        let other = table(json!({
            "name": format!("{long}_b"),
            "columns": [{"name": "c", "type": "text"}],
            "indexes": [["c"]],
        }));
        let names: Vec<_> = of(&one).into_iter().chain(of(&other)).map(|i| i.name).collect();
        assert_eq!(names.len(), 8);
        let mut differing = names.clone();
        differing.sort_unstable();
        differing.dedup();
        assert_eq!(differing.len(), 8, "{names:?}");
        assert!(names.iter().all(|name| name.len() <= MAX_NAME), "{names:?}");
        assert_eq!(of(&one), of(&one));
    }

    #[test]
    fn tables_never_share_a_name() {
        let of_column = |name: &str, column: &str| {
            of(&table(json!({
                "name": name, "columns": [{"name": column, "type": "text", "unique": true}],
            })))
        };
        assert_ne!(of_column("a_b", "c")[0].name, of_column("a", "b_c")[0].name);
    }

    #[test]
    fn an_index_ends_with_the_key_in_its_last_direction() {
        let blog = table(json!({
            "name": "blog",
            "columns": [{"name": "status", "type": "text"}, {"name": "at", "type": "datetime"}],
            "indexes": [["status", "-at"], ["at"], ["-id"]], "unique": [["status", "at"]],
        }));
        let made: Vec<_> = of(&blog)
            .iter()
            .map(|index| {
                let sql = index.create(Dialect::Postgres, &blog, true);
                sql[sql.find(" on ").unwrap_or_default()..].to_owned()
            })
            .collect();
        assert_eq!(
            made,
            [
                " on \"blog\" (\"status\" collate \"C\", \"at\")",
                " on \"blog\" (\"status\" collate \"C\", \"at\" desc, \"id\" desc)",
                " on \"blog\" (\"at\", \"id\")",
                " on \"blog\" (\"id\" desc)"
            ]
        );
        assert_eq!(text_limit(&blog, "status"), Some(600));
        assert_eq!(text_limit(&blog, "at"), None);
    }
}
