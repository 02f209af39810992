//! What widgets show beside their values: code of plugins, and what built-in ones know.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use cms_core::{
    Code, Error, Result,
    items::Query,
    plugins::{Handlers, Manifest, PlacedWidget, Plugin, WidgetContent},
    settings::Settings,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json, json};

use crate::{
    routes::pagebuilder::with_pages,
    support::{Site, each, has, leads, media::png},
};

/// Content of code that behaves as its version says.
struct Behaving(&'static str, &'static str);

impl WidgetContent for Behaving {
    fn name(&self) -> &str {
        self.0
    }

    fn version(&self) -> &str {
        self.1
    }

    fn tables(&self) -> Option<Vec<String>> {
        (self.1 != "unknown").then(|| vec!["settings".to_owned()])
    }

    fn content<'a>(
        &'a self,
        widget: &'a PlacedWidget,
        backend: bool,
    ) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            match self.1 {
                "fails" => Err(Error::new(Code::Unavailable, "nothing today")),
                "panics" => panic!("as it was told to"),
                "hangs" => std::future::pending().await,
                "asks" => Ok(json!(widget.cms()?.settings().languages)),
                _ => {
                    let any = widget.records().first("settings", &Query::default()).await?;
                    let title = widget.text("title");
                    Ok(json!({"title": title, "backend": backend, "any": any.is_some()}))
                }
            }
        })
    }
}

/// A plugin whose code serves built-in widgets.
enum Shop {
    Behaving,
    Counting(Counted),
}

impl Plugin for Shop {
    fn manifest(&self) -> Manifest {
        let mut manifest = Manifest::default();
        manifest.id = "shop".to_owned();
        manifest
    }

    fn handlers(&self) -> Handlers {
        match self {
            Self::Counting(counted) => Handlers::default().widget(counted.clone()),
            Self::Behaving => Handlers::default()
                .widget(Behaving("productTeaser", "works"))
                .widget(Behaving("productListing", "fails"))
                .widget(Behaving("shop", "panics"))
                .widget(Behaving("checkout", "hangs"))
                .widget(Behaving("calendar", "unknown"))
                .widget(Behaving("elearning", "asks")),
        }
    }
}

fn object(value: Json) -> Map<String, Json> {
    value.as_object().unwrap().clone()
}

/// The content of one widget in English.
async fn shown(site: &Site, widget: &str, data: Json, items: Vec<Json>, backend: bool) -> Json {
    let widgets = site.cms.pages().widgets();
    let items = items.into_iter().map(object).collect();
    let placed = widgets.placed(1, widget, "en", object(data), items);
    widgets.contents(&[placed], backend).await.0.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_fails_panics_or_hangs_costs_its_own_content_alone() {
    let site = Site::builder().await.program(Shop::Behaving).open().await;
    let widgets = site.cms.pages().widgets();
    let names = ["productTeaser", "productListing", "shop", "checkout", "title", "productTeaser"];
    let placed: Vec<_> = names
        .iter()
        .zip(1..)
        .map(|(name, id)| widgets.placed(id, name, "en", object(json!({"title": "A"})), Vec::new()))
        .collect();
    // What hangs would hang for ever.
    let made = tokio::time::timeout(Duration::from_secs(60), widgets.contents(&placed, true));
    let (contents, whole) = made.await.expect("an end");
    let works = json!({"title": "A", "backend": true, "any": false});
    assert_eq!(contents, [works.clone(), Json::Null, Json::Null, Json::Null, Json::Null, works]);
    assert!(!whole, "such a page is not kept");
}

#[tokio::test]
async fn content_asks_the_site() {
    let site = Site::builder().await.program(Shop::Behaving).open().await;
    let made = shown(&site, "elearning", json!({}), Vec::new(), false).await;
    assert_eq!(made, json!(["en", "de"]));
}

/// Counts its calls that run at the same time, and answers with so many bytes.
#[derive(Clone, Default)]
struct Counted {
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl WidgetContent for Counted {
    fn name(&self) -> &str {
        "elearning"
    }

    fn version(&self) -> &str {
        "1.0.0"
    }

    fn content<'a>(&'a self, widget: &'a PlacedWidget, _: bool) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            self.most.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
            // All that may run have begun before the first ends.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            self.running.fetch_sub(1, SeqCst);
            Ok("x".repeat(widget.data["bytes"].as_u64().unwrap() as usize).into())
        })
    }
}

#[tokio::test]
async fn sixteen_make_their_content_at_once() {
    let counted = Counted::default();
    let site = Site::builder().await.program(Shop::Counting(counted.clone())).open().await;
    let widgets = site.cms.pages().widgets();
    let placed: Vec<_> = (0..100)
        .map(|id| widgets.placed(id, "elearning", "en", object(json!({"bytes": 1})), Vec::new()))
        .collect();
    let (contents, whole) = widgets.contents(&placed, false).await;
    assert!(whole && contents.iter().all(|content| *content == "x"));
    assert_eq!(counted.most.load(SeqCst), 16);
}

#[tokio::test]
async fn what_does_not_fit_costs_its_own_content_alone() {
    let site = Site::builder().await.program(Shop::Counting(Counted::default())).open().await;
    let widgets = site.cms.pages().widgets();
    let made = async |bytes: &[usize]| {
        let placed: Vec<_> = bytes
            .iter()
            .map(|bytes| {
                let data = object(json!({"bytes": bytes}));
                widgets.placed(1, "elearning", "en", data, Vec::new())
            })
            .collect();
        let (contents, whole) = widgets.contents(&placed, false).await;
        let sizes: Vec<_> = contents.iter().map(|one| one.as_str().map(str::len)).collect();
        (sizes, whole)
    };
    let most = 4 * 1024 * 1024;
    // Two bytes are the quotes.
    assert_eq!(made(&[most - 2]).await, (vec![Some(most - 2)], true));
    let (sizes, whole) = made(&[most - 1, 10]).await;
    assert_eq!((sizes, whole), (vec![None, Some(10)], false));
    let (sizes, whole) = made(&[1 << 20; 6]).await;
    assert_eq!((sizes.iter().flatten().count(), whole), (3, false), "not a byte more");
    // What a page tells of its pictures counts too.
    let path = site.upload("a.png", &png(8, 5, 1)).await.data()["path"].clone();
    for (bytes, fits) in [(most - 2, false), (most - 1000, true)] {
        let data = object(json!({"bytes": bytes}));
        let large = widgets.placed(1, "elearning", "en", data, Vec::new());
        let data = object(json!({"image": path}));
        let image = widgets.placed(2, "image", "en", data, Vec::new());
        let (contents, whole) = widgets.contents(&[large, image], false).await;
        assert_eq!((contents[0].is_null(), !contents[1].is_null(), whole), (false, fits, fits));
    }
}

#[tokio::test]
async fn tables_say_until_when_a_page_is_kept() {
    let site = Site::builder().await.program(Shop::Behaving).open().await;
    let widgets = site.cms.pages().widgets();
    let tables = |names: &[&str]| {
        let found = widgets.tables(names.iter().copied());
        found.map(|tables| tables.into_iter().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(tables(&["title", "html"]).as_deref(), Some(""));
    assert_eq!(tables(&["title", "productTeaser", "gallery"]).as_deref(), Some("media settings"));
    assert_eq!(tables(&["form"]).as_deref(), Some("formfunnels forms"));
    assert_eq!(tables(&["footer_links"]).as_deref(), Some("menu_items"));
    assert_eq!(tables(&["title", "calendar"]), None);
    assert_eq!(tables(&["jobs"]).as_deref(), Some("@today media"), "they change with the day");
}

#[tokio::test]
async fn what_needs_code_shows_nothing_without_it() {
    let site = Site::open().await;
    let groups =
        ["shop", "shopsystem", "search", "elearning", "exhibition", "productListing", "blog"];
    let mut seen = 0;
    for widget in site.cms.pages().widgets().all() {
        if groups.contains(&widget.group.as_str()) {
            let data = json!({"title": "A", "image": "/media/ab/c.png"});
            assert_eq!(shown(&site, &widget.name, data, Vec::new(), false).await, Json::Null);
            seen += 1;
        }
    }
    assert_eq!(seen, 8 + 7 + 2 + 1 + 1 + 1 + 2);
}

#[tokio::test]
async fn vacancies_are_shown_until_their_last_day() {
    let site = Site::open().await;
    let jobs = [("over", Some("2026-11-20")), ("today", Some("2026-11-21")), ("always", None)];
    for (days, backend, seen) in [
        (0, false, &["today", "always"][..]),
        (0, true, &["over", "today", "always"]),
        (1, false, &["always"]),
    ] {
        site.clock.advance(days * 24 * 3_600_000);
        let items = jobs.map(|(title, last)| json!({"title": title, "end_date": last}));
        let content = shown(&site, "jobs", json!({}), items.to_vec(), backend).await;
        assert_eq!(each(&content["items"], "title"), seen, "{days} {backend}");
    }
}

#[tokio::test]
async fn a_link_shows_a_draft_as_visitors_would_see_it() {
    let site = with_pages(Site::open().await).await;
    let (_, col) = site.row(1).await;
    let jobs = site.widget(col, "jobs", json!({})).await;
    for (title, last) in [("Over", "2026-11-20"), ("Today", "2026-11-21")] {
        site.item(jobs, json!({"title": title, "end_date": last})).await;
    }
    let page = site.drawn(1).await;
    let widget = &page["rows"][0]["cols"][0]["widgets"][0];
    assert_eq!(widget["data"]["items"].as_array().unwrap().len(), 2);
    assert_eq!(each(&widget["content"]["items"], "title"), ["Today"]);
}

#[tokio::test]
async fn a_page_with_vacancies_is_kept_until_midnight() {
    let keeps = |settings: &mut Settings| {
        (settings.cache.enabled, settings.cache.ttl_s) = (true, 7 * 86_400);
    };
    let site = with_pages(Site::with(keeps).await).await;
    let (_, col) = site.row(1).await;
    let jobs = site.widget(col, "jobs", json!({})).await;
    site.item(jobs, json!({"title": "Today", "end_date": "2026-11-21"})).await;
    site.act("publish", json!({"page_id": 1})).await;
    let read = async || {
        let reply = site.ask("GET /api/pages?id=1").expect(200).await;
        let page = reply.data();
        let items = &page["rows"][0]["cols"][0]["widgets"][0]["content"]["items"];
        format!("{} {}", reply.header("x-cache"), items.as_array().unwrap().len())
    };
    assert_eq!([read().await, read().await], ["MISS 1", "HIT 1"]);
    site.clock.advance(24 * 3_600_000);
    assert_eq!([read().await, read().await], ["MISS 0", "HIT 0"]);
}

#[tokio::test]
async fn forms_show_their_fields_and_nothing_that_stays_here() {
    let site = Site::open().await;
    let form = json!({
        "name": "contact", "title": "Write to us", "active": true,
        "recipients": ["office@example.org"],
        "fields": [{"id": "mail", "type": "email", "blocked_domains": ["spam.example"]}],
    });
    site.create("/api/backend/item?table=forms", form).await;
    for widget in ["form", "newsletter"] {
        let content = shown(&site, widget, json!({"form": "contact"}), Vec::new(), false).await;
        has!(content["form"], {"name": "contact", "/fields/0/id": "mail"});
        let text = content.to_string();
        assert!(!text.contains("office@") && !text.contains("spam.example"), "{text}");
    }
    site.patch("/api/backend/item?table=forms&id=1", json!({"active": false})).await;
    for data in
        [json!({"form": "contact"}), json!({"form": "gone"}), json!({}), json!({"funnel": "x"})]
    {
        assert_eq!(shown(&site, "form", data, Vec::new(), false).await, Json::Null);
    }
}

#[tokio::test]
async fn a_funnel_is_shown_while_it_is_published() {
    let site = Site::open().await;
    let data = json!({"funnel": "leads"});
    assert_eq!(shown(&site, "form", data.clone(), Vec::new(), false).await, Json::Null);
    site.funnel(leads()).await;
    let content = shown(&site, "form", data, Vec::new(), false).await;
    has!(content["funnel"], {"slug": "leads", "name": "Leads"});
}
