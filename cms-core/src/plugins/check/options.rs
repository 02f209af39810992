//! Where selects have their options from.

use serde_json::Value;

use super::{Check, known::KnownColumn};
use crate::{
    db::Kind,
    plugins::manifest::{EditableField, FieldType, SelectOption},
};

impl Check<'_> {
    pub(super) fn field_options(
        &mut self,
        field: &EditableField,
        column: Option<&KnownColumn>,
        at: &str,
    ) {
        let allowed = column.and_then(|column| column.allowed.as_deref());
        if field.field_type != FieldType::Select {
            for (member, is_there) in [
                ("select_value", field.select_value.is_some()),
                ("select_options", field.select_options.is_some()),
            ] {
                if is_there {
                    let remedy = format!("only a select has {member}: leave it out");
                    self.fault(format!("{at}/{member}"), remedy);
                }
            }
            return;
        }
        match (&field.select_value, &field.select_options) {
            (None, None) if allowed.is_none() => {
                let remedy = "a select needs select_options or select_value";
                self.fault(format!("{at}/select_options"), remedy);
            }
            (Some(_), Some(_)) => {
                let remedy = "options come from a table or are fixed: remove one of the two";
                self.fault(format!("{at}/select_options"), remedy);
            }
            _ => {}
        }
        if let Some(source) = &field.select_value {
            let at = format!("{at}/select_value");
            self.source(&at, &source.table, &source.value, &source.title);
        }
        if let Some(options) = &field.select_options {
            self.fixed(options, allowed, &format!("{at}/select_options"));
        }
    }

    /// A table that options come from.
    pub(super) fn source(&mut self, at: &str, table: &str, value: &str, title: &str) {
        if !self.table_exists(&format!("{at}/table"), table) {
            return;
        }
        let columns = self.known.table(table, self.manifest).flatten().unwrap_or_default();
        for (member, name) in [("value", value), ("title", title)] {
            let at = format!("{at}/{member}");
            self.column_exists(&at, table, name);
            let is_password = |column: &KnownColumn| column.kind == Some(Kind::Password);
            if columns.iter().any(|column| column.name == name && is_password(column)) {
                let remedy = format!("{name:?} is a password, which is never shown: name another");
                self.fault(at, remedy);
            }
        }
    }

    pub(super) fn fixed(&mut self, options: &[SelectOption], allowed: Option<&[Value]>, at: &str) {
        if options.is_empty() {
            self.fault(at, "list at least one option");
        }
        for (i, option) in options.iter().enumerate() {
            let at = format!("{at}/{i}/value");
            if options[..i].iter().any(|other| other.value == option.value) {
                self.fault(&at, format!("{} is listed twice", option.value));
            }
            if allowed.is_some_and(|allowed| !allowed.contains(&option.value)) {
                let remedy =
                    format!("{} is not among the values of the column's enum", option.value);
                self.fault(&at, remedy);
            }
        }
    }
}
