//! Columns: names, types, values.

use serde_json::Value;

use super::{Check, names};
use crate::{
    Address,
    content::{Column, ColumnDeclaration, TableDeclaration, check},
    db::{Dialect, Kind},
};

/// Columns that every table of PostgreSQL has.
const SYSTEM: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

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
        if !table.adopt && SYSTEM.contains(&column.name.as_str()) {
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

    /// A reference holds values of the type of the target's key.
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
        } else if let Some(remedy) = address_problem(column, default) {
            self.fault(&at, remedy);
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
            } else if let Some(remedy) = address_problem(column, value) {
                self.fault(&at, remedy);
            }
        }
    }
}

/// Whether the enum of a column refuses a value, as it would in a write. Faults of other kinds are
/// not judged here.
fn is_outside(column: &ColumnDeclaration, given: &Value) -> bool {
    let (Some(kind), Some(allowed)) = (column.kind(), &column.allowed) else { return false };
    // Both engines compare values in the same canonical form.
    let (like, dialect) = (Column::declared(&column.name, kind), Dialect::Sqlite);
    let Ok(allowed) = check::allowed(&like, dialect, allowed) else { return false };
    let like = Column { allowed: Some(allowed), ..like };
    let checked = check::value(&like, dialect, given);
    checked.is_ok_and(|value| {
        check::permitted(&like, given, &value).is_err_and(|fault| fault.code == "enum")
    })
}

/// How to mend a declared value that is no address, of a column that holds addresses.
fn address_problem(column: &ColumnDeclaration, value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    Address::of_type(column.field_type.as_deref()?)?.problem(text)
}

/// Whether a value has the JSON type of a kind. The engine judges the rest.
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
