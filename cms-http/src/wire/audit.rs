//! `/api/backend/audit`

use cms_core::AuditRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoBody, Page, operations, parameters::Limit};

operations! {
    /// A page of the audit log, newest first.
    List: Asked, NoBody => Page<AuditRow>;
}

/// Which rows of the log.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Only these tables, separated by commas.
    #[schemars(example = &"users,user_groups")]
    pub table: Option<String>,
    /// Rows of a page.
    #[serde(default)]
    pub limit: Limit,
    /// Where the page starts: `meta.next` of the page before.
    pub cursor: Option<String>,
}
