//! The content of `cms serve --demo`: a bicycle shop with a blog in two languages. The blog is a
//! plugin in JSON, the shop a plugin in Rust. The start page is a tree of widgets, with its texts
//! in each language.

mod pictures;
mod visits;

use std::{collections::BTreeMap, fs};

use cms_core::{
    Actor, Change, Clock, Cms, Error, Result,
    access::Right,
    funnels::{NewFunnel, PastEnd, WhichFunnel},
    items::IfMatch,
    keys::NewApiKey,
    pages::builder::{NewNode, NodeKind, Parent},
    rfc3339,
    settings::Loaded,
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
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

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
    let home = publish_home(cms).await?;
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

/// The page as rows of columns of widgets. A value is either the same in all languages or an
/// object with a value for each. The value of a picture is its name.
const HOME: &str = include_str!("../../../demo/home.json");
/// The page of each language, by its id in `pages.jsonl`.
const PAGES: [i64; 2] = [1, 2];

type Values = Map<String, Json>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    widget: String,
    data: Values,
    #[serde(default)]
    items: Vec<Values>,
}

/// A page that is being made.
struct Draft<'d> {
    cms: &'d Cms,
    change: &'d mut Change,
    language: &'static str,
    /// Paths of pictures by their names.
    pictures: &'d BTreeMap<String, String>,
    /// Rows written so far.
    written: u64,
}

/// Makes the page in each language, with its pictures, and publishes it. Returns the
/// number of rows.
async fn publish_home(cms: &Cms) -> Result<u64> {
    let rows: Vec<Vec<Vec<Placed>>> = serde_json::from_str(HOME).map_err(Error::internal)?;
    let pictures = pictures::store(cms).await?;
    let mut written = pictures.len() as u64;
    let mut change = cms.change(Actor::System).await?;
    for (page, language) in PAGES.into_iter().zip(LANGUAGES) {
        let change = &mut change;
        let mut draft = Draft { cms, change, language, pictures: &pictures, written: 0 };
        for row in &rows {
            draft.row(page, row).await?;
        }
        written += draft.written;
        cms.pages().publish(draft.change, page, &IfMatch::Nothing).await?;
    }
    change.commit().await?;
    Ok(written)
}

impl Draft<'_> {
    async fn row(&mut self, page: i64, cols: &[Vec<Placed>]) -> Result<()> {
        let row = self.add(NodeKind::Row, page, None, None).await?;
        for col in cols {
            let id = self.add(NodeKind::Col, row, None, None).await?;
            for placed in col {
                let widget = Some(placed.widget.clone());
                let id = self.add(NodeKind::Widget, id, widget, Some(&placed.data)).await?;
                for item in &placed.items {
                    self.add(NodeKind::Item, id, None, Some(item)).await?;
                }
            }
        }
        Ok(())
    }

    async fn add(
        &mut self,
        kind: NodeKind,
        parent: i64,
        widget: Option<String>,
        data: Option<&Values>,
    ) -> Result<i64> {
        let mut new = NewNode::new(kind, Parent::of(kind, parent));
        new.widget = widget;
        new.data = data.map(|values| self.said(values));
        let added = self.cms.pages().add_node(self.change, &IfMatch::Nothing, &new).await?;
        self.written += 1;
        Ok(added.id)
    }

    /// The values for the language of the page, with paths in place of picture names.
    fn said(&self, values: &Values) -> Values {
        let said = |value: &Json| {
            let value = value.get(self.language).unwrap_or(value);
            let path = value.as_str().and_then(|name| self.pictures.get(name));
            path.map_or_else(|| value.clone(), |path| path.as_str().into())
        };
        values.iter().map(|(column, value)| (column.clone(), said(value))).collect()
    }
}

/// Where visitors come from.
struct Source {
    source: &'static str,
    medium: &'static str,
    campaign: &'static str,
    term: &'static str,
    referer: &'static str,
    /// The percentage of visitors from here who stay where others would leave.
    stays: u64,
}

const fn of([source, medium, campaign, term, referer]: [&'static str; 5], stays: u64) -> Source {
    Source { source, medium, campaign, term, referer, stays }
}

const GOOGLE: &str = "https://www.google.com/";

/// The percentage of visitors, and the source that brings them; its members in the order above.
const SOURCES: [(u64, Source); 7] = [
    (22, of(["", "", "", "", ""], 20)),
    (26, of(["", "", "", "", GOOGLE], 25)),
    (17, of(["google", "cpc", "fleet-autumn", "company bicycle lease", GOOGLE], 5)),
    (14, of(["newsletter", "email", "october", "", ""], 60)),
    (12, of(["linkedin", "social", "fleet-autumn", "", "https://www.linkedin.com/"], 0)),
    (6, of(["cycling-association", "referral", "", "", "https://association.example/members"], 50)),
    (3, of(["fair", "qr", "trade-fair", "", ""], 40)),
];

/// The names in a list of names.
fn names(list: &'static str) -> Vec<&'static str> {
    list.split(", ").collect()
}

const FIRST: &str = "\
    Ada, Ahmet, Anna, Bernd, Birgit, Carla, Daniel, Elif, Emma, Felix, Franziska, Georg, Hanna, \
    Ines, Jonas, Katrin, Lena, Lukas, Marie, Murat, Nina, Olga, Paul, Rosa, Sabine, Stefan, \
    Thomas, Ulrike";

const LAST: &str = "\
    Bauer, Becker, Berg, Braun, Demir, Fischer, Gruber, Hoffmann, Huber, Jansen, Keller, Koch, \
    Krüger, Lang, Maier, Möller, Novak, Peters, Richter, Roth, Schäfer, Schmid, Schulz, Vogel, \
    Wagner, Weber, Wolf, Yilmaz";

/// Invented names: the first word of each makes an e-mail domain.
const COMPANIES: &str = "\
    Alpenblick Hotels, Anker Logistics, Birkenhof Care, Blaufeld Software, Deichgraf Energy, \
    Eichenwerk Furniture, Falken Insurance, Fjordline Travel, Granit Building, Hafenstadt Media, \
    Hellweg Textiles, Isarwerk Design, Kastanie Bakeries, Kiesel Concrete, Kornblume Foods, \
    Leuchtturm Publishers, Lindenthal Clinic, Marktplatz Services, Morgenrot Solar, \
    Nordlicht Consulting, Pfeiler Engineering, Quelle Water, Rheinbogen Advisors, \
    Seestern Pharmacy, Silberpfeil Couriers, Steinbock Outdoor, Talblick School, \
    Uferweg Catering, Weitblick Research, Zeder Gardens";

/// The code of each city, and the first of a thousand numbers there that belong to nobody.
const CITIES: [(&str, i64); 4] =
    [("030", 23_125_000), ("040", 66_969_000), ("069", 90_009_000), ("0221", 4_710_000)];

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
