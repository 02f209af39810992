//! What can be done with records.

use std::collections::VecDeque;

use cms_http::wire::item::{Delete, Update};
use serde_json::{Value as Json, json};

use super::{edit, id_of, name, one, which};
use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    step::{Bulk, BulkCall, Confirm, Form, Step, UndoOf, get, send},
    text::count,
    widgets::{field::Field, viewer::Viewer},
};

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let (table, row) = (&scene.subject, scene.row.cloned().unwrap_or_default());
    match verb {
        "new" => edit::new(table),
        "edit" => edit::open(&row, table),
        "show" => one(table, &row)
            .map(|call| {
                let title = format!("{} {}", name(table), id_of(table, &row));
                call.then(move |reply| Step::View(Viewer::json(title, &reply.data)))
            })
            .into(),
        "language" => language(table),
        "set" => set(scene),
        "delete" => delete(scene),
        _ => Step::None,
    }
}

/// Shows the versions in the next language; after the last one, all.
fn language(table: &Json) -> Step {
    let known = table["languages"].as_array().cloned().unwrap_or_default();
    let known: Vec<_> = known.iter().filter_map(Json::as_str).collect();
    if known.is_empty() {
        return Step::Tell("This table has no languages.".to_owned());
    }
    let now = table["language"].as_str().and_then(|now| known.iter().position(|one| *one == now));
    let next = now.map_or(0, |now| now + 1);
    match known.get(next) {
        Some(language) => Step::Set("language", (*language).to_owned()),
        None => Step::Set("language", String::new()),
    }
}

/// One column of all marked records, each back with undo.
fn set(scene: &Scene<'_>) -> Step {
    let rows: Vec<Json> = scene.rows().into_iter().cloned().collect();
    let table = scene.subject.clone();
    let keys = super::keys(&table).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let names: Vec<_> = super::described(&table)
        .filter(|c| !super::is_long(c) && !keys.iter().any(|key| key == super::column_name(c)))
        .map(super::column_name)
        .collect();
    let fields = vec![
        Field::one("column", "Column", &names, 0).hint("Space: the next one"),
        Field::text("value", "Value", "").hint("text, a number, true, false; empty: null"),
    ];
    let title = format!("Set a column of {}", count(rows.len(), "record"));
    Form::new(title, fields, move |values| {
        let column = values.text("column");
        let kind = super::described(&table).find(|c| super::column_name(c) == column);
        let kind = kind.map(super::kind).unwrap_or_default();
        let value = typed_value(kind, &values.text("value"));
        let setting = Setting { table: table.clone(), column, value };
        setting.read(rows.clone().into(), Vec::new())
    })
    .step()
}

/// A column of several records. Each is read whole first: a list cuts long values, and undo writes
/// back what was read.
struct Setting {
    table: Json,
    column: String,
    value: Json,
}

impl Setting {
    fn read(self, mut left: VecDeque<Json>, mut calls: Vec<BulkCall>) -> Step {
        let Some(row) = left.pop_front() else {
            return Step::Bulk(Bulk { done: "changed".to_owned(), what: "record", calls });
        };
        one(&self.table, &row)
            .map(|call| {
                call.then(move |reply| match self.call(id_of(&self.table, &row), &reply) {
                    Ok(call) => {
                        calls.push(call);
                        self.read(left, calls)
                    }
                    Err(fault) => Step::Fault(fault),
                })
            })
            .into()
    }

    /// Sets it on condition that nobody changes the record meanwhile.
    fn call(&self, id: String, read: &Reply) -> Result<BulkCall, Fault> {
        let which = which(&self.table, id.clone());
        let call = send::<Update>(&which, json!({self.column.clone(): self.value}))?;
        let back = json!({self.column.clone(): read.data[&self.column]});
        let is_whole = !read.cut;
        let undo: UndoOf = Box::new(move |reply| {
            let call = send::<Update>(&which, back).ok().filter(|_| is_whole)?;
            Some(call.if_match(reply.etag.clone()))
        });
        Ok(BulkCall { name: id, call: call.if_match(read.etag.clone()), undo: Some(undo) })
    }
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
    let mut calls = Vec::new();
    for row in scene.rows() {
        let id = id_of(table, row);
        match get::<Delete>(&which(table, id.clone())) {
            Ok(call) => calls.push(BulkCall { name: id, call, undo: None }),
            Err(fault) => return Step::Fault(fault),
        }
    }
    let (many, number) = (count(calls.len(), "record"), calls.len());
    let named = if number == 1 { calls[0].name.clone() } else { number.to_string() };
    let bulk = Step::Bulk(Bulk { done: "deleted".to_owned(), what: "record", calls });
    let what = if number == 1 { format!("record {named}") } else { many };
    let text = format!("Delete {what} of {} for good?", name(table));
    let confirm = Confirm::new(text, move || bulk);
    Step::Confirm(if number == 1 { confirm } else { confirm.typing(named) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_writes_back_what_was_read_whole() {
        let table = json!({"name": "blog", "columns": [{"name": "id", "key": true}]});
        let setting = Setting { table, column: "title".into(), value: "new".into() };
        let reply = |etag: &str, cut: bool| Reply {
            data: json!({"id": 1, "title": "old"}),
            etag: Some(etag.to_owned()),
            cut,
            ..Reply::default()
        };
        let undo = |cut: bool| {
            let call = setting.call("1".to_owned(), &reply("a", cut)).expect("a call");
            assert_eq!(call.call.ask.body(), Some(r#"{"title":"new"}"#));
            call.undo.expect("an undo")(&reply("b", false))
        };
        let back = undo(false).expect("taken back");
        assert_eq!(back.ask.body(), Some(r#"{"title":"old"}"#));
        assert!(undo(true).is_none(), "a value that was cut is never written back");
    }
}
