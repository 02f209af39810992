//! Erases everything that visitors sent under a mail address, wherever it is stored.
//!
//! ```text
//! needles  how an address stands in a text (pure)
//! rows     where it is found, a page at a time; what is found goes
//! rest     the same in small tables
//! copies   files that hold it still
//! sql      statements
//! ```
//!
//! Rows are found without a lock, a page at a time. Each page is removed in a change of its own,
//! which is judged again. What names the person is removed last, the submissions after their
//! events: if the work is interrupted, the next call finds the person by them and continues.

mod copies;
mod needles;
mod rest;
mod rows;
pub(crate) mod sql;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::needles::Needles;
use crate::{
    Actor, AuditEntry, Change, Clock, Result, base::Base, funnels::Funnels, mail::MailAddress,
    rfc3339,
};

pub use rows::FoundRows;

/// Maximum number of ids of one kind that a receipt names.
const NAMED: usize = 1_000;

/// An address that is being erased: `cms.eraser(&address)`.
pub struct Eraser {
    base: Base,
    funnels: Funnels,
    address: MailAddress,
    needles: Needles,
    /// Whether to remove nothing and only count.
    only_looks: bool,
    stage: rows::Stage,
    /// The last row that was searched in this stage.
    after: String,
    /// How many times all stages were repeated, and whether this pass has found anything.
    passes: u8,
    hit: bool,
    /// The person's submissions of funnels and of forms.
    visits: BTreeSet<i64>,
    forms: BTreeSet<i64>,
    /// Events that contain the address.
    events: BTreeSet<String>,
    /// Submissions whose events go, also deleted ones: whether of a form, and the id.
    submissions: BTreeSet<(bool, i64)>,
    removed: BTreeMap<&'static str, ErasedRows>,
}

impl Eraser {
    pub(crate) fn new(
        base: &Base,
        funnels: &Funnels,
        address: &MailAddress,
        only_looks: bool,
    ) -> Self {
        Self {
            base: base.clone(),
            funnels: funnels.clone(),
            address: address.clone(),
            needles: Needles::of(address.as_str()),
            only_looks,
            stage: rows::Stage::FIRST,
            after: String::new(),
            passes: 0,
            hit: false,
            visits: BTreeSet::new(),
            forms: BTreeSet::new(),
            events: BTreeSet::new(),
            submissions: BTreeSet::new(),
            removed: BTreeMap::new(),
        }
    }

    /// The digest that names the address in the audit log. It does not reveal the address.
    #[must_use]
    pub fn digest(&self) -> String {
        self.base.cursors().digest("erased address", &self.address.as_str().to_lowercase())
    }

    /// Records in the audit log that an address was erased, without the address.
    pub async fn note(&self, change: &mut Change) -> Result<()> {
        let (id, columns): (_, Vec<&str>) = (self.digest(), self.removed.keys().copied().collect());
        let entry = AuditEntry {
            action: "erase",
            table: "formfunnel_submissions",
            id: &id,
            columns: &columns,
        };
        change.audit(entry).await
    }

    /// Overwrites what the database keeps of removed rows, as far as its engine can, and lists
    /// files that still contain the address.
    pub async fn receipt(self, actor: &Actor) -> Result<EraseReceipt> {
        if !self.only_looks {
            self.base.db().scrub(false).await?;
        }
        let mut copies = copies::holding(&self.base, &self.needles).await?;
        if !self.only_looks && copies.database && self.base.db().scrub(true).await? {
            // An earlier version may have left the address in free pages of the file.
            copies = copies::holding(&self.base, &self.needles).await?;
        }
        let digest = self.digest();
        let clock: &Clock = self.base.clock();
        let removed = self.removed.into_iter().map(|(kind, rows)| (kind.to_owned(), rows));
        Ok(EraseReceipt {
            digest,
            dry_run: self.only_looks,
            erased_at: rfc3339(clock.now()),
            erased_by: name(actor),
            removed: Some(removed.collect()),
            database: copies.database_state(self.base.db().dialect()).to_owned(),
            copies: Some(copies.files),
            unread: Some(copies.unread),
        })
    }

    /// Counts rows that were removed, or would be.
    fn count(&mut self, kind: &'static str, ids: impl IntoIterator<Item = String>) {
        let rows = self.removed.entry(kind).or_default();
        for id in ids {
            self.hit = true;
            rows.count += 1;
            if rows.ids.len() < NAMED {
                rows.ids.push(id);
            }
        }
        if rows.count == 0 {
            self.removed.remove(kind);
        }
    }
}

/// What was erased. It does not hold the address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct EraseReceipt {
    /// Keyed digest of the address; the audit log names the address by it.
    pub digest: String,
    /// Whether nothing was removed: the rest says what would be.
    pub dry_run: bool,
    /// When.
    pub erased_at: String,
    /// By whom.
    pub erased_by: String,
    /// What was removed, by kind: `submissions`, `form_submissions`, `events`, `deliveries`,
    /// `jobs`, `mails`, `rations`, `notes`, `views`, `replies`, `audit`. Present, like `copies`
    /// and `unread`, only for callers that may see the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<BTreeMap<String, ErasedRows>>,
    /// `clean`: no byte of the database holds the address. `holds`: some still do. `server`:
    /// PostgreSQL keeps removed rows until it has vacuumed, and its log for longer.
    pub database: String,
    /// Files of the site's folder that still hold the address, such as backups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Vec<String>>,
    /// Files that may hold the address, because they are compressed or encrypted, and files and
    /// folders that cannot be read.
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

/// The actor, for a receipt.
fn name(actor: &Actor) -> String {
    match actor.columns() {
        (kind, _, Some(name)) => format!("{kind} {name}"),
        (kind, ..) => kind.to_owned(),
    }
}
