//! The content of `cms serve --demo`: a bicycle shop with a blog in two languages. The blog is a
//! plugin in JSON, the shop a plugin in Rust. The start page is made of widgets.

mod home;
mod people;
mod pictures;
mod visits;

use std::fs;

use cms_core::settings::Loaded;
use cms_core::{
    Actor, Clock, Cms,
    access::Right,
    funnels::{NewFunnel, PastEnd, WhichFunnel},
    keys::NewApiKey,
    rfc3339,
};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody, OneOrPage,
        funnels::{self, MayName, Publication, WhichFunnels},
        item::{Read, WhichItems},
        keys::{self, Create},
        origins,
        parameters::{ListQuery, NoQuery},
        webhooks,
    },
};
use serde_json::json;

use crate::{
    folder,
    output::{Done, Exit, Failure, Output, Progress},
    reply,
};

pub(crate) const LANGUAGES: [&str; 2] = ["en", "de"];
const PLUGIN: &str = include_str!("../../../demo/plugin.json");
/// The icon of the plugin's widget, in the widget's folder.
const ICON: (&str, &str) =
    ("widgets/latestPosts/posts.svg", include_str!("../../../demo/posts.svg"));
/// A table may refer only to tables before it.
const TABLES: [(&str, &str); 10] = [
    ("authors", include_str!("../../../demo/authors.jsonl")),
    ("blog_categories", include_str!("../../../demo/blog_categories.jsonl")),
    ("blog", include_str!("../../../demo/blog.jsonl")),
    ("blog_comments", include_str!("../../../demo/blog_comments.jsonl")),
    ("pages", include_str!("../../../demo/pages.jsonl")),
    ("menu_items", include_str!("../../../demo/menu_items.jsonl")),
    ("settings", include_str!("../../../demo/settings.jsonl")),
    ("forms", include_str!("../../../demo/forms.jsonl")),
    ("products", include_str!("../../../demo/products.jsonl")),
    ("purchases", include_str!("../../../demo/purchases.jsonl")),
];
/// The funnel where companies ask for bicycles, in each language.
const FUNNELS: [&str; 2] =
    [include_str!("../../../demo/funnel.json"), include_str!("../../../demo/funnel.de.json")];
const BATCH: usize = 200;
/// The most visits that one change stores.
const VISITS: usize = 500;
/// What the demo's key may call.
const RIGHTS: [&str; 4] = [
    "GET /api/pages",
    "GET /api/menu",
    "GET /api/settings",
    "GET,POST,PATCH,DELETE /api/backend/item",
];

/// Refuses a site with any content of its own except users, since `cms init` makes the first of
/// these. Otherwise adds the plugins whose tables will be filled: a blog in JSON, a shop in Rust.
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
    let plugins = &loaded.settings.dirs.plugins;
    let (shop, folder) = (plugins.join("bikeshop/plugin.json"), plugins.join("blog"));
    if shop.exists() {
        return Err(refused(format!("{} is another plugin", shop.display())));
    }
    let file = folder.join("plugin.json");
    match fs::read_to_string(&file) {
        Ok(text) if text == PLUGIN => {}
        Ok(_) => return Err(refused(format!("{} is another plugin", file.display()))),
        Err(_) => {
            for (file, text) in [(folder.join(ICON.0), ICON.1), (file, PLUGIN)] {
                let around = file.parent().unwrap_or(&folder);
                fs::create_dir_all(around).map_err(|e| Failure::file(around, &e))?;
                fs::write(&file, text).map_err(|e| Failure::file(&file, &e))?;
            }
        }
    }
    folder::add_shop(&loaded.settings)
}

/// The first thing that the site has already.
async fn first_of_its_own(cms: &Cms, client: &Client) -> Done<Option<String>> {
    for table in cms.tables().iter() {
        let (name, limit) = (table.name.clone(), Some("1".to_owned()));
        let one = WhichItems { table: name, limit, ..WhichItems::default() };
        let rows = client.call::<Read>(&one, &NoBody).await?;
        if matches!(rows, OneOrPage::Page(page) if !page.data.is_empty()) {
            return Ok(Some(format!("rows in {}", table.name)));
        }
    }
    let list = reply::list_query;
    let every = || Some("*".to_owned());
    let funnels = |limit, cursor| {
        let list = ListQuery::page(limit, cursor);
        WhichFunnels { language: every(), status: None, list }
    };
    let found = [
        ("a funnel", reply::first::<funnels::List>(client, funnels, |_| true).await?.is_some()),
        ("an API key", reply::first::<keys::Read>(client, list, |_| true).await?.is_some()),
        ("an origin", reply::first::<origins::Read>(client, list, |_| true).await?.is_some()),
        ("a webhook", reply::first::<webhooks::Read>(client, list, |_| true).await?.is_some()),
    ];
    Ok(found.into_iter().find(|(_, is_there)| *is_there).map(|(what, _)| what.to_owned()))
}

/// Writes the rows and returns their number.
pub(crate) async fn fill(cms: &Cms, client: &Client, out: &Output) -> Done<u64> {
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
    publish(client).await?;
    let home = home::publish(cms).await?;
    Ok(written + home + visit(cms).await?.len() as u64)
}

/// Stores the visits of the last forty days. Returns how each of them ended.
async fn visit(cms: &Cms) -> Done<Vec<PastEnd>> {
    let which = WhichFunnel::Slug(visits::FUNNEL.to_owned());
    let replay = cms.funnels().replay(&which).await?;
    let mut ends = Vec::new();
    for batch in visits::visits(cms.clock().now()).chunks(VISITS) {
        let mut change = cms.change(Actor::System).await?;
        for one in batch {
            ends.push(replay.add(&mut change, one.clone()).await?);
        }
        change.commit().await?;
    }
    Ok(ends)
}

/// Makes the funnel in each language and publishes it.
async fn publish(client: &Client) -> Done {
    let mut base = None;
    for text in FUNNELS {
        let mut new: NewFunnel = serde_json::from_str(text).map_err(Failure::unexpected)?;
        new.members.extend(base.map(|id: i64| ("base_id".to_owned(), id.into())));
        let made = client.call::<funnels::Create>(&NoQuery {}, &new).await?.data;
        let id = made.funnel.funnel.id;
        base.get_or_insert(id);
        let publication = Publication { id: Some(WhichFunnel::Id(id)), ..Publication::default() };
        client.call::<funnels::Publish>(&MayName::default(), &publication).await?;
    }
    Ok(())
}

/// Creates a key for the content and returns its value.
pub(crate) async fn key(client: &Client) -> Done<String> {
    let rights = RIGHTS.iter().map(|right| Right::parse(right).map_err(Failure::usage));
    let mut new = NewApiKey::new("demo");
    new.rights = rights.collect::<Done<_>>()?;
    Ok(client.call::<Create>(&NoQuery {}, &new).await?.data.key)
}

/// Three calls to paste: a public page, a list read with a key, a new comment. `-g` keeps curl
/// from expanding brackets.
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

#[cfg(test)]
mod tests {
    use cms_core::settings::Settings;
    use cms_http::Api;

    use super::*;

    /// The funnel judges the visits, so an answer that it refuses would change how a visit ends.
    #[tokio::test]
    async fn visitors_come_to_every_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        let file = folder.path().join("site.db");
        settings.database_url = Some(format!("sqlite://{}", file.display()).into());
        let clock = Clock::fixed(visits::NOON);
        let cms = Cms::builder(settings).clock(clock).open().await.expect("a site");
        publish(&Client::local(Api::new(cms.clone()).expect("an API"))).await.expect("a funnel");
        let ends = visit(&cms).await.expect("visits");
        let count = |end| ends.iter().filter(|one| **one == end).count();
        let [completed, abandoned, open] =
            [PastEnd::Completed, PastEnd::Abandoned, PastEnd::InProgress].map(count);
        assert_eq!(completed + abandoned + open, 2000);
        assert!((800..1300).contains(&completed), "{completed} completed");
        assert!((1..60).contains(&open), "{open} are under way");
        cms.close().await;
    }
}
