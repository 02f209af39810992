//! The response cache: its settings, and the counters of the process that answers.

use std::sync::Arc;

use cms_http::wire::cache::{Clear, Read, Update, WhichReplies};

use super::{cells::number, prelude::*};
use crate::step::Patch;

pub(crate) static SPEC: Spec = Spec {
    rows: |_, data| vec![Row { id: "cache".to_owned(), json: data }],
    preview,
    ..Spec::new("cache", |_| "Response cache".to_owned(), columns, list, act)
};

fn list(_: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&NoQuery {})
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("STATE", "enabled", 6, active),
        column("SECONDS", "ttl_s", 8, number),
        column("STORE", "store", 0, plain),
        column("ENTRIES", "entries", 8, number),
        column("BYTES", "bytes", 10, number),
        column("HITS", "hits", 8, number),
        column("MISSES", "misses", 8, number),
    ]
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, _: i64) -> Lines {
    let (hits, misses) = (row["hits"].as_f64(), row["misses"].as_f64());
    let (hits, all) = (hits.unwrap_or(0.0), hits.unwrap_or(0.0) + misses.unwrap_or(0.0));
    let mut lines = Vec::new();
    if all > 0.0 {
        let share = format!("{:.0} % of requests were answered from it", 100.0 * hits / all);
        lines.push((Role::Plain, share));
    }
    lines.push((Role::Title, "Never kept, with all paths below".to_owned()));
    let never = texts(&row["exclude"]);
    lines.extend(never.map(|path| (Role::Plain, format!("  {}", safe(path)))));
    lines
}

/// Changes the settings, and back with undo.
fn change(row: &Json, wanted: Json, done: &str) -> Step {
    let wanted = wanted.as_object().cloned().unwrap_or_default();
    let patch = Patch {
        name: "The cache".to_owned(),
        again: Arc::new(|| get::<Read>(&NoQuery {})),
        write: Arc::new(|members| send_json::<Update>(&NoQuery {}, members)),
        seen: acts::before(row, &wanted),
        wanted,
        has_undo: true,
    };
    Act::one(patch.checked(), done, "write mine over theirs").step()
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "toggle" if row["enabled"] == true => change(&row, json!({"enabled": false}), "is off"),
        "toggle" => change(&row, json!({"enabled": true}), "is on"),
        "edit" => edit(row),
        "clear" => Step::Confirm(Confirm::new("Forget all kept replies?", || {
            get::<Clear>(&WhichReplies { path: None }).did("All kept replies are forgotten")
        })),
        _ => Step::None,
    }
}

fn edit(row: Json) -> Step {
    let never = texts(&row["exclude"]);
    let never = never.collect::<Vec<_>>().join("\n");
    let fields = vec![
        Field::number("ttl_s", "Seconds", &row["ttl_s"].to_string()).required(),
        Field::lines("exclude", "Never", &never).hint("a beginning of paths each line"),
    ];
    Form::new("How long replies are kept", fields, move |values| {
        let text = values.text("exclude");
        let never: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let mut patch = values.changed.clone();
        if patch.contains_key("exclude") {
            patch.insert("exclude".to_owned(), json!(never));
        }
        change(&row, patch.into(), "has its new settings")
    })
    .step()
}
