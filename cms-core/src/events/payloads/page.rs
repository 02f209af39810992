//! What the events `page.…` tell.

use schemars::JsonSchema;
use serde::Serialize;

use crate::events::Payload;

/// A page whose draft was published or discarded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageData {
    /// The page.
    pub(crate) page: Page,
    /// The revision that visitors see; of a discarded draft the one that it returned to.
    pub(crate) revision: i64,
}

/// A page that visitors no longer see.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageTakenOff {
    /// The page.
    pub(crate) page: Page,
    /// The revision that visitors saw; null for a page that was deleted with its revisions.
    pub(crate) revision: Option<i64>,
}

/// A page.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// Its id.
    pub(crate) id: i64,
    /// The page that it is a language version of.
    pub(crate) base_id: Option<i64>,
    /// Its language.
    pub(crate) language_short: String,
    /// Its address.
    pub(crate) url_rewrite: String,
    /// Its title.
    pub(crate) title: String,
    /// Its name for themes.
    pub(crate) view: Option<String>,
}

fn example() -> Page {
    Page {
        id: 1,
        base_id: Some(1),
        language_short: "en".to_owned(),
        url_rewrite: "/offer".to_owned(),
        title: "Our offer".to_owned(),
        view: Some("offer".to_owned()),
    }
}

impl Payload for PageData {
    fn example() -> Self {
        Self { page: example(), revision: 3 }
    }
}

impl Payload for PageTakenOff {
    fn example() -> Self {
        Self { page: example(), revision: Some(3) }
    }
}
