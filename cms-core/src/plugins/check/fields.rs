//! Checks fields of forms: the columns exist, the types fit them, and selects have a source
//! of options.

use serde_json::Value;

use super::{Check, known::KnownColumn, tables::unfit};
use crate::{
    content::Column,
    db::Kind,
    plugins::manifest::{Button, ButtonType, EditableField, FieldType, SelectOption},
};

impl Check<'_> {
    pub(super) fn fields(&mut self, button: &Button, at: &str, table: &str) {
        let at = format!("{at}/editable_rows");
        let places = button.editable_rows.iter().enumerate();
        self.doubles(
            places.map(|(i, field)| (format!("{at}/{i}/column"), field.column.as_str())),
            "has a field already",
        );
        let columns = self.known.table(table, self.manifest).flatten();
        for (i, field) in button.editable_rows.iter().enumerate() {
            let at = format!("{at}/{i}");
            self.column_exists(&format!("{at}/column"), table, &field.column);
            let column = columns.as_deref().unwrap_or_default();
            let column = column.iter().find(|column| column.name == field.column);
            if let Some(column) = column {
                self.field_of(field, column, &at);
            }
            self.field_options(field, column, &at);
        }
        // With language tabs, an edit creates the record of a missing language.
        let is_insert = button.button_type == ButtonType::Insert;
        if (is_insert || button.multilanguage.0) && !button.editable_rows.is_empty() {
            let sent =
                |name: &str| !is_insert && ["id", "base_id", "language_short"].contains(&name);
            for column in columns.iter().flatten().filter(|column| column.needed) {
                let has_field =
                    button.editable_rows.iter().any(|field| field.column == column.name);
                if !has_field && !sent(&column.name) {
                    let remedy = format!(
                        "{table} needs a value for {:?}: add a field, or declare a default",
                        column.name
                    );
                    self.fault(&at, remedy);
                }
            }
        }
    }

    fn field_of(&mut self, field: &EditableField, column: &KnownColumn, at: &str) {
        if ["id", "base_id"].contains(&column.name.as_str()) {
            let remedy = format!("{} says which record it is: it cannot be edited", column.name);
            self.fault(format!("{at}/column"), remedy);
        }
        let Some(kind) = column.kind else { return };
        let is_password = field.field_type == FieldType::Password;
        let remedy = if is_password && kind != Kind::Password {
            format!("{} would show it: declare the column with the type password", column.name)
        } else if !is_password && kind == Kind::Password {
            format!("{} is a password: write \"password\"", column.name)
        } else if !fits(field.field_type, kind) {
            let known = suitable(kind);
            format!("the column {} does not hold that: write {known:?}", column.name)
        } else {
            return;
        };
        self.fault(format!("{at}/type"), remedy);
    }
}

/// Whether an input produces values of a column.
fn fits(field: FieldType, kind: Kind) -> bool {
    match field {
        FieldType::Text | FieldType::Select | FieldType::Password => true,
        FieldType::Textarea => matches!(kind, Kind::Text | Kind::Json),
        FieldType::RichtextEditor | FieldType::CodeEditor | FieldType::Image | FieldType::Color => {
            kind == Kind::Text
        }
        FieldType::Checkbox => matches!(kind, Kind::Boolean | Kind::Integer),
        FieldType::Number => matches!(kind, Kind::Integer | Kind::Double | Kind::Decimal),
        FieldType::Date => matches!(kind, Kind::Date | Kind::Text),
        FieldType::Time => matches!(kind, Kind::Time | Kind::Text),
        FieldType::Datetime => matches!(kind, Kind::DateTime | Kind::Text),
    }
}

fn suitable(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer | Kind::Double | Kind::Decimal => "number",
        Kind::Boolean => "checkbox",
        Kind::Date => "date",
        Kind::Time => "time",
        Kind::DateTime => "datetime",
        Kind::Json => "textarea",
        _ => "text",
    }
}

impl Check<'_> {
    fn field_options(&mut self, field: &EditableField, column: Option<&KnownColumn>, at: &str) {
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
            let at = format!("{at}/select_options");
            self.fixed(options, allowed, &at);
            if let Some(column) = column {
                self.storable(options, column, &at);
            }
        }
    }

    /// Reports options that a write of the column would refuse.
    fn storable(&mut self, options: &[SelectOption], column: &KnownColumn, at: &str) {
        let Some(kind) = column.kind else { return };
        let field_type = column.field_type.clone();
        let like = Column { field_type, ..Column::declared(&column.name, kind) };
        for (i, option) in options.iter().enumerate() {
            if let Some(why) = unfit(&like, &option.value) {
                let remedy = format!("{} refuses {}: {why}", column.name, option.value);
                self.fault(format!("{at}/{i}/value"), remedy);
            }
        }
    }

    /// Checks a table that options come from.
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
