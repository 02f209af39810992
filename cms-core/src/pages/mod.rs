//! Public reads: published pages, menus, public settings, the sitemap.

mod menu;
mod sitemap;
pub(crate) mod sql;
pub mod widgets;

use std::sync::Arc;

use serde_json::value::RawValue;

pub use menu::MenuItem;

use self::widgets::Widgets;
use crate::{
    Code, Error, Paging, Result,
    base::Base,
    db::args,
    items::{Filter, Items, List, Op, Query},
    plugins::Plugins,
};

/// The columns of the public list of pages.
const LISTED: [&str; 8] =
    ["id", "base_id", "language_short", "parent_id", "url_rewrite", "title", "view", "sort_order"];

/// Selects a page. Of `id`, `view` and `url` the first given one counts.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'a> {
    /// Id of the page.
    pub id: Option<&'a str>,
    /// Name of its view.
    pub view: Option<&'a str>,
    /// Address, such as `/about`.
    pub url: Option<&'a str>,
    /// Language: the version in it, whichever version `id` or `url` names. Without it `view` uses
    /// the site's first language, and the others the version they name.
    pub language: Option<&'a str>,
}

/// The public side of a site: `cms.pages()`.
#[derive(Clone)]
pub struct Pages(Arc<State>);

struct State {
    base: Base,
    items: Items,
    widgets: Widgets,
}

impl Pages {
    pub(crate) fn new(base: &Base, items: &Items, plugins: &Plugins) -> Self {
        let widgets = Widgets::new(base, items, plugins);
        Self(Arc::new(State { base: base.clone(), items: items.clone(), widgets }))
    }

    /// The widgets that pages are made of.
    #[must_use]
    pub fn widgets(&self) -> &Widgets {
        &self.0.widgets
    }

    /// Published pages in menu order, one page of the list at a time.
    ///
    /// # Errors
    /// `bad_query` for a foreign cursor.
    pub async fn list(&self, language: Option<&str>, paging: &Paging) -> Result<List> {
        let query = Query {
            language: language.map(str::to_owned),
            limit: paging.limit,
            cursor: paging.cursor.clone(),
            sort: vec![("sort_order".to_owned(), false)],
            fields: LISTED.map(str::to_owned).to_vec(),
            filters: vec![equals("published", "true")],
            ..Query::default()
        };
        self.0.items.list("pages", &query).await
    }

    /// One published page as JSON, with its rows.
    ///
    /// # Errors
    /// `not_found`, also for an unpublished page.
    pub async fn find(&self, wanted: &Wanted<'_>) -> Result<String> {
        let language = wanted.language;
        let page = match (wanted.id, wanted.view, wanted.url.unwrap_or("/")) {
            (Some(id), ..) => self.by_id(id, language).await?,
            (None, Some(view), _) => {
                let first = || self.0.base.settings().languages.first().map(String::as_str);
                self.first(equals("view", view), language.or_else(first)).await?
            }
            (None, None, url) => self.by_url(url, language).await?,
        };
        let page =
            page.ok_or_else(|| Error::new(Code::NotFound, "There is no such published page."))?;
        // The page builder adds rows. A page without rows has an empty list.
        Ok(format!("{},\"rows\":[]}}", page.strip_suffix('}').unwrap_or(&page)))
    }

    async fn by_id(&self, id: &str, language: Option<&str>) -> Result<Option<String>> {
        let query = published(Vec::new(), language);
        match self.0.items.get("pages", id, &query).await {
            Err(error) if error.code() == Code::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// The page at this address. Otherwise the version in `language` of a page at this address.
    async fn by_url(&self, url: &str, language: Option<&str>) -> Result<Option<String>> {
        let page = self.first(equals("url_rewrite", url), language).await?;
        if page.is_some() || language.is_none() {
            return Ok(page);
        }
        let page: Option<(i64,)> = self.0.base.db().optional(sql::PAGE_OF_URL, args![url]).await?;
        match page {
            Some((page,)) => self.by_id(&page.to_string(), language).await,
            None => Ok(None),
        }
    }

    async fn first(&self, filter: Filter, language: Option<&str>) -> Result<Option<String>> {
        self.0.items.first("pages", &published(vec![filter], language)).await
    }

    /// The public settings as one JSON object.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
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

/// A query for one page with the columns that visitors see.
fn published(mut filters: Vec<Filter>, language: Option<&str>) -> Query {
    filters.push(equals("published", "true"));
    let fields = LISTED.iter().chain(&["meta_title", "meta_description"]);
    let fields = fields.map(|name| (*name).to_owned()).collect();
    Query { language: language.map(str::to_owned), filters, fields, ..Query::default() }
}

fn equals(column: &str, value: &str) -> Filter {
    Filter { column: column.to_owned(), op: Op::Eq, values: vec![value.to_owned()] }
}
