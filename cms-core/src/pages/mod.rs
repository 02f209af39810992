//! Pages as visitors read them, menus, public settings and the sitemap; the page builder.

mod addresses;
pub mod builder;
mod fill;
mod menu;
mod parts;
mod published;
mod redirects;
mod sitemap;
pub(crate) mod sql;
pub mod widgets;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value as Json, value::RawValue};

pub use menu::MenuItem;
pub use published::{Alternate, ListedPage, Shown, ShownCol, ShownPage, ShownRow, ShownWidget};
pub use redirects::Redirect;

use self::widgets::Widgets;
use crate::{
    Change, Error, Paging, Result,
    base::Base,
    db::{Lock, Statement, args},
    items::{Filter, Items, List, Op, Query, WriteRules, Written},
    plugins::Plugins,
};

/// Selects a page by the first of `id`, `view` and `url` that is given.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Wanted<'a> {
    /// Id of the page.
    pub id: Option<&'a str>,
    /// Name of its view.
    pub view: Option<&'a str>,
    /// Address, such as `/about`.
    pub url: Option<&'a str>,
    /// The language of the version to return, whichever version `id` or `url` names. Without a
    /// language, `view` uses the site's first one, and `id` and `url` the version that they name.
    pub language: Option<&'a str>,
}

/// The public side of a site: `cms.pages()`.
#[derive(Clone)]
pub struct Pages(Arc<Inner>);

struct Inner {
    base: Base,
    items: Items,
    widgets: Widgets,
    hits: redirects::Hits,
}

impl Pages {
    pub(crate) fn new(base: &Base, items: &Items, plugins: &Plugins) -> Self {
        let widgets = Widgets::new(base, items, plugins);
        let (base, items) = (base.clone(), items.clone());
        let hits = redirects::Hits::default();
        let pages = Self(Arc::new(Inner { base, items, widgets, hits }));
        let room = Arc::downgrade(&pages.0);
        pages.items().set_write_rules(&["pages", "redirects", "menu_items"], room);
        pages
    }

    /// The widgets that pages are made of.
    #[must_use]
    pub fn widgets(&self) -> &Widgets {
        &self.0.widgets
    }

    fn base(&self) -> &Base {
        &self.0.base
    }

    fn items(&self) -> &Items {
        &self.0.items
    }

    /// Published pages in menu order, one page of the list at a time.
    pub async fn list(&self, language: Option<&str>, paging: &Paging) -> Result<List> {
        let query = Query {
            language: language.map(str::to_owned),
            limit: paging.limit,
            cursor: paging.cursor.clone(),
            count: paging.count,
            sort: vec![("sort_order".to_owned(), false)],
            fields: ListedPage::COLUMNS.map(str::to_owned).to_vec(),
            filters: vec![equals("published", "true")],
            ..Query::default()
        };
        self.0.items.list("pages", &query).await
    }

    /// The public settings as one JSON object.
    pub async fn settings(&self) -> Result<String> {
        let rows: Vec<(String, Option<String>)> =
            self.0.base.db().all(sql::PUBLIC_SETTINGS, args![]).await?;
        let mut members = std::collections::BTreeMap::new();
        for (name, value) in rows {
            let value = RawValue::from_string(value.unwrap_or_else(|| "null".to_owned()))
                .map_err(Error::internal)?;
            members.insert(name, value);
        }
        serde_json::to_string(&members).map_err(Error::internal)
    }
}

impl WriteRules for Inner {
    fn lock(&self, table: &str, columns: &[&str], is_new: bool) -> Option<Lock> {
        let has = |column: &str| columns.contains(&column);
        match table {
            // A new page has no children, so it cannot close a circle with another change.
            "pages" => (has("parent_id") && !is_new).then_some(TREE),
            "menu_items" => menu::is_moved(has, is_new).then_some(TREE),
            "redirects" => redirects::LEADING.into_iter().any(has).then_some(CHAINS),
            _ => None,
        }
    }

    fn written<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        written: &'c Written,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            match table {
                "pages" => Pages(self).page_written(change, written).await,
                "redirects" => Pages(self).redirect_written(change, written).await,
                "menu_items" => menu::item_written(change, written).await,
                _ => Ok(()),
            }
        })
    }

    fn removing<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            match table {
                "menu_items" => menu::removing_item(change, record).await,
                _ => Ok(()),
            }
        })
    }

    fn removed<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            match table {
                "pages" if record["published"] == true => Pages(self).deleted(change, record).await,
                _ => Ok(()),
            }
        })
    }
}

/// Locked by changes of parents before they write: two at the same time could close a
/// circle together.
const TREE: Lock = Lock::new(22);
/// As [`TREE`], for redirects. A change that writes several redirects writes them in the order of
/// their ids, and takes this lock after [`TREE`]: a page that moves leaves a redirect.
const CHAINS: Lock = Lock::new(23);

/// Refuses a written row whose `parent_id` leads back to the row. `circle` is the statement that
/// checks this.
async fn refuse_circle(change: &mut Change, circle: Statement, id: i64) -> Result<()> {
    let (times,): (i64,) = change.one(circle, args![id]).await?;
    if times == 0 {
        return Ok(());
    }
    let message = "it leads back to this row: choose a parent that does not stand below it";
    Err(Error::invalid_field("parent_id", "loop", message))
}

fn equals(column: &str, value: &str) -> Filter {
    Filter { column: column.to_owned(), op: Op::Eq, values: vec![value.to_owned()] }
}
