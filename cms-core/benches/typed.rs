//! What records as values cost beside the JSON of the same records: `cargo bench -p cms-core
//! --bench typed`. Both read the same rows in turn, so a busy machine slows both. It ends with 1
//! when values cost more than the line says.

#![expect(clippy::print_stdout, reason = "it prints figures")]

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use cms_core::{
    Actor, Cms, Result, content,
    items::{Query, desc},
    plugins::Manifest,
    settings::Settings,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

content! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Post in "posts" {
        id: i64,
        title: String,
        body: String,
        stars: i64,
        price: Option<f64>,
        shown: bool,
    }
}

const RECORDS: i64 = 500;
const ROUNDS: usize = 300;
/// What records as values may cost, with their JSON as 1.
const MOST: f64 = 1.2;

fn plugin() -> Manifest {
    let column = |name: &str, kind: &str| json!({"name": name, "type": kind});
    let columns = [
        column("title", "text"),
        column("body", "text"),
        column("stars", "integer"),
        column("price", "number"),
        column("shown", "boolean"),
    ];
    let mut columns = json!(columns);
    for at in [0, 1, 2, 4] {
        columns[at]["required"] = json!(true);
    }
    let manifest = json!({"id": "blog", "tables": [{"name": "posts", "columns": columns}]});
    serde_json::from_value(manifest).unwrap_or_default()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Prints the medians of a read, and returns whether values cost at most `MOST` of the JSON.
fn is_met(what: &str, (raw, typed): (Vec<Duration>, Vec<Duration>)) -> bool {
    let (raw, typed) = (median(raw), median(typed));
    let ratio = typed.as_secs_f64() / raw.as_secs_f64();
    let met = if ratio <= MOST { "met" } else { "NOT met" };
    println!("{what}: JSON {raw:?}, values {typed:?}, ratio {ratio:.2}, at most {MOST:.2}: {met}");
    ratio <= MOST
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let folder = tempfile::tempdir().map_err(cms_core::Error::internal)?;
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().to_owned();
    let cms = Cms::builder(settings).plugin(plugin()).content::<Post>().open().await?;
    let (items, posts) = (cms.items(), cms.items().of::<Post>());
    let mut change = cms.change(Actor::Operator).await?;
    for n in 0..RECORDS {
        let post = Post {
            id: 0,
            title: format!("Post {n}"),
            body: "A paragraph of a post. ".repeat(20),
            stars: n % 5,
            price: (n % 3 == 0).then_some(9.5),
            shown: n % 2 == 0,
        };
        posts.create(&mut change, &post).await?;
    }
    change.commit().await?;

    // The columns that the type has, as its reads ask for them.
    let names = ["id", "title", "body", "stars", "price", "shown"];
    let same = |query: Query| query.fields(names);
    let mut all_met = true;
    for limit in [20, 500] {
        let page = same(Query::new().sort(desc("id")).limit(limit));
        let (mut raw, mut typed) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let began = Instant::now();
            black_box(items.list("posts", &page).await?);
            raw.push(began.elapsed());
            let began = Instant::now();
            black_box(posts.list(&page).await?);
            typed.push(began.elapsed());
        }
        all_met &= is_met(&format!("a list of {limit}"), (raw, typed));
    }

    let (mut raw, mut typed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS * 10 {
        let began = Instant::now();
        black_box(items.get("posts", "250", &same(Query::new())).await?);
        raw.push(began.elapsed());
        let began = Instant::now();
        black_box(posts.get(250).await?);
        typed.push(began.elapsed());
    }
    all_met &= is_met("one record", (raw, typed));
    cms.close().await;
    Ok(if all_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
