//! `/api/backend/audit`

use cms_core::{ActorName, AuditRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    NoBody, Page, operations,
    parameters::{Limit, Moment, paged},
};

operations! {
    /// A page of the audit log, newest first.
    List: WhichAuditRows, NoBody => Page<AuditRow>;
}

paged! {
    /// Which rows of the log.
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
    }
}
