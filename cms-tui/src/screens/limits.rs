//! Limits: buckets of callers that are not full.

use cms_http::wire::limits::{Read, Reset, WhichBuckets, Whose};

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    rows,
    preview,
    empty: "All buckets are full: nobody is near a limit.",
    ..Spec::new("limits", |_| "Limits".to_owned(), columns, list, act)
};

fn list(_: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&WhichBuckets { owner: None })
}

/// A row for each bucket that is used; with the kinds, for the preview.
fn rows(_: &Json, data: Json) -> Vec<Row> {
    let used = items(&data["used"]).to_vec();
    let row = |mut json: Json| {
        let id = format!("{} {}", plain_text(&json["owner"]), plain_text(&json["bucket"]));
        let kinds = items(&data["buckets"]).iter();
        let kind = kinds.into_iter().find(|kind| kind["bucket"] == json["bucket"]);
        json["per_second"] = kind.map(|kind| kind["per_second"].clone()).unwrap_or_default();
        json["store"] = data["store"].clone();
        Row { id, json }
    };
    used.into_iter().map(row).collect()
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("OWNER", "owner", 0, plain),
        column("BUCKET", "bucket", 0, plain),
        column("LEFT", "remaining", 6, left),
        column("OF", "limit", 6, plain),
        column("PER S", "per_second", 7, plain),
    ]
}

fn left(row: &Json, name: &str, _: i64) -> Cell {
    let left = row[name].as_u64().unwrap_or(0);
    (left.to_string(), if left == 0 { Role::Bad } else { Role::Plain })
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, _: i64) -> Lines {
    let (left, of) =
        (row["remaining"].as_f64().unwrap_or(0.0), row["limit"].as_f64().unwrap_or(1.0));
    let full = (of - left) / row["per_second"].as_f64().filter(|rate| *rate > 0.0).unwrap_or(1.0);
    vec![
        (Role::Plain, format!("Full again in {full:.0} s. r fills it now.")),
        (Role::Quiet, format!("Counted in {}", plain_text(&row["store"]))),
    ]
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let owner = scene.row.and_then(|row| row["owner"].as_str()).unwrap_or_default().to_owned();
    if verb != "reset" {
        return Step::None;
    }
    let said = format!("The buckets of {owner} are full");
    get::<Reset>(&Whose { owner }).did(said)
}
