//! A published page as visitors read it: its record, its addresses, its frozen rows. One statement
//! reads them together, so that nobody sees half of a publication.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{Pages, Wanted, builder::Tree, sql};
use crate::{
    Code, Error, Result, Secret,
    db::args,
    ground::address::{encoded, escaped},
};

/// A published page in the list of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListedPage")]
#[non_exhaustive]
pub struct ListedPage {
    /// Its id.
    pub id: i64,
    /// The page that it is a language version of.
    pub base_id: Option<i64>,
    /// Its language.
    pub language_short: String,
    /// The page above it.
    pub parent_id: Option<i64>,
    /// Its address on the site.
    pub url_rewrite: String,
    /// Its title.
    pub title: String,
    /// Name by which a theme asks for it.
    pub view: Option<String>,
    /// Its place in lists.
    pub sort_order: i64,
}

impl ListedPage {
    /// The columns that hold the members of a listed page.
    pub(super) const COLUMNS: [&str; 8] = [
        "id", "base_id", "language_short", "parent_id", "url_rewrite", "title", "view",
        "sort_order",
    ];
}

/// A page as visitors read it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShownPage")]
#[non_exhaustive]
pub struct ShownPage {
    /// What the list shows of it too.
    #[serde(flatten)]
    pub listed: ListedPage,
    /// Title for search engines.
    pub meta_title: Option<String>,
    /// Description for search engines.
    pub meta_description: Option<String>,
    /// Its whole address, always https.
    pub canonical: String,
    /// The published versions of the page, itself included, by language.
    pub alternates: Vec<Alternate>,
    /// Structured data for search engines: a `WebPage` of schema.org.
    pub json_ld: Json,
    /// From top to bottom.
    pub rows: Vec<ShownRow>,
}

/// A page in one language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageAlternate")]
#[non_exhaustive]
pub struct Alternate {
    /// The language.
    pub language_short: String,
    /// The whole address, always https.
    pub url: String,
}

/// A row of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShownPageRow")]
#[non_exhaustive]
pub struct ShownRow {
    /// Its id.
    pub id: i64,
    /// From left to right.
    pub cols: Vec<ShownCol>,
}

/// A column of a row.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShownPageCol")]
#[non_exhaustive]
pub struct ShownCol {
    /// Its id.
    pub id: i64,
    /// From top to bottom.
    pub widgets: Vec<ShownWidget>,
}

/// A widget as its component gets it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShownPageWidget")]
#[non_exhaustive]
pub struct ShownWidget {
    /// Its id.
    pub id: i64,
    /// Its name in the registry.
    pub widget: String,
    /// Name of its component; null when the widget is registered no longer.
    pub template: Option<String>,
    /// The values that are set; of a repeater also `items`, each with its `id` and its values.
    pub data: Map<String, Json>,
    /// What the widget computes; null when it computes nothing.
    pub content: Json,
}

/// A page, and the tables that its content was made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shown {
    /// The page.
    pub page: ShownPage,
    /// The tables that the content of its widgets was read from. `None`: the page must not
    /// be cached.
    pub reads: Option<Vec<String>>,
}

impl Pages {
    /// One published page with its rows. `site`: the site's address, without a trailing slash.
    ///
    /// # Errors
    /// `not_found`, also for an unpublished page; `bad_query` for an invalid id.
    pub async fn find(&self, wanted: &Wanted<'_>, site: &str) -> Result<Shown> {
        let db = self.base().db();
        let first = || self.base().settings().languages.first().cloned();
        let rows: Vec<sql::PageRow> = match (wanted.id, wanted.view, wanted.url, wanted.language) {
            (Some(id), _, _, language) => {
                let id: i64 = id.parse().map_err(|_| {
                    Error::new(Code::BadQuery, format!("{id:?} is no page id: write a number."))
                })?;
                match language {
                    None => db.all(sql::BY_ID, args![id]).await?,
                    Some(language) => db.all(sql::BY_ID_IN, args![id, language]).await?,
                }
            }
            (None, Some(view), _, language) => {
                let language = language.map(str::to_owned).or_else(first);
                db.all(sql::BY_VIEW, args![text(view)?, language]).await?
            }
            (None, None, url, language) => {
                let url = text(url.unwrap_or("/"))?;
                let mut rows = self.at(url, language).await?;
                // The caller may have decoded an address that is stored encoded, or may spell
                // it differently.
                let spelled = [escaped(url), encoded(url)];
                for (place, other) in spelled.iter().enumerate() {
                    let is_tried = other == url || spelled[..place].contains(other);
                    if rows.is_empty() && !is_tried {
                        rows = self.at(other, language).await?;
                    }
                }
                rows
            }
        };
        self.shown(rows, site, None).await
    }

    /// A published page at an address, or its version in a language.
    pub(super) async fn at(&self, url: &str, language: Option<&str>) -> Result<Vec<sql::PageRow>> {
        let db = self.base().db();
        let first = self.base().settings().languages.first().cloned();
        match language {
            None => db.all(sql::BY_URL, args![url, first]).await,
            Some(language) => db.all(sql::BY_URL_IN, args![url, language]).await,
        }
    }

    /// The draft of a page as visitors would read it, for anyone with a link to it.
    ///
    /// # Errors
    /// `not_found`, also for a link that was revoked or has expired.
    pub async fn preview(&self, token: &Secret, site: &str) -> Result<Shown> {
        let page = self.admit_link(token).await?;
        let rows: Vec<sql::PageRow> = self.base().db().all(sql::ANY_BY_ID, args![page]).await?;
        let tree = self.draft(page).await?.tree;
        self.shown(rows, site, Some(tree)).await
    }

    /// Builds a page. `draft`: the tree to show instead of its revision.
    async fn shown(
        &self,
        rows: Vec<sql::PageRow>,
        site: &str,
        draft: Option<Tree>,
    ) -> Result<Shown> {
        let none = || Error::new(Code::NotFound, "There is no such published page.");
        let versions = rows.iter().filter_map(|row| {
            let url = address(site, row.version_url.as_deref()?);
            Some(Alternate { language_short: row.version_language.clone()?, url })
        });
        let alternates: Vec<_> = versions.collect();
        let frozen = rows.iter().find_map(|row| row.tree.clone());
        let found = rows.into_iter().next().ok_or_else(none)?;
        let tree = match (draft, frozen) {
            (Some(draft), _) => draft,
            (None, Some(frozen)) => serde_json::from_str(&frozen).map_err(Error::internal)?,
            (None, None) => Tree::default(),
        };
        let canonical = address(site, &found.url_rewrite);
        let name = found.meta_title.as_deref().filter(|text| !text.is_empty());
        let mut json_ld = json!({
            "@context": "https://schema.org",
            "@type": "WebPage",
            "@id": canonical,
            "url": canonical,
            "name": name.unwrap_or(&found.title),
            "inLanguage": found.language_short,
            "isPartOf": {"@type": "WebSite", "url": address(site, "/")},
        });
        if let Some(description) = found.meta_description.as_deref().filter(|t| !t.is_empty()) {
            json_ld["description"] = description.into();
        }
        let named = (found.id, found.language_short.as_str());
        let (rows, reads) = self.filled(&tree, named).await;
        let page = ShownPage {
            listed: ListedPage {
                id: found.id,
                base_id: found.base_id,
                language_short: found.language_short,
                parent_id: found.parent_id,
                url_rewrite: found.url_rewrite,
                title: found.title,
                view: found.view,
                sort_order: found.sort_order,
            },
            meta_title: found.meta_title,
            meta_description: found.meta_description,
            canonical,
            alternates,
            json_ld,
            rows,
        };
        Ok(Shown { page, reads })
    }
}

/// A complete URL. It is always https, because `site` is.
fn address(site: &str, url: &str) -> String {
    let slash = if url.starts_with('/') { "" } else { "/" };
    format!("{site}{slash}{}", url.replace(' ', "%20"))
}

/// Refuses text with U+0000: PostgreSQL cannot compare with it.
fn text(given: &str) -> Result<&str> {
    match given.contains('\0') {
        true => Err(Error::new(Code::NotFound, "There is no such published page.")),
        false => Ok(given),
    }
}
