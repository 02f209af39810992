//! `/api/backend/plugins`

use cms_core::plugins::{Problem, ShownButton};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Data, NoBody, OneOrPage, Page, Record, operations,
    parameters::{Limit, paged},
};

operations! {
    /// One plugin with its manifest, or a page of those whose buttons the caller holds.
    Read: WhichPlugins, NoBody => OneOrPage<PluginInfo>;
    /// The buttons of a plugin that the caller may see.
    Buttons: WhichButtons, NoBody => Page<ShownButton>;
    /// What a button shows: the rows of a module list, or custom content.
    Content: WhichContent, NoBody => Data<ShownContent>;
}

paged! {
    /// One plugin by its id, else a page of the list.
    pub struct WhichPlugins {
        /// The one to show.
        pub id: Option<String>,
    }
}

/// A plugin that the site found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PluginInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is in service.
    pub in_service: bool,
    /// Whether an earlier declaration is in service, because the present one has problems.
    pub earlier: bool,
    /// What is wrong with its manifest, tables that it declares no longer, and indexes that could
    /// not be made; for administrators.
    pub problems: Vec<Problem>,
    /// Its content tables.
    pub tables: Vec<String>,
    /// The permission keys of its buttons.
    pub permissions: Vec<String>,
    /// Its manifest; only for one plugin, and for administrators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Json>,
}

/// Whose buttons, and for which row.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichButtons {
    /// The plugin.
    #[schemars(example = &"bikeshop")]
    pub plugin: String,
    /// The id of a row: only buttons whose table has such a row, and that its status shows.
    #[schemars(example = &"1")]
    pub row: Option<String>,
}

/// Which button's content, and for which row.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichContent {
    /// The plugin.
    #[schemars(example = &"bikeshop")]
    pub plugin: String,
    /// The id of the button.
    #[schemars(example = &"purchases")]
    pub button: String,
    /// The id of the row that the button belongs to.
    #[schemars(example = &"1")]
    pub row: Option<String>,
    /// Rows of a page.
    #[serde(default)]
    pub limit: Limit,
    /// Where the page starts: `next` of the page before.
    pub cursor: Option<String>,
}

/// What a button shows.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownContent {
    /// The template that shows it.
    pub template: String,
    /// Rows of a module list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<ShownRow>>,
    /// The cursor of the next page of rows; null at the end.
    #[serde(default)]
    pub next: Option<String>,
    /// Custom content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Json>,
    /// The buttons on the rows or below the content.
    pub buttons: Vec<ShownButton>,
}

/// A row of a module list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownRow {
    /// The record.
    pub item: Record,
    /// Its `url_rewrite`, if it has one.
    pub url_rewrite: Option<String>,
    /// The ids of the buttons that its status shows.
    pub buttons: Vec<String>,
}
