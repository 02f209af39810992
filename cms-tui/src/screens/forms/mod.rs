//! Forms, and what was submitted. Forms are edited as the records that they are.

mod submissions;

use cms_http::wire::item::{Read, WhichItems as Query};

pub(crate) use submissions::SPEC as SUBMISSIONS;

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    preview,
    open: Some(|row, _| Step::Open(Place::about("submissions", row))),
    empty: "No form. cms forms create makes one.",
    follows: |event, _| event.starts_with("item.forms."),
    ..Spec::new("forms", |_| "Forms".to_owned(), columns, list, act)
};

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&Query {
        table: "forms".to_owned(),
        limit: Some(PAGE.to_string()),
        cursor: asked.cursor.clone(),
        sort: Some("name".to_owned()),
        ..Query::default()
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "name", 20, plain),
        column("TITLE", "title", 0, plain),
        column("FIELDS", "fields", 6, number_of),
        column("STATE", "active", 6, active),
        column("KEPT", "retention_days", 9, kept),
    ]
}

fn number_of(row: &Json, name: &str, _: i64) -> Cell {
    (items(&row[name]).len().to_string(), Role::Plain)
}

fn kept(row: &Json, name: &str, _: i64) -> Cell {
    match row[name].as_i64() {
        Some(days) => (format!("{days} days"), Role::Plain),
        None => ("for ever".to_owned(), Role::Quiet),
    }
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, now: i64) -> Lines {
    let names = [
        ("Title", "title"),
        ("Mails to", "recipients"),
        ("Least time", "min_seconds"),
        ("Thanks", "thanks"),
        ("Leads to", "redirect_url"),
    ];
    let mut lines = members(row, &names, now);
    lines.push((Role::Title, "Fields".to_owned()));
    for field in items(&row["fields"]) {
        let [id, kind, label] = ["id", "type", "label"].map(|name| plain_text(&field[name]));
        let needed = if field["required"] == true { " *" } else { "" };
        lines.push((Role::Plain, format!("{id:<18} {kind:<16} {label}{needed}")));
    }
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "submissions" => Step::Open(Place::about("submissions", &row)),
        "show" => Step::View(Viewer::json(format!("Form {}", plain_text(&row["name"])), &row)),
        _ => Step::None,
    }
}
