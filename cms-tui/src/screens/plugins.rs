//! Plugins: which are in service, and what is wrong with the others.

use cms_http::wire::plugins::{Read, WhichPlugins};

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    preview,
    open: Some(|row, _| tables(row)),
    empty: "No plugins. cms plugins new makes one.",
    ..Spec::new("plugins", |_| "Plugins".to_owned(), columns, list, act)
};

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&WhichPlugins {
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        ..WhichPlugins::default()
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("PLUGIN", "id", 18, plain),
        column("NAME", "name", 0, plain),
        column("VERSION", "version", 9, plain),
        column("STATE", "in_service", 14, state),
        column("TABLES", "tables", 0, plain),
    ]
}

fn state(row: &Json, name: &str, _: i64) -> Cell {
    let problems = items(&row["problems"]).len();
    match (row[name] == true, problems) {
        (true, 0) => ("● in service".to_owned(), Role::Good),
        (_, 0) => ("○ not loaded".to_owned(), Role::Quiet),
        (true, n) => (format!("◐ {}", count(n, "problem")), Role::Warn),
        (false, n) => (format!("✗ {}", count(n, "problem")), Role::Bad),
    }
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, _: i64) -> Lines {
    let mut lines = Vec::new();
    for problem in items(&row["problems"]) {
        let line = problem["line"].as_u64().map_or(String::new(), |line| format!(" line {line}"));
        let place = format!("✗ {}{line}", plain_text(&problem["pointer"]));
        lines.push((Role::Bad, place));
        let remedy = problem["remedy"].as_str().unwrap_or_default();
        lines.extend(paragraph(Role::Plain, "  ", remedy, 74));
    }
    for (title, name) in [("Tables", "tables"), ("Permissions", "permissions")] {
        let all = texts(&row[name]);
        let all: Vec<_> = all.map(|one| (Role::Plain, format!("  {}", safe(one)))).collect();
        if !all.is_empty() {
            lines.push((Role::Title, title.to_owned()));
            lines.extend(all);
        }
    }
    lines
}

/// The tables of a plugin, to go to their records.
fn tables(row: &Json) -> Step {
    let names = texts(&row["tables"]);
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.is_empty() {
        return Step::tell("It declares no table.");
    }
    Step::Menu(Menu::new("Tables", names.clone(), move |n| {
        Step::Open(Place::of("content").filtered(names[n].clone()))
    }))
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match (verb, scene.row) {
        ("diff", _) => Step::Run(["plugins", "diff"].map(str::to_owned).to_vec()),
        ("show", Some(row)) => {
            let id = plain_text(&row["id"]);
            get::<Read>(&WhichPlugins { id: Some(id.clone()), ..WhichPlugins::default() }).view(id)
        }
        _ => Step::None,
    }
}
