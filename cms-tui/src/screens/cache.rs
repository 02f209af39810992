//! The response cache: its settings, and the counters of the process that answers.

use std::sync::Arc;

use cms_http::wire::{
    cache::{Clear, Read, Update, Which},
    parameters::NoQuery,
};
use serde_json::{Value as Json, json};

use super::{
    browser::{ListQuery, Spec},
    cells::{Column, active, column, number, plain},
};
use crate::{
    actions::Scene,
    calls::Fault,
    step::{Act, Calling, Confirm, Form, Patch, Step, get, send_json},
    text::safe,
    theme::Role,
    widgets::{
        field::{Field, Kind},
        input::Input,
        window::Row,
    },
};

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

fn preview(row: &Json, _: Option<&Json>, _: &Json, _: i64) -> Vec<(Role, String)> {
    let (hits, misses) = (row["hits"].as_f64(), row["misses"].as_f64());
    let (hits, all) = (hits.unwrap_or(0.0), hits.unwrap_or(0.0) + misses.unwrap_or(0.0));
    let mut lines = Vec::new();
    if all > 0.0 {
        let share = format!("{:.0} % of requests were answered from it", 100.0 * hits / all);
        lines.push((Role::Plain, share));
    }
    lines.push((Role::Title, "Never kept, with all paths below".to_owned()));
    let never = row["exclude"].as_array().into_iter().flatten().filter_map(Json::as_str);
    lines.extend(never.map(|path| (Role::Plain, format!("  {}", safe(path)))));
    lines
}

/// Changes the settings, and back with undo.
fn change(row: &Json, wanted: Json, done: &str) -> Step {
    let wanted = wanted.as_object().cloned().unwrap_or_default();
    let seen = wanted.keys().filter_map(|name| Some((name.clone(), row.get(name)?.clone())));
    let patch = Patch {
        name: "The cache".to_owned(),
        again: Arc::new(|| get::<Read>(&NoQuery {})),
        write: Arc::new(|members| send_json::<Update>(&NoQuery {}, members)),
        seen: seen.collect(),
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
            get::<Clear>(&Which { path: None })
                .map(|call| call.then(|_| Step::did("All kept replies are forgotten")))
                .into()
        })),
        _ => Step::None,
    }
}

fn edit(row: Json) -> Step {
    let never = row["exclude"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let mut lines = Input::of(&never.collect::<Vec<_>>().join("\n"));
    lines.is_multiline = true;
    let fields = vec![
        Field::number("ttl_s", "Seconds", &row["ttl_s"].to_string()).required(),
        Field::new("exclude", "Never", Kind::Text(lines)).hint("a beginning of paths each line"),
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
