//! `/api/backend/pagebuilder`: drafts edited, published, returned.

/// Nodes added, changed, moved, removed; what is refused.
mod edits;
/// Links that show a draft.
mod links;
/// Published, discarded, restored, copied, compared.
mod publish;
/// Publications at a time.
mod schedule;
mod widgets;

use serde_json::{Value as Json, json};

use crate::support::{Reply, Site};

pub(crate) const BUILDER: &str = "/api/backend/pagebuilder";

/// A site with a page in two languages: 1 in English, 2 in German.
pub(crate) async fn site() -> Site {
    with_pages(Site::open().await).await
}

/// As [`site`], of a site that is open.
pub(crate) async fn with_pages(site: Site) -> Site {
    let page = |id: i64, language: &str, url: &str| {
        json!({"id": id, "base_id": 1, "language_short": language, "url_rewrite": url,
               "title": format!("Home {language}"), "view": "home"})
    };
    let pages = json!([page(1, "en", "/"), page(2, "de", "/de")]);
    site.create("/api/backend/item?table=pages", pages).await;
    site
}

impl Site {
    pub(crate) async fn add(&self, node: Json) -> Json {
        self.admin(&format!("POST {BUILDER}")).json(node).expect(201).await.data()
    }

    pub(crate) async fn draft(&self, page: i64) -> Reply {
        self.admin(&format!("GET {BUILDER}?page_id={page}")).expect(200).await
    }

    /// A page action, by its name.
    pub(crate) async fn act(&self, action: &str, body: Json) -> Json {
        let line = format!("POST {BUILDER}?action={action}");
        self.admin(&line).json(body).expect(200).await.data()
    }

    /// A page action that is refused.
    pub(crate) async fn act_refused(&self, action: &str, body: Json, status: u16, code: &str) {
        let line = format!("POST {BUILDER}?action={action}");
        self.admin(&line).json(body).refused(status, code).await;
    }

    /// A row with a column in a page; the ids of both.
    pub(crate) async fn row(&self, page: i64) -> (i64, i64) {
        let row = self.add(json!({"kind": "row", "parent": {"page_id": page}})).await;
        let row = row["id"].as_i64().unwrap();
        let col = self.add(json!({"kind": "col", "parent": {"row_id": row}})).await;
        (row, col["id"].as_i64().unwrap())
    }

    /// A widget in a column; its id.
    pub(crate) async fn widget(&self, col: i64, widget: &str, data: Json) -> i64 {
        let node = json!({"kind": "widget", "parent": {"col_id": col}, "widget": widget,
                          "data": data});
        self.add(node).await["id"].as_i64().unwrap()
    }

    /// An item of a widget; its id.
    pub(crate) async fn item(&self, widget: i64, data: Json) -> i64 {
        let node = json!({"kind": "item", "parent": {"widget_id": widget}, "data": data});
        self.add(node).await["id"].as_i64().unwrap()
    }

    /// A widget `title` in a column; its id.
    pub(crate) async fn title(&self, col: i64, title: &str) -> i64 {
        self.widget(col, "title", json!({"title": title})).await
    }

    /// A row with a widget `title` in a page; the ids of its column and the widget.
    pub(crate) async fn headline(&self, page: i64, title: &str) -> (i64, i64) {
        let (_, col) = self.row(page).await;
        (col, self.title(col, title).await)
    }

    /// What a link to the draft of a page shows.
    pub(crate) async fn drawn(&self, page: i64) -> Json {
        let link = self.act("link", json!({"page_id": page})).await;
        let line = format!("GET {}", link["path"].as_str().unwrap());
        self.ask(&line).expect(200).await.data()
    }

    pub(crate) async fn retitle(&self, widget: i64, title: &str) -> Reply {
        let line = format!("PATCH {BUILDER}?widget_id={widget}");
        self.admin(&line).json(json!({"data": {"title": title}})).expect(200).await
    }

    /// The titles that visitors see of a page; none while it is not published.
    pub(crate) async fn seen(&self, page: i64) -> Option<Vec<String>> {
        let reply = self.ask(&format!("GET /api/pages?id={page}")).send().await;
        (reply.status == 200).then(|| titles(&reply.data()))
    }
}

/// The titles of the widgets of a page, in order.
pub(crate) fn titles(page: &Json) -> Vec<String> {
    let list = |json: &Json, name: &str| json[name].as_array().cloned().unwrap_or_default();
    let cols = list(page, "rows").into_iter().flat_map(|row| list(&row, "cols"));
    let widgets = cols.flat_map(|col| list(&col, "widgets"));
    widgets.map(|one| one["data"]["title"].as_str().unwrap_or_default().to_owned()).collect()
}
