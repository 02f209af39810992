//! Tables: names, columns, lists of columns.

use super::{Check, names};
use crate::{
    content::{
        TableDeclaration,
        core::RESERVED,
        index::kind_of,
        install::{in_a_circle, in_order_of_reference},
    },
    db::Kind,
    ground::nearest,
};

/// Columns of a table at most: PostgreSQL takes 1,600, those of the service included.
const MOST_COLUMNS: usize = 1_590;

impl Check<'_> {
    pub(super) fn tables(&mut self) {
        let names = self.manifest.tables.iter().enumerate();
        self.doubles(
            names.map(|(i, table)| (format!("/tables/{i}/name"), table.name.as_str())),
            "is declared twice",
        );
        for (i, table) in self.manifest.tables.iter().enumerate() {
            self.table(table, &format!("/tables/{i}"));
        }
        self.circle();
    }

    /// A foreign key needs a table that is there: of tables that need each other none can be first.
    fn circle(&mut self) {
        let tables = &self.manifest.tables;
        let Err(circle) = in_order_of_reference(tables) else { return };
        let waits = |name: &str| circle.iter().any(|table| table.name == name);
        for (i, table) in tables.iter().enumerate().filter(|(_, table)| waits(&table.name)) {
            let refers = table.columns.iter().position(|column| {
                column.references.as_deref().is_some_and(|name| name != table.name && waits(name))
            });
            if let Some(j) = refers {
                let at = format!("/tables/{i}/columns/{j}/references");
                return self.fault(at, in_a_circle(&circle));
            }
        }
    }

    fn table(&mut self, table: &TableDeclaration, at: &str) {
        if table.adopt {
            self.adopted(table, at);
        } else {
            let reserved = ["cms_", "sqlite_", "pg_"];
            if !names::is_identifier(&table.name)
                || reserved.iter().any(|r| table.name.starts_with(r))
            {
                let remedy = "lower-case letters, digits and _ are expected, not starting with \
                              cms_, sqlite_ or pg_";
                self.fault(format!("{at}/name"), remedy);
            }
            if table.source.is_some() {
                self.fault(format!("{at}/source"), "only adopted tables have a source");
            }
            if table.columns.is_empty() {
                self.fault(format!("{at}/columns"), "declare at least one column");
            }
            let columns = table.columns.len();
            if columns > MOST_COLUMNS {
                let remedy = format!(
                    "{columns} columns are more than a table can have ({MOST_COLUMNS}): declare \
                     another table that refers to this one"
                );
                self.fault(format!("{at}/columns"), remedy);
            }
        }
        if RESERVED.contains(&table.name.as_str()) {
            let remedy = format!(
                "The content table {} already belongs to core: give it another name (and \
                 `source` for the name in the database).",
                table.name
            );
            self.fault(format!("{at}/name"), remedy);
        }
        if table.renamed_from.as_deref() == Some(&table.name) {
            let remedy = "this is the table's own name: write the one it had before";
            self.fault(format!("{at}/renamed_from"), remedy);
        }
        // Neither engine distinguishes the case of unquoted names.
        let mut seen = std::collections::BTreeSet::new();
        for (i, column) in table.columns.iter().enumerate() {
            let at = format!("{at}/columns/{i}");
            if !seen.insert(column.name.to_ascii_lowercase()) {
                self.fault(format!("{at}/name"), format!("{:?} is declared twice", column.name));
            }
            self.column(table, column, &at);
        }
        self.column_lists(table, at, "unique", &table.unique);
        self.column_lists(table, at, "indexes", &table.indexes);
    }

    fn adopted(&mut self, table: &TableDeclaration, at: &str) {
        // SQLite ignores the case of table names.
        let source = table.source.as_deref().unwrap_or(&table.name).to_ascii_lowercase();
        if table.name.is_empty() || source.starts_with("cms_") {
            let member = if table.source.is_some() { "source" } else { "name" };
            let remedy = "a table of the service itself cannot be adopted";
            self.fault(format!("{at}/{member}"), remedy);
        }
        let altering = [
            ("unique", !table.unique.is_empty()),
            ("indexes", !table.indexes.is_empty()),
            ("renamed_from", table.renamed_from.is_some()),
        ];
        for (member, _) in altering.into_iter().filter(|(_, is_there)| *is_there) {
            let remedy = format!("an adopted table is never altered: leave {member:?} out");
            self.fault(format!("{at}/{member}"), remedy);
        }
        let lacks = |name: &str| !table.columns.iter().any(|column| column.name == name);
        if table.multilanguage
            && !table.columns.is_empty()
            && (lacks("base_id") || lacks("language_short"))
        {
            let remedy = "a multilanguage table has the columns base_id and language_short: \
                          serve both";
            self.fault(format!("{at}/multilanguage"), remedy);
        }
    }

    /// `unique` and `indexes`.
    fn column_lists(
        &mut self,
        table: &TableDeclaration,
        at: &str,
        member: &str,
        lists: &[Vec<String>],
    ) {
        for (i, list) in lists.iter().enumerate() {
            let at = format!("{at}/{member}/{i}");
            if list.is_empty() {
                self.fault(&at, "name at least one column");
            }
            if lists[..i].contains(list) {
                self.fault(&at, "these columns are listed twice");
            }
            let bare = |column: &String| match member {
                "indexes" => column.strip_prefix('-').unwrap_or(column).to_owned(),
                _ => column.clone(),
            };
            let columns: Vec<String> = list.iter().map(bare).collect();
            let places = columns.iter().enumerate();
            self.doubles(
                places.map(|(j, column)| (format!("{at}/{j}"), column.as_str())),
                "is named twice",
            );
            for (j, column) in columns.iter().enumerate() {
                let at = format!("{at}/{j}");
                self.column_exists(&at, &table.name, column);
                self.comparable(&at, kind_of(table, column));
            }
        }
    }

    /// Notes a column that no index can hold.
    pub(super) fn comparable(&mut self, at: &str, kind: Option<Kind>) {
        if matches!(kind, Some(Kind::Json | Kind::Password)) {
            self.fault(at, "values of this type cannot be compared: leave the column out");
        }
    }

    /// Notes a column that its table has not. What only the database knows is not judged.
    pub(super) fn column_exists(&mut self, at: &str, table: &str, column: &str) {
        let Some(Some(columns)) = self.known.table(table, self.manifest) else { return };
        if columns.iter().any(|known| known.name == column) {
            return;
        }
        let names: Vec<_> = columns.iter().map(|known| known.name.as_str()).collect();
        let remedy = match nearest(column, names.iter().copied()) {
            Some(meant) => format!("{table} has no column {column:?}; did you mean {meant:?}?"),
            None => format!("{table} has no column {column:?}; it has {}", names.join(", ")),
        };
        self.fault(at, remedy);
    }

    /// Notes a content table that does not exist. Returns whether it exists.
    pub(super) fn table_exists(&mut self, at: &str, table: &str) -> bool {
        if self.known.table(table, self.manifest).is_some() {
            return true;
        }
        let own = self.manifest.tables.iter().map(|table| table.name.as_str());
        let remedy = match (self.known.absent.get(table), nearest(table, own)) {
            (Some(plugin), _) => format!(
                "the content table {table:?} is missing: the plugin {plugin} is not in service"
            ),
            (None, Some(meant)) => {
                format!("there is no content table {table:?}; did you mean {meant:?}?")
            }
            (None, None) => format!("there is no content table {table:?}: declare it in tables"),
        };
        self.fault(at, remedy);
        false
    }
}
