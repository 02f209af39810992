//! What was erased, and what may still hold it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Actor;

/// What was erased. It does not hold the address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct EraseReceipt {
    /// Stands for the address, in the audit log too: made with the site's secrets.
    pub digest: String,
    /// Whether nothing was removed: the rest says what would be.
    pub dry_run: bool,
    /// When.
    pub erased_at: String,
    /// By whom.
    pub erased_by: String,
    /// What was removed, by kind: `submissions`, `form_submissions`, `events`, `deliveries`,
    /// `jobs`, `mails`, `rations`, `notes`, `views`, `replies`, `audit`. Like the files below only
    /// for who may see the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<BTreeMap<String, ErasedRows>>,
    /// `clean`: no byte of the database holds the address. `holds`: some still do. `server`:
    /// PostgreSQL keeps removed rows until it has vacuumed, and its log for longer.
    pub database: String,
    /// Files of the site's folder that still hold the address, such as backups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Vec<String>>,
    /// Files that may hold it, because they are compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Vec<String>>,
}

/// Rows of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ErasedRows {
    /// How many.
    pub count: u64,
    /// Their ids, the first 1,000.
    pub ids: Vec<String>,
}

/// Who acted, for people.
pub(super) fn name(actor: &Actor) -> String {
    match actor.columns() {
        (kind, _, Some(name)) => format!("{kind} {name}"),
        (kind, ..) => kind.to_owned(),
    }
}
