//! The content of `cms serve --demo`: a bicycle shop with a blog in two languages.

use std::fs;

use cms_core::settings::Loaded;
use cms_core::{
    Clock, Cms,
    keys::{NewApiKey, Right},
    rfc3339,
};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody, OneOrPage,
        item::{Asked, Read},
        keys::{self, Create},
        origins,
        parameters::NoQuery,
        user_groups, users, webhooks,
    },
};
use serde_json::json;

use crate::{
    output::{Done, Exit, Failure, Output, Progress},
    reply,
};

pub(crate) const LANGUAGES: [&str; 2] = ["en", "de"];
const PLUGIN: &str = include_str!("../../../demo/plugin.json");
/// A table refers only to those before it.
const TABLES: [(&str, &str); 7] = [
    ("authors", include_str!("../../../demo/authors.jsonl")),
    ("blog_categories", include_str!("../../../demo/blog_categories.jsonl")),
    ("blog", include_str!("../../../demo/blog.jsonl")),
    ("blog_comments", include_str!("../../../demo/blog_comments.jsonl")),
    ("pages", include_str!("../../../demo/pages.jsonl")),
    ("menu_items", include_str!("../../../demo/menu_items.jsonl")),
    ("settings", include_str!("../../../demo/settings.jsonl")),
];
const BATCH: usize = 200;
/// What the demo's key may call.
const RIGHTS: [&str; 4] = [
    "GET /api/pages",
    "GET /api/menu",
    "GET /api/settings",
    "GET,POST,PATCH,DELETE /api/backend/item",
];

/// Refuses a site that has anything of its own. Gives other sites the plugin whose tables will be
/// filled.
pub(crate) async fn prepare(loaded: &Loaded, cms: &Cms, client: &Client) -> Done {
    let dir = loaded.dir.display();
    let refused = |why: String| {
        Failure::new(Exit::Refused, format!("--demo fills only an empty site, and {why}")).hint(
            format!("cms serve --dir {dir} serves it as it is; --demo --dir NEW makes another"),
        )
    };
    if let Some(own) = first_of_its_own(cms, client).await? {
        return Err(refused(format!("{dir} already has {own}")));
    }
    let folder = loaded.settings.dirs.plugins.join("blog");
    let file = folder.join("plugin.json");
    match fs::read_to_string(&file) {
        Ok(text) if text == PLUGIN => Ok(()),
        Ok(_) => Err(refused(format!("{} is another plugin", file.display()))),
        Err(_) => {
            fs::create_dir_all(&folder).map_err(|e| Failure::file(&folder, &e))?;
            fs::write(&file, PLUGIN).map_err(|e| Failure::file(&file, &e))
        }
    }
}

/// Something that the site has already.
async fn first_of_its_own(cms: &Cms, client: &Client) -> Done<Option<String>> {
    for table in cms.tables().iter() {
        let (name, limit) = (table.name.clone(), Some("1".to_owned()));
        let one = Asked { table: name, limit, ..Asked::default() };
        let rows = client.call::<Read>(&one, &NoBody).await?;
        if matches!(rows, OneOrPage::Page(page) if !page.data.is_empty()) {
            return Ok(Some(format!("rows in {}", table.name)));
        }
    }
    let user = |limit, cursor| users::Asked { limit, cursor, ..users::Asked::default() };
    let list = reply::list_query;
    let found = [
        ("an API key", reply::first::<keys::Read>(client, list, |_| true).await?.is_some()),
        ("a user", reply::first::<users::Read>(client, user, |_| true).await?.is_some()),
        ("a group", reply::first::<user_groups::Read>(client, list, |_| true).await?.is_some()),
        ("an origin", reply::first::<origins::Read>(client, list, |_| true).await?.is_some()),
        ("a webhook", reply::first::<webhooks::Read>(client, list, |_| true).await?.is_some()),
    ];
    Ok(found.into_iter().find(|(_, is_there)| *is_there).map(|(what, _)| what.to_owned()))
}

/// Writes the rows and returns their number.
pub(crate) async fn fill(client: &Client, out: &Output) -> Done<u64> {
    let total = TABLES.iter().map(|(_, rows)| rows.lines().count() as u64).sum();
    let mut progress = Progress::new(out, "demo", Some(total));
    let mut written = 0;
    for (table, rows) in TABLES {
        let lines: Vec<&str> = rows.lines().collect();
        for batch in lines.chunks(BATCH) {
            client
                .send(
                    Ask::post("/api/backend/item")
                        .query("table", table)
                        .text(format!("[{}]", batch.join(","))),
                )
                .await?;
            written += batch.len() as u64;
            progress.at(written, written);
        }
    }
    progress.clear();
    Ok(written)
}

/// Creates a key for the content and returns its value.
pub(crate) async fn key(client: &Client) -> Done<String> {
    let rights = RIGHTS.iter().map(|right| Right::parse(right).map_err(Failure::usage));
    let new = NewApiKey {
        name: "demo".to_owned(),
        expires_on: None,
        active: true,
        rights: rights.collect::<Done<_>>()?,
    };
    Ok(client.call::<Create>(&NoQuery {}, &new).await?.data.key)
}

/// Three calls to paste: a public page, a list with a key, a new comment. `-g` keeps curl from
/// expanding brackets.
pub(crate) fn curl_lines(url: &str, key: &str) -> [String; 3] {
    let item = format!("{url}/api/backend/item?table");
    let with_key = format!("curl -gsS -H 'X-Api-Key: {key}'");
    let comment = json!({
        "post_id": 1,
        "name": "Ada",
        "text": "Measured it, changed it.",
        "created_at": rfc3339(Clock::system().now()),
        "approved": false,
    });
    [
        format!("curl -gsS '{url}/api/pages?view=about&language=en'"),
        format!("{with_key} '{item}=blog&filter[published][eq]=true&sort=-published_at&limit=3'"),
        format!(
            "{with_key} -H 'Content-Type: application/json' -d '{comment}' '{item}=blog_comments'"
        ),
    ]
}
