//! `/api/pages`, `/api/menu`, `/api/settings`, `/sitemap.xml`

use cms_core::{
    Secret,
    pages::{ListedPage, MenuItem, Redirect, ShownPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Data, NoBody, OneOrPage, Record, Text, operations,
    parameters::{Limit, NoQuery},
};

operations! {
    /// One published page with its content, or a page of the list. Where a page has left an
    /// address: where it leads.
    Read: Wanted, NoBody => OneOrPage<ListedPage, AtAddress>;
    /// The draft of a page, for who has a link to it.
    Draft: DraftLink, NoBody => Data<ShownPage>;
    /// A menu as a tree.
    Menu: WhichMenu, NoBody => Data<Vec<MenuItem>>;
    /// The public settings.
    Settings: NoQuery, NoBody => Data<Record>;
    /// The published pages, for search engines; an index of files when there are too many for one.
    Sitemap: WhichFile, NoBody => Text;
}

/// What stands at an address.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[non_exhaustive]
pub enum AtAddress {
    /// A published page.
    Page(Box<ShownPage>),
    /// The page has left; only for `url`.
    Redirect(Redirected),
}

/// Instead of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Redirected {
    /// Where to go, and with which status.
    pub redirect: Redirect,
}

/// Which page.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// By its id.
    #[schemars(with = "Option<i64>")]
    pub id: Option<String>,
    /// By its view.
    #[schemars(example = &"home")]
    pub view: Option<String>,
    /// By its address.
    pub url: Option<String>,
    /// In this language.
    pub language: Option<String>,
    /// Rows of a page of the list.
    #[serde(default)]
    pub limit: Limit,
    /// Where the page of the list starts: `meta.next` of the one before.
    pub cursor: Option<String>,
    /// Whether to count all matching rows.
    pub count: Option<bool>,
}

/// A link to a draft, as `POST /api/backend/pagebuilder?action=link` makes it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftLink {
    /// What opens it. Without it the link is as one that has ended.
    #[serde(default, serialize_with = "Secret::send_maybe")]
    #[schemars(example = &"RX5aE0oZ7Tq9mB1cVw4yUe8sKd2fGh3jLp6nQx0iAbM")]
    pub token: Option<Secret>,
}

/// Which menu.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichMenu {
    /// Its name; `main` without it.
    #[schemars(example = &"main")]
    pub name: Option<String>,
    /// In this language.
    pub language: Option<String>,
}

/// Which file of the sitemap.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichFile {
    /// The one that begins after the page with this id, as the index names it.
    pub after: Option<i64>,
}
