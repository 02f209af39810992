//! System: whether the service is ready, and what it works with.

use cms_http::wire::health::Readyz;

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    rows,
    preview: |row, _, _, _| vec![(Role::Plain, plain_text(&row["about"]))],
    ..Spec::new("system", |_| "System".to_owned(), columns, list, act)
};

fn list(_: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Readyz>(&Default::default())
}

const ABOUT: [(&str, &str); 8] = [
    ("status", "Whether the service can work."),
    ("database", "Whether the database answers."),
    ("migrations", "Whether the schema is up to date."),
    ("limiter", "Where buckets are counted; redis_away counts in memory meanwhile."),
    ("cache", "Where replies are kept."),
    ("queue_age_ms", "By how much the oldest due delivery is late, in milliseconds."),
    ("worker", "Whether this process delivers; cron's cms process-webhooks is not seen here."),
    ("restarts", "Background tasks that failed and were started again."),
];

fn rows(_: &Json, data: Json) -> Vec<Row> {
    let known = ABOUT.iter().filter(|(name, _)| data.get(*name).is_some());
    let row = |(name, about): &(&str, &str)| {
        let json = json!({"name": name, "value": data[*name], "about": about});
        Row { id: (*name).to_owned(), json }
    };
    let client = json!({
        "name": "version",
        "value": env!("CARGO_PKG_VERSION"),
        "about": "The version of this program.",
    });
    known.map(row).chain([Row { id: "version".to_owned(), json: client }]).collect()
}

fn columns(_: &Json) -> Vec<Column> {
    vec![column("WHAT", "name", 20, plain), column("STATE", "value", 0, state)]
}

fn state(row: &Json, name: &str, _: i64) -> Cell {
    let text = match &row[name] {
        Json::Object(members) if members.is_empty() => "none".to_owned(),
        other => plain_text(other),
    };
    let bad = text == "redis_away" || (row["name"] == "restarts" && text != "none");
    (text, if bad { Role::Warn } else { Role::Plain })
}

fn act(verb: &str, _: &Scene<'_>) -> Step {
    let line = match verb {
        "doctor" => "doctor",
        "settings" => "config show --origin",
        "schema" => "migrate status",
        _ => return Step::None,
    };
    Step::Run(line.split(' ').map(str::to_owned).collect())
}
