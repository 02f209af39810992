//! `/api/backend/audit`

use cms_core::{ActorName, AuditRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    NoBody, Page, operations,
    parameters::{Limit, Moment},
};

operations! {
    /// A page of the audit log, newest first.
    List: WhichAuditRows, NoBody => Page<AuditRow>;
}

/// Which rows of the log.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichAuditRows {
    /// Only these tables, separated by commas.
    #[schemars(example = &"users,user_groups")]
    pub table: Option<String>,
    /// Only the row with this id; with `table`.
    pub id: Option<String>,
    /// Only what `user:3` or `key:5` did, or `operator`, `system`, `visitor` or `application`.
    #[schemars(regex(pattern = ActorName::PATTERN))]
    pub actor: Option<String>,
    /// Not before.
    pub since: Option<Moment>,
    /// Before.
    pub until: Option<Moment>,
    /// Rows of a page.
    #[serde(default)]
    pub limit: Limit,
    /// Where the page starts: `meta.next` of the page before.
    pub cursor: Option<String>,
    /// Whether to count all matching rows.
    pub count: Option<bool>,
}
