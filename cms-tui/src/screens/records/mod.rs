//! Records of a content table: the list, and what can be done with them.
//!
//! ```text
//! edit  the form of a record, what a column can be set to, a version in another language
//! save  writing on condition that nobody else did
//! ```

mod edit;
mod save;

use std::collections::BTreeMap;

use cms_http::wire::item::{Delete, Read, WhichItem, WhichItems as Query};

pub(crate) use edit::field;

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    rows,
    count: Some(matching),
    detail: Some(|row, table| one(table, row)),
    preview,
    tokens: Some(tokens),
    sorts,
    open: Some(edit::open),
    empty: "No record. n makes one.",
    follows: |event, table| {
        let name = event.strip_prefix("item.").and_then(|rest| rest.rsplit_once('.'));
        name.is_some_and(|(name, _)| table["name"] == name)
    },
    ..Spec::new("records", title, columns, list, act)
};

/// Columns that a list shows.
const SHOWN: usize = 7;

fn title(table: &Json) -> String {
    let language = table["language"].as_str().map(|one| format!(" [{one}]"));
    format!("{}{}", plain_text(&table["name"]), language.unwrap_or_default())
}

fn name(table: &Json) -> String {
    table["name"].as_str().or(table["table"].as_str()).unwrap_or_default().to_owned()
}

fn described(table: &Json) -> impl Iterator<Item = &Json> {
    items(&table["columns"]).iter()
}

fn column_name(column: &Json) -> &str {
    column["name"].as_str().unwrap_or_default()
}

fn kind(column: &Json) -> &str {
    column["type"].as_str().unwrap_or_default()
}

/// Values too large for a list.
fn is_long(column: &Json) -> bool {
    matches!(kind(column), "textarea" | "richtext_editor" | "code_editor" | "json" | "password")
}

/// The key columns; `id` when the table says none.
fn keys(table: &Json) -> Vec<&str> {
    let keys: Vec<_> = described(table).filter(|c| c["key"] == true).map(column_name).collect();
    if keys.is_empty() { vec!["id"] } else { keys }
}

/// A record's id as the API takes it: a value, or a JSON array of several.
fn id_of(table: &Json, record: &Json) -> String {
    let word = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match keys(table)[..] {
        [one] => word(&record[one]),
        ref several => Json::from_iter(several.iter().map(|one| record[*one].clone())).to_string(),
    }
}

fn rows(table: &Json, data: Json) -> Vec<Row> {
    let Json::Array(rows) = data else { return Vec::new() };
    rows.into_iter().map(|json| Row { id: id_of(table, &json), json }).collect()
}

fn columns(table: &Json) -> Vec<Column> {
    let small = described(table).filter(|column| !is_long(column));
    let show = small.filter(|column| column_name(column) != "base_id").take(SHOWN);
    let made = show.map(|one| {
        let cells = match kind(one) {
            "integer" | "number" if one["key"] == true => 7,
            "integer" | "decimal" | "number" => 10,
            "boolean" | "switch" | "checkbox" => 5,
            "date" => 10,
            "datetime" => 16,
            _ if column_name(one) == "language_short" => 4,
            _ => 0,
        };
        let title = match column_name(one) {
            "language_short" => "LANG".to_owned(),
            name => name.to_uppercase(),
        };
        column(&title, column_name(one), cells, value)
    });
    let made: Vec<_> = made.collect();
    if made.is_empty() { vec![column("ID", "id", 0, plain)] } else { made }
}

fn value(row: &Json, name: &str, _: i64) -> Cell {
    match &row[name] {
        Json::Bool(true) => ("yes".to_owned(), Role::Good),
        Json::Bool(false) => ("no".to_owned(), Role::Quiet),
        Json::Null => ("—".to_owned(), Role::Quiet),
        Json::String(text) if moment::millis(text).is_some() && text.len() >= 16 => {
            (text[..16].replace('T', " "), Role::Plain)
        }
        other => (plain_text(other), Role::Plain),
    }
}

fn tokens(table: &Json) -> String {
    let names: Vec<_> = described(table).map(column_name).take(6).collect();
    format!("text, COLUMN=value, COLUMN:gte=value · {}", names.join(" "))
}

/// Columns that begin an index, and the key.
fn sorts(table: &Json) -> Vec<String> {
    let indexes = items(&table["indexes"]).iter();
    let first =
        indexes.filter_map(|index| index[0].as_str()).map(|one| one.trim_start_matches('-'));
    let mut sorts: Vec<String> = keys(table).into_iter().map(str::to_owned).collect();
    for name in first.chain(described(table).filter(|c| !is_long(c)).map(column_name)) {
        if !sorts.iter().any(|one| one == name) {
            sorts.push(name.to_owned());
        }
    }
    sorts
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&query(asked))
}

/// How many fit. Apart from the rows, because a large table takes its time.
fn matching(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let table = asked.subject;
    let fields = keys(table).first().map(|key| (*key).to_owned());
    let (limit, count) = (Some("1".to_owned()), Some("true".to_owned()));
    get::<Read>(&Query { limit, count, fields, sort: None, cursor: None, ..query(asked) })
}

fn query(asked: &ListQuery<'_>) -> Query {
    let table = asked.subject;
    let mut which = Query {
        table: name(table),
        limit: Some(PAGE.to_string()),
        cursor: asked.cursor.clone(),
        language: table["language"].as_str().map(str::to_owned),
        sort: asked.sort.clone(),
        ..Query::default()
    };
    let shown: Vec<_> = described(table).filter(|c| !is_long(c)).map(column_name).collect();
    if !shown.is_empty() {
        which.fields = Some(shown.join(","));
    }
    let (pieces, mut text) = (pieces(asked.filter), Vec::new());
    for piece in &pieces {
        match piece.word() {
            Word::Token(column, value) => {
                let (op, value) = value.split_once('=').unwrap_or(("eq", value));
                which.filters.insert(format!("filter[{column}][{op}]"), value.to_owned());
            }
            Word::Text(word) => match piece.split('=') {
                Some((column, value)) => {
                    which.filters.insert(format!("filter[{column}][eq]"), value.to_owned());
                }
                None => text.push(word),
            },
        }
    }
    which.search = (!text.is_empty()).then(|| text.join(" "));
    which
}

/// A record whole, with its entity tag.
fn one(table: &Json, record: &Json) -> Result<Calling, Fault> {
    get::<Read>(&Query {
        table: name(table),
        id: Some(id_of(table, record)),
        language: table["language"].as_str().map(str::to_owned),
        filters: BTreeMap::new(),
        ..Query::default()
    })
}

/// The record in the language that is shown.
fn which(table: &Json, id: String) -> WhichItem {
    let language = table["language"].as_str().map(str::to_owned);
    WhichItem { table: name(table), id, language }
}

fn preview(row: &Json, detail: Option<&Json>, table: &Json, _: i64) -> Lines {
    let mut members: Vec<_> = detail.unwrap_or(row).as_object().into_iter().flatten().collect();
    // In the order of the columns; what is no column comes last.
    members.sort_by_key(|(name, _)| {
        described(table).position(|column| column_name(column) == *name).unwrap_or(usize::MAX)
    });
    let mut lines = Vec::new();
    for (name, value) in members {
        let text = match value {
            Json::Object(_) | Json::Array(_) => value.to_string(),
            Json::String(text) => text.clone(),
            other => plain_text(other),
        };
        let text: String = text.chars().take(4_000).collect();
        let mut said = wrapped(&text, 54).into_iter();
        let first = said.next().unwrap_or_default();
        lines.push((Role::Plain, format!("{:<18} {first}", cut(name, 18))));
        lines.extend(said.take(30).map(|line| (Role::Plain, format!("{:<18} {line}", ""))));
    }
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let (table, row) = (&scene.subject, scene.row.cloned().unwrap_or_default());
    match verb {
        "new" => edit::new(table),
        "edit" => edit::open(&row, table),
        "show" => one(table, &row).view(format!("{} {}", name(table), id_of(table, &row))),
        "language" => language(table),
        "translate" => edit::translate(table, &row),
        "set" => set(scene),
        "delete" => delete(scene),
        _ => Step::None,
    }
}

/// Shows the versions in the next language; after the last one, all.
fn language(table: &Json) -> Step {
    let known: Vec<_> = texts(&table["languages"]).collect();
    if known.is_empty() {
        return Step::tell("This table has no languages.");
    }
    let now = table["language"].as_str().and_then(|now| known.iter().position(|one| *one == now));
    let next = now.map_or(0, |now| now + 1);
    Step::Set("language", known.get(next).copied().unwrap_or_default().to_owned())
}

/// One column of all marked records, each back with undo.
fn set(scene: &Scene<'_>) -> Step {
    let rows: Vec<Json> = scene.rows().into_iter().cloned().collect();
    let table = scene.subject.clone();
    let keys = keys(&table).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let names: Vec<_> = described(&table)
        .filter(|c| !is_long(c) && !keys.iter().any(|key| key == column_name(c)))
        .map(column_name)
        .collect();
    let fields = vec![
        Field::one("column", "Column", &names, 0).hint("Space: the next one"),
        Field::text("value", "Value", "").hint("text, a number, true, false; empty: null"),
    ];
    let title = format!("Set a column of {}", count(rows.len(), "record"));
    Form::new(title, fields, move |values| {
        let column = values.text("column");
        let chosen = described(&table).find(|c| column_name(c) == column);
        let kind = chosen.map(kind).unwrap_or_default();
        let value = typed_value(kind, &values.text("value"));
        let wanted = Map::from_iter([(column, value)]);
        let rows = rows.iter().map(|row| save::patch(&table, row, row, wanted.clone()).checked());
        Act {
            done: "changed".to_owned(),
            what: "record",
            anyway: "write mine over theirs",
            rows: rows.collect(),
            undoes: None,
        }
        .step()
    })
    .step()
}

/// A typed text as the column's type wants it. The service checks it again.
fn typed_value(kind: &str, text: &str) -> Json {
    let text = text.trim();
    match (kind, text) {
        (_, "") => Json::Null,
        ("boolean" | "switch" | "checkbox", "true" | "yes" | "1") => true.into(),
        ("boolean" | "switch" | "checkbox", "false" | "no" | "0") => false.into(),
        ("integer" | "decimal" | "number" | "json", _) => {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        }
        _ => text.into(),
    }
}

fn delete(scene: &Scene<'_>) -> Step {
    let table = &scene.subject;
    let rows: Vec<_> = scene.rows().into_iter().map(|row| deleted(table, row)).collect();
    let number = rows.len();
    let named = rows.first().map(|row| row.name.clone()).filter(|_| number == 1);
    let what = match &named {
        Some(named) => format!("record {named}"),
        None => format!("{} of {}", count(number, "record"), name(table)),
    };
    let (done, anyway) = ("deleted".to_owned(), "delete all of them");
    let act = Act { done, what: "record", anyway, rows, undoes: None };
    let text = format!("Delete {what} for good?");
    let confirm = Confirm::new(text, move || act.step());
    Step::Confirm(if named.is_some() { confirm } else { confirm.typing(number.to_string()) })
}

/// Goes only if it is as the list shows it.
fn deleted(table: &Json, row: &Json) -> Checked {
    let which = which(table, id_of(table, row));
    let name = format!("{} of {}", id_of(table, row), name(table));
    let seen = row.as_object().cloned().unwrap_or_default();
    Checked::deleted(name, save::again(table, row), seen, move || get::<Delete>(&which))
}
