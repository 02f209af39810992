//! Records of a content table.
//!
//! ```text
//! act        what can be done with them
//! edit       the form of a record
//! choices    what a column can be set to
//! save       writing on condition that nobody else did
//! translate  a version in another language
//! ```

mod act;
mod choices;
mod edit;
mod save;
mod translate;

use std::collections::BTreeMap;

use cms_http::wire::item::{Read, WhichItem, WhichItems as Query};

pub(crate) use edit::field;

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    rows,
    count: Some(count),
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
    ..Spec::new("records", title, columns, list, act::act)
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
fn count(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
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
