//! Checks tables: names, columns, lists of columns.

use serde_json::Value;

use super::{Check, names};
use crate::{
    content::{
        Column, ColumnDeclaration, TableDeclaration, check,
        core::RESERVED,
        index::kind_of,
        install::{in_a_circle, in_order_of_reference},
    },
    db::{Dialect, Kind},
    ground::nearest,
};

/// Maximum number of columns of an index, as on PostgreSQL.
const MOST_INDEXED: usize = 32;

/// Maximum number of columns of a table. PostgreSQL allows 1,600, including the service's own.
const MOST_COLUMNS: usize = 1_590;

/// Prefixes of the engines' own tables, which contain passwords and rows of other tables.
const CATALOGUE: [&str; 3] = ["pg_", "sqlite_", "pragma_"];

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

    /// Reports tables that refer to each other in a circle. A foreign key needs an existing table,
    /// so none of them could be created first.
    fn circle(&mut self) {
        let tables = &self.manifest.tables;
        for circle in in_order_of_reference(tables).err().into_iter().flatten() {
            if let Some(at) = self.manifest.reference_in(&circle) {
                self.fault(at, in_a_circle(&circle));
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
        // SQLite ignores case in table names.
        let source = table.source.as_deref().unwrap_or(&table.name).to_ascii_lowercase();
        let owner = if table.name.is_empty() || source.starts_with("cms_") {
            Some("service")
        } else {
            let is_catalogue =
                source == "dbstat" || CATALOGUE.iter().any(|begins| source.starts_with(begins));
            is_catalogue.then_some("database")
        };
        if let Some(owner) = owner {
            let member = if table.source.is_some() { "source" } else { "name" };
            let remedy = format!("a table of the {owner} itself cannot be adopted");
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

    /// Checks `unique` and `indexes`.
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
            // The service appends the key to an index that does not name it.
            let has_key = member == "unique" || columns.iter().any(|column| column == "id");
            let most = if has_key { MOST_INDEXED } else { MOST_INDEXED - 1 };
            if columns.len() > most {
                let remedy = format!("an index holds {most} columns at most: leave some out");
                self.fault(&at, remedy);
            }
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

    /// Reports a column that cannot be indexed.
    pub(super) fn comparable(&mut self, at: &str, kind: Option<Kind>) {
        if matches!(kind, Some(Kind::Json | Kind::Password)) {
            self.fault(at, "values of this type cannot be compared: leave the column out");
        }
    }

    /// Reports a column that its table does not have. Columns that only the database knows are
    /// not checked.
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

    /// Reports a content table that does not exist. Returns whether it exists.
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

impl Check<'_> {
    pub(super) fn column(
        &mut self,
        table: &TableDeclaration,
        column: &ColumnDeclaration,
        at: &str,
    ) {
        if !table.adopt && !names::is_identifier(&column.name) {
            self.fault(format!("{at}/name"), format!("{} are expected", names::IDENTIFIER));
        }
        if !table.adopt && ["id", "base_id", "language_short"].contains(&column.name.as_str()) {
            let remedy = format!("{} is made by the service: leave it out", column.name);
            self.fault(format!("{at}/name"), remedy);
        }
        if !table.adopt && names::SYSTEM.contains(&column.name.as_str()) {
            let remedy =
                format!("{} is a column of PostgreSQL itself: choose another", column.name);
            self.fault(format!("{at}/name"), remedy);
        }
        let types = || {
            let names = ColumnDeclaration::TYPES.iter().map(|(name, _)| *name);
            names.collect::<Vec<_>>().join(", ")
        };
        match (&column.field_type, column.kind()) {
            (Some(given), None) => {
                let remedy = format!("{given:?} is unknown; the types are {}", types());
                self.fault(format!("{at}/type"), remedy);
            }
            (None, _) if !table.adopt => {
                let remedy = format!("a type is missing; the types are {}", types());
                self.fault(format!("{at}/type"), remedy);
            }
            _ => {}
        }
        if column.unique {
            self.comparable(&format!("{at}/unique"), column.kind());
        }
        self.default(column, at);
        self.allowed(column, at);
        if let Some(target) = &column.references
            && self.table_exists(&format!("{at}/references"), target)
            && !table.adopt
        {
            self.key_type(column, target, at);
        }
        if let Some(before) = &column.renamed_from {
            let at = format!("{at}/renamed_from");
            if *before == column.name {
                self.fault(&at, "this is the column's own name: write the one it had before");
            } else if table.columns.iter().any(|other| other.name == *before) {
                self.fault(
                    &at,
                    format!("{before:?} is a column of its own: remove one of the two"),
                );
            }
            if table.adopt {
                self.fault(&at, "an adopted table is never altered: leave \"renamed_from\" out");
            }
        }
    }

    /// Checks that a reference has the type of the target's key.
    fn key_type(&mut self, column: &ColumnDeclaration, target: &str, at: &str) {
        let Some(Some(columns)) = self.known.table(target, self.manifest) else { return };
        let key = columns.iter().find(|known| known.name == "id").and_then(|known| known.kind);
        if let (Some(key), Some(kind)) = (key, column.kind())
            && key != kind
        {
            let fitting = ColumnDeclaration::TYPES.iter().find(|(_, kind)| *kind == key);
            let fitting = fitting.map_or("integer", |(name, _)| *name);
            let remedy =
                format!("it refers to {target:?}, whose id is of another type: write {fitting:?}");
            self.fault(format!("{at}/type"), remedy);
        }
    }

    fn default(&mut self, column: &ColumnDeclaration, at: &str) {
        let Some(default) = &column.default else { return };
        let at = format!("{at}/default");
        if column.kind() == Some(Kind::Password) {
            self.fault(&at, "a default would be stored unencrypted: leave it out");
            return;
        }
        let is_compound = default.is_array() || default.is_object();
        if is_compound && column.kind() != Some(Kind::Json) {
            self.fault(&at, "a single value is expected");
        } else if !fits(column.kind(), default) {
            let wanted = column.field_type.as_deref().unwrap_or_default();
            self.fault(&at, format!("{default} is no value of the type {wanted}"));
        } else if let Some(why) = refused(column, default) {
            self.fault(&at, format!("{default} is refused: {why}"));
        }
        if is_outside(column, default) {
            self.fault(&at, format!("{default} is not among the values of enum"));
        }
    }

    fn allowed(&mut self, column: &ColumnDeclaration, at: &str) {
        let Some(allowed) = &column.allowed else { return };
        let at = format!("{at}/enum");
        if allowed.is_empty() {
            self.fault(&at, "list at least one value, or leave enum out");
        }
        if matches!(column.kind(), Some(Kind::Password | Kind::Boolean)) {
            let wanted = column.field_type.as_deref().unwrap_or_default();
            self.fault(&at, format!("a column of the type {wanted} has no enum: leave it out"));
            return;
        }
        for (i, value) in allowed.iter().enumerate() {
            let at = format!("{at}/{i}");
            if allowed[..i].contains(value) {
                self.fault(&at, format!("{value} is listed twice"));
            }
            if value.is_null() || !fits(column.kind(), value) {
                let wanted = column.field_type.as_deref().unwrap_or_default();
                self.fault(&at, format!("{value} is no value of the type {wanted}"));
            } else if let Some(why) = refused(column, value) {
                self.fault(&at, format!("{value} is refused: {why}"));
            }
        }
    }
}

/// Whether the enum of a column refuses a value, as a write would. Other faults are not
/// checked here.
fn is_outside(column: &ColumnDeclaration, given: &Value) -> bool {
    let (Some(kind), Some(allowed)) = (column.kind(), &column.allowed) else { return false };
    let (like, dialect) = (Column::declared(&column.name, kind), Dialect::STRICTEST);
    let Ok(allowed) = check::allowed(&like, dialect, allowed) else { return false };
    let like = Column { allowed: Some(allowed), ..like };
    let checked = check::value(&like, dialect, given);
    checked.is_ok_and(|value| {
        check::permitted(&like, given, &value).is_err_and(|fault| fault.code == "enum")
    })
}

/// The reason why a write of the declared column refuses a value, apart from its enum.
fn refused(column: &ColumnDeclaration, value: &Value) -> Option<String> {
    let (field_type, required) = (column.field_type.clone()?, column.required);
    let like = Column { field_type, required, ..Column::declared(&column.name, column.kind()?) };
    unfit(&like, value)
}

/// The reason why a write of a column refuses a value. Null is not checked.
pub(super) fn unfit(column: &Column, value: &Value) -> Option<String> {
    if value.is_null() {
        return None;
    }
    // A manifest is checked without a database.
    let checked = check::value(column, Dialect::STRICTEST, value);
    let permitted = checked.and_then(|checked| check::permitted(column, value, &checked));
    permitted.err().map(|fault| fault.message)
}

/// Whether a value has the JSON type of a kind.
fn fits(kind: Option<Kind>, value: &Value) -> bool {
    match kind {
        _ if value.is_null() => true,
        Some(Kind::Integer) => value.is_i64(),
        Some(Kind::Double | Kind::Decimal) => value.is_number() || value.is_string(),
        Some(Kind::Boolean) => value.is_boolean() || matches!(value.as_i64(), Some(0 | 1)),
        Some(Kind::Json) | None => true,
        Some(_) => value.is_string(),
    }
}
