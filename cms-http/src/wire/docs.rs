//! `/api/docs`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoBody, Text, operations, parameters::NoQuery};

operations! {
    /// This API as a page: to be read, and tried. `docs.enabled` says who sees it.
    Page: NoQuery, NoBody => Text;
    /// A file of that page.
    File: WhichFile, NoBody => Text;
}

/// Which file of the page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichFile {
    /// Its name.
    #[schemars(example = &"start.js")]
    pub file: String,
}
