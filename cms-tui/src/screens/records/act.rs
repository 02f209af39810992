//! What can be done with records.

use cms_http::wire::item::Delete;

use super::{edit, id_of, name, one, save, translate, which};
use crate::screens::prelude::*;

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let (table, row) = (&scene.subject, scene.row.cloned().unwrap_or_default());
    match verb {
        "new" => edit::new(table),
        "edit" => edit::open(&row, table),
        "show" => one(table, &row).view(format!("{} {}", name(table), id_of(table, &row))),
        "language" => language(table),
        "translate" => translate::begin(table, &row),
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
