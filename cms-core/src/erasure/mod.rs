//! Everything that visitors sent under an address of mail is erased, wherever it lies.
//!
//! ```text
//! needles  how an address stands in a text (pure)
//! rows     where it is found, a page at a time; what is found goes
//! copies   files that hold it still
//! sql      statements
//! ```
//!
//! Pages are found without a lock and removed in changes of their own, each judged again. The
//! submissions go last: whoever is interrupted calls again, finds the person by them, and goes on.

mod copies;
mod needles;
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

/// Ids of a kind that a receipt names at most.
const NAMED: usize = 1_000;

/// An address that is being erased: `cms.eraser(&address)`.
pub struct Eraser {
    base: Base,
    funnels: Funnels,
    address: MailAddress,
    needles: Needles,
    /// Nothing is removed.
    only_looks: bool,
    stage: rows::Stage,
    /// The last row that was looked at in this stage.
    after: String,
    /// How often all stages were gone through, and whether this time anything was found.
    passes: u8,
    hit: bool,
    /// The person's submissions, of funnels and of forms.
    visits: BTreeSet<i64>,
    forms: BTreeSet<i64>,
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
            removed: BTreeMap::new(),
        }
    }

    /// The digest that names the address in the audit log. It does not reveal the address.
    #[must_use]
    pub fn digest(&self) -> String {
        self.base.cursors().digest("erased address", &self.address.as_str().to_lowercase())
    }

    /// Notes in the audit log that an address was erased, not which.
    ///
    /// # Errors
    /// As every write.
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

    /// Overwrites what the database keeps of removed rows, as far as its engine can, and looks for
    /// files that hold the address still.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn receipt(self, actor: &Actor) -> Result<EraseReceipt> {
        if !self.only_looks {
            self.base.db().scrub(false).await?;
        }
        let mut copies = copies::holding(&self.base, &self.needles).await?;
        if !self.only_looks && copies.database && self.base.db().scrub(true).await? {
            // Free space of a file that an earlier version has written.
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
            database: copies.told(self.base.db().dialect(), self.only_looks).to_owned(),
            copies: Some(copies.files),
            unread: Some(copies.unread),
        })
    }

    /// Counts what was removed, or would be.
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
fn name(actor: &Actor) -> String {
    match actor.columns() {
        (kind, _, Some(name)) => format!("{kind} {name}"),
        (kind, ..) => kind.to_owned(),
    }
}
