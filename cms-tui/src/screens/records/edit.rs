//! The form of a record: a field for each column, by its type, with the choices that the forms of
//! the table's plugin offer. The form of a version in a language that the record lacks.

use std::collections::BTreeMap;

use cms_http::wire::{
    item::{Create, Read, Table, WhichItems as Query},
    plugins::{Buttons, WhichButtons},
};

use super::{column_name, described, id_of, keys, kind, name, one, save};
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
    read_choices(table, move |choices| new_form(known, &choices).step())
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
        read_choices(&known, move |choices| form(&table, &reply, &choices).step())
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

/// Title and value of each choice, by column.
type Choices = BTreeMap<String, Vec<(String, Json)>>;

/// Reads the choices, then goes on. There are none for whoever does not see the plugin.
fn read_choices(table: &Json, next: impl FnOnce(Choices) -> Step + Send + 'static) -> Step {
    let plugin = table["plugin"].as_str().filter(|plugin| *plugin != "core");
    let Some(plugin) = plugin.map(str::to_owned) else { return next(Choices::new()) };
    let table = name(table);
    get::<Buttons>(&WhichButtons { plugin, row: None }).ending(move |outcome| {
        let mut choices = Choices::new();
        collect_choices(&table, &outcome.unwrap_or_default().data, &mut choices);
        next(choices)
    })
}

/// The first form with choices for a column counts.
fn collect_choices(table: &str, buttons: &Json, into: &mut Choices) {
    for button in items(buttons) {
        let fields = items(&button["editable_rows"]).iter();
        for field in fields.filter(|_| button["table"] == table) {
            let column = field["column"].as_str().unwrap_or_default();
            let options = field["options"].as_array().filter(|options| !options.is_empty());
            if let Some(options) = options {
                let choice = |option: &Json| {
                    let title = option["title"].as_str().unwrap_or_default();
                    (title.to_owned(), option["value"].clone())
                };
                let made = || options.iter().map(choice).collect();
                into.entry(column.to_owned()).or_insert_with(made);
            }
        }
        collect_choices(table, &button["buttons"], into);
    }
}

/// Asks for the language, then shows a form with the values of this version.
pub(super) fn translate(table: &Json, row: &Json) -> Step {
    if items(&table["languages"]).is_empty() {
        return Step::tell("This table has no languages.");
    }
    let (table, row) = (table.clone(), row.clone());
    versions(&table, &row).then(move |reply| choose_language(table, row, &there_of(&reply)))
}

/// The versions of a record share its `base_id`.
fn versions(table: &Json, row: &Json) -> Result<Calling, Fault> {
    let base = if row["base_id"].is_null() { &row["id"] } else { &row["base_id"] };
    let mut query = Query { table: name(table), ..Query::default() };
    query.fields = Some("id,language_short".to_owned());
    query.limit = Some("500".to_owned());
    query.filters.insert("filter[base_id][eq]".to_owned(), base.to_string());
    get::<Read>(&query)
}

/// The languages in which there is a version.
fn there_of(reply: &Reply) -> Vec<String> {
    let rows = items(&reply.data).iter();
    rows.filter_map(|row| row["language_short"].as_str()).map(str::to_owned).collect()
}

fn choose_language(table: Json, row: Json, there: &[String]) -> Step {
    let known = texts(&table["languages"]);
    let missing: Vec<String> =
        known.filter(|one| !there.iter().any(|is| is == one)).map(str::to_owned).collect();
    match &missing[..] {
        [] => Step::tell("It has a version in every language."),
        [only] => open_version(table, &row, only.clone()),
        _ => {
            let title = format!("{} {} in which language?", name(&table), id_of(&table, &row));
            Step::Menu(Menu::new(title, missing.clone(), move |n| {
                open_version(table, &row, missing.into_iter().nth(n).unwrap_or_default())
            }))
        }
    }
}

/// Reads the record whole and the choices, then shows the form.
fn open_version(table: Json, row: &Json, language: String) -> Step {
    one(&table, row).map(Calling::whole::<Read>).then(move |reply| {
        let known = table.clone();
        read_choices(&known, move |choices| {
            version_form(&table, &reply.data, language, &choices).step()
        })
    })
}

fn version_form(table: &Json, record: &Json, language: String, choices: &Choices) -> Form {
    let base = if record["base_id"].is_null() { &record["id"] } else { &record["base_id"] };
    let base = base.clone();
    let mut fields = fields(table, record, true, choices);
    fields.retain(|field| field.name != "base_id" && field.name != "language_short");
    let mut copied = Map::new();
    for field in &mut fields {
        let Kind::Fixed(text) = &mut field.kind else { continue };
        let value = &record[field.name.as_str()];
        *text = text.replace(TOO_LONG, "copied as it is");
        copied.insert(field.name.clone(), value.clone());
    }
    let title = format!("{} {} in {}", name(table), id_of(table, record), safe(&language));
    let table = table.clone();
    Form::new(title, fields, move |values| {
        let mut body = copied.clone();
        body.extend(values.all.clone().into_iter().filter(|(_, value)| !value.is_null()));
        body.insert("language_short".to_owned(), language.clone().into());
        body.insert("base_id".to_owned(), base.clone());
        let said = format!("{} {} is made in {language}", name(&table), base);
        send_json::<Create>(&Table { table: name(&table), no_events: None }, Json::Object(body))
            .did(said)
    })
    .note("A new version of the same record, with the values of the one you came from.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_from_forms_of_this_table() {
        let field = |column: &str, values: &[&str]| {
            let options: Vec<_> =
                values.iter().map(|value| json!({"title": value, "value": value})).collect();
            json!({"column": column, "type": "select", "options": options})
        };
        let buttons = json!([
            {"table": "other", "editable_rows": [field("status", &["wrong"])]},
            {"table": null, "buttons": [
                {"table": "posts", "editable_rows": [field("status", &["new", "done"])]},
            ]},
            {"table": "posts", "editable_rows": [field("status", &["later"]), field("kind", &[])]},
        ]);
        let mut choices = Choices::new();
        collect_choices("posts", &buttons, &mut choices);
        let titles: Vec<_> = choices["status"].iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!((titles, choices.len()), (vec!["new", "done"], 1));
    }

    #[test]
    fn only_languages_that_are_missing_are_offered() {
        let table = json!({"name": "posts", "languages": ["en", "de", "fr"]});
        let row = json!({"id": 7, "base_id": 3});
        let line = versions(&table, &row).expect("a call").ask.line();
        assert!(line.contains("filter%5Bbase%5Fid%5D%5Beq%5D=3"), "{line}");
        match choose_language(table.clone(), row.clone(), &["en".to_owned()]) {
            Step::Menu(menu) => assert_eq!(menu.entries, ["de", "fr"]),
            _ => panic!("no question"),
        }
        let two = ["en", "de"].map(str::to_owned);
        assert!(matches!(choose_language(table.clone(), row.clone(), &two), Step::Call(_)));
        let all = ["en", "de", "fr"].map(str::to_owned);
        assert!(matches!(choose_language(table, row, &all), Step::Tell(_)));
    }
}
