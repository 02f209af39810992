//! Tasks of plugins, and their runs.

use cms_http::wire::tasks::{History, Read, Start, WhichRuns, WhichTask};

use super::prelude::*;

/// The tasks.
pub(crate) static TASKS: Spec = Spec {
    rows: |_, data| {
        let Json::Array(rows) = data else { return Vec::new() };
        let id =
            |row: &Json| format!("{}/{}", plain_text(&row["plugin"]), plain_text(&row["name"]));
        rows.into_iter().map(|json| Row { id: id(&json), json }).collect()
    },
    preview: |row, _, _, now| about(&row["last_run"], now),
    open: Some(|row, _| Step::Open(Place::about("runs", row))),
    empty: "No plugin declares a task.",
    poll_s: 2,
    ..Spec::new("tasks", |_| "Tasks".to_owned(), columns, tasks, act)
};

/// The runs of one task.
pub(crate) static RUNS: Spec = Spec {
    preview: |row, _, _, now| about(row, now),
    empty: "It has not run yet.",
    ..Spec::new("runs", title, of_runs, runs, |_, _| Step::None)
};

fn title(task: &Json) -> String {
    format!("Runs of {}", plain_text(&task["name"]))
}

fn tasks(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&Listing { limit: Limit(PAGE), cursor: asked.cursor.clone(), count: None })
}

fn runs(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let text = |name: &str| asked.subject[name].as_str().map(str::to_owned);
    get::<History>(&WhichRuns {
        id: None,
        name: text("name"),
        plugin: text("plugin"),
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        count: None,
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("TASK", "name", 0, plain),
        column("PLUGIN", "plugin", 14, plain),
        column("STATE", "state", 8, plain),
        column("LAST", "last_run", 10, |row, name, now| outcome(&row[name], "outcome", now)),
        column("NEXT", "next_due_at", 8, age),
    ]
}

fn of_runs(_: &Json) -> Vec<Column> {
    vec![
        column("BEGAN", "started_at", 11, clock),
        column("OUTCOME", "outcome", 10, outcome),
        column("PROCESS", "process", 0, plain),
        column("WHY", "error", 0, plain),
    ]
}

fn outcome(run: &Json, name: &str, _: i64) -> Cell {
    let (sign, role) = match run[name].as_str() {
        Some("done") => ("✓", Role::Good),
        Some("running") => ("●", Role::Plain),
        Some("failed" | "lost") => ("✗", Role::Bad),
        Some(_) => ("◐", Role::Warn),
        None => return ("—".to_owned(), Role::Quiet),
    };
    (format!("{sign} {}", plain_text(&run[name])), role)
}

fn about(run: &Json, now: i64) -> Lines {
    if run.is_null() {
        return vec![(Role::Quiet, "It has not run yet.".to_owned())];
    }
    let names = [("Began", "started_at"), ("Ended", "ended_at"), ("Process", "process")];
    let (said, role) = outcome(run, "outcome", now);
    let mut lines = vec![(role, said)];
    lines.extend(members(run, &names, now));
    lines.extend(reason(&run["error"]));
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "runs" => Step::Open(Place::about("runs", &row)),
        "run" => {
            let text = |name: &str| row[name].as_str().map(str::to_owned);
            let name = text("name").unwrap_or_default();
            let which = WhichTask { name: name.clone(), plugin: text("plugin") };
            let call = get::<Start>(&which).then(move |reply| {
                let outcome = plain_text(&reply.data["outcome"]);
                match reply.data["error"].as_str() {
                    Some(why) => Step::Fault(Fault::new(format!("{name} {outcome}: {why}"))),
                    None => Step::did(format!("{name}: {outcome}")),
                }
            });
            Step::Several(vec![Step::tell("Running …"), call])
        }
        _ => Step::None,
    }
}
