//! The form of a record: a field for each column, by its type.

use cms_http::wire::item::{Create, Table};

use super::{
    choices::{self, Choices},
    column_name, described, id_of, keys, kind, name, one, save,
};
use crate::{
    calls::LONGEST,
    screens::prelude::*,
    widgets::{field::Kind, input::Input},
};

/// What stands for a value that no form offers.
pub(super) const TOO_LONG: &str = "too long to edit here";
/// Columns that the service fills by itself.
const OWN: [&str; 2] = ["created_at", "updated_at"];

pub(crate) fn field(column: &Json, value: &Json, choices: Option<&Vec<(String, Json)>>) -> Field {
    let name = column_name(column);
    let text = value.as_str().map_or_else(
        || if value.is_null() { String::new() } else { value.to_string() },
        str::to_owned,
    );
    let made = match kind(column) {
        _ if text.len() > LONGEST => Kind::Fixed(format!("{} KB: {TOO_LONG}", text.len() / 1000)),
        kind if choices.is_some() => chosen(kind, value, choices),
        "integer" | "decimal" | "number" => Kind::Number(Input::of(&text)),
        "boolean" | "switch" | "checkbox" => Kind::Flag(value.as_bool()),
        "textarea" | "richtext_editor" | "code_editor" => Kind::Text(Input::lines(&text)),
        "password" => Kind::Secret(Input::default()),
        _ if value.is_array() || value.is_object() => Kind::Json(pretty(value)),
        "json" => Kind::Json(pretty(value)),
        _ => Kind::Text(Input::of(&text)),
    };
    let mut field = Field::new(name, name, made);
    field.required = column["required"] == true && column["has_default"] != true;
    let hint = match (kind(column), column["references"].as_str()) {
        (_, Some(table)) => format!("id of a record of {table}"),
        ("date", _) => "YYYY-MM-DD".to_owned(),
        ("datetime", _) => "such as 2026-11-21T09:30:00Z".to_owned(),
        ("password", _) => "empty: it stays as it is".to_owned(),
        ("color", _) => "#rgb, #rrggbb or #rrggbbaa".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    field.hint(hint)
}

fn chosen(kind: &str, value: &Json, choices: Option<&Vec<(String, Json)>>) -> Kind {
    let is_number = matches!(kind, "integer" | "decimal" | "number" | "boolean" | "checkbox");
    let stored = |value: &Json| match value {
        Json::Number(number) if !is_number => Json::from(number.to_string()),
        other => other.clone(),
    };
    let option = |(title, value): &(String, Json)| (title.clone(), stored(value));
    Kind::choice(choices.into_iter().flatten().map(option).collect(), value, "no choice")
}

fn pretty(value: &Json) -> Input {
    match value.is_null() {
        true => Input::lines(""),
        false => Input::lines(&serde_json::to_string_pretty(value).unwrap_or_default()),
    }
}

/// Fields for all columns that can be written.
pub(super) fn fields(table: &Json, record: &Json, is_new: bool, choices: &Choices) -> Vec<Field> {
    let keys = keys(table);
    let written = described(table).filter(|column| {
        let name = column_name(column);
        let is_key = keys.contains(&name);
        !OWN.contains(&name) && (!is_key || (is_new && column["has_default"] != true))
    });
    let of = |column: &Json| {
        let name = column_name(column);
        field(column, &record[name], choices.get(name))
    };
    written.map(of).collect()
}

pub(super) fn new(table: &Json) -> Step {
    let known = table.clone();
    choices::read(table, move |choices| new_form(known, &choices).step())
}

fn new_form(table: Json, choices: &Choices) -> Form {
    let start = json!({"language_short": table["language"]});
    let mut fields = fields(&table, &start, true, choices);
    for field in &mut fields {
        // The service gives the first version its base.
        field.required &= field.name != "base_id";
    }
    let title = format!("New record of {}", name(&table));
    Form::new(title, fields, move |values| {
        let mut body = values.all.clone();
        body.retain(|_, value| !value.is_null());
        let query = Table { table: name(&table), no_events: None };
        let table = table.clone();
        send_json::<Create>(&query, Json::Object(body)).then(move |reply| {
            Step::did(format!("{} {} is made", name(&table), id_of(&table, &reply.data)))
        })
    })
}

/// Reads the record whole, then shows its form.
pub(super) fn open(row: &Json, table: &Json) -> Step {
    let known = table.clone();
    one(table, row).then(move |reply| {
        let table = known.clone();
        choices::read(&known, move |choices| form(&table, &reply, &choices).step())
    })
}

fn form(table: &Json, read: &Reply, choices: &Choices) -> Form {
    let title = format!("{} {}", name(table), id_of(table, &read.data));
    let fields = fields(table, &read.data, false, choices);
    let (table, read) = (table.clone(), read.clone());
    let note = "Only what you change is sent, and only if nobody else changed the record.";
    Form::new(title, fields, move |values| submit(&table, &read, values)).note(note)
}

/// Sends what was changed, on condition that the record is as it was read.
fn submit(table: &Json, read: &Reply, values: &Values) -> Step {
    let mut changed = values.changed.clone();
    // An empty password stays as it is.
    let is_password = |name: &str| {
        described(table).any(|column| column_name(column) == name && kind(column) == "password")
    };
    changed.retain(|name, value| !(value.is_null() && is_password(name)));
    if changed.is_empty() {
        return Step::tell("Nothing was changed.");
    }
    save::write(table, read, changed)
}
