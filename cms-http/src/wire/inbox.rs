//! `/api/backend/formfunnel`: the inbox, what visitors of funnels sent

use std::collections::BTreeMap;

pub use cms_core::funnels::{Bulk, BulkOp, InboxFilter, NewView, SubmissionDeletion, ViewQuery};
use cms_core::{
    MAX_LIMIT,
    erasure::EraseReceipt,
    funnels::{
        Analytics, Assignable, FunnelSubmission, FunnelSubmissionDetail, InboxCounts, InboxView,
        SubmissionUpdate, Undone, WhichFunnel,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Body, Data, Done, Meta, NoBody, Page, Text, operations,
    parameters::{ById, ListQuery, NoQuery},
};

operations! {
    /// Submissions of all funnels, newest first unless `sort` says otherwise. Conditions are
    /// written as `filter[column][op]=value`.
    Submissions: InboxAsked, NoBody => Inbox, of "inbox";
    /// A submission with its answers, the way that it took, its files and its mails.
    Submission: ById, NoBody => Data<FunnelSubmissionDetail>;
    /// Sorts, notes or assigns a submission.
    UpdateSubmission: MayNameSubmission, SubmissionUpdate => Data<UpdatedSubmission>;
    /// Deletes a submission for good, with its files and the mails that it caused.
    DeleteSubmission: MayNameSubmission, SubmissionDeletion => Data<DeletedSubmission>;
    /// Changes or deletes many submissions: all or none.
    ChangeSubmissions: NoQuery, Bulk => Data<BulkOutcome>;
    /// Takes the caller's last bulk change of status or assignment back.
    Undo: NoQuery, Nothing => Data<Undone>;
    /// Erases everything that visitors sent under an address of mail, wherever it lies.
    Erase: NoQuery, AskedErasure => Data<EraseReceipt>;
    /// The caller's saved views, by name.
    Views: NoQuery, NoBody => Page<InboxView>;
    /// Saves a view; one of the same name is replaced.
    SaveView: NoQuery, NewView => Data<InboxView>;
    /// Deletes a view.
    DeleteView: ById, NoBody => Done;
    /// Users who can be assigned: those who may see the inbox.
    AssignableUsers: ListQuery, NoBody => Page<Assignable>, of "assignable";
    /// The numbers of a funnel in some days, beside as many days before.
    Numbers: FunnelNumbers, NoBody => Data<Analytics>;
    /// Submissions with their answers as a table, or as lines of JSON.
    Export: InboxExported, NoBody => Json, of "inbox";
    /// A file that a visitor sent.
    StoredFile: WhichStoredFile, NoBody => Text;
}

impl Body for SubmissionUpdate {}
impl Body for SubmissionDeletion {
    const OPTIONAL: bool = true;
}
impl Body for Bulk {}
impl Body for NewView {}
impl Body for AskedErasure {}
impl Body for Nothing {
    const OPTIONAL: bool = true;
}

/// Which submissions, and in which order.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct InboxAsked {
    /// Rows of a page.
    #[schemars(with = "Option<u32>", range(min = 1, max = MAX_LIMIT))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page starts: `meta.next` of the page before.
    pub cursor: Option<String>,
    /// Columns separated by commas; `-` before one sorts it downwards.
    pub sort: Option<String>,
    /// Text that the name, the address, the telephone, the company, the summary or the reference
    /// must contain.
    #[schemars(length(max = 200))]
    pub search: Option<String>,
    /// Whether to count all matching submissions.
    #[schemars(with = "Option<bool>")]
    pub count: Option<String>,
    /// `filter[column][op]` and their values.
    #[serde(flatten)]
    #[schemars(skip)]
    pub filters: BTreeMap<String, String>,
}

/// Whose submissions are erased.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EraseAddress")]
#[schemars(extend("examples" = [{"email": "ada@example.org", "dry_run": true}]))]
pub struct AskedErasure {
    /// The address of mail, whatever the case of its letters.
    pub email: String,
    /// Removes nothing: the receipt says what would go.
    #[serde(default)]
    pub dry_run: bool,
}

/// The numbers of which funnel, and of which days.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunnelNumbers {
    /// The funnel's id or its slug.
    #[schemars(example = &"leads")]
    pub funnel_id: String,
    /// The first day, such as `2026-11-01`; thirty days without it. At most 366 days are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The last day; today without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Only visits of this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The time zone of the days: that of the funnel, which `range.tz` tells. Another is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
}

/// Which submissions, in which form.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct InboxExported {
    /// `csv` (the default) or `jsonl`.
    #[schemars(regex(pattern = "^(csv|jsonl)$"))]
    pub format: Option<String>,
    /// Only those of this funnel, by its id or slug: a table then has a column for each answer.
    pub funnel_id: Option<String>,
    /// `false`: a table without the byte order mark that tells spreadsheets of UTF-8.
    #[schemars(regex(pattern = "^(true|false)$"))]
    pub bom: Option<String>,
    /// Columns separated by commas; `-` before one sorts it downwards.
    pub sort: Option<String>,
    /// As in lists.
    #[schemars(length(max = 200))]
    pub search: Option<String>,
    /// `filter[column][op]` and their values.
    #[serde(flatten)]
    #[schemars(skip)]
    pub filters: BTreeMap<String, String>,
}

/// What the script `submissions/export.php` takes as its data.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExportData {
    /// `csv` (the default) or `jsonl`.
    pub format: Option<String>,
    /// Only those of this funnel, by its id or slug.
    pub funnel_id: Option<WhichFunnel>,
    /// False: a table without a byte order mark.
    pub bom: Option<bool>,
    /// Columns separated by commas; `-` before one sorts it downwards.
    pub sort: Option<String>,
    /// Conditions, and what is searched for.
    pub filter: InboxFilter,
}

/// A page of submissions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Inbox {
    /// The submissions.
    pub data: Vec<FunnelSubmission>,
    /// Where the page stands in the list.
    pub meta: InboxMeta,
}

impl From<Inbox> for Page<FunnelSubmission> {
    fn from(Inbox { data, meta }: Inbox) -> Self {
        Self { data, meta: Meta { limit: meta.limit, next: meta.next, total: meta.total } }
    }
}

/// Where a page of submissions stands in its list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct InboxMeta {
    /// Rows that were asked for.
    pub limit: u32,
    /// The cursor of the next page; null at the end.
    pub next: Option<String>,
    /// Matching submissions in all, when `count` was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// On the first page: how many are in each state of the inbox, under the other conditions.
    /// Exact without any; else `10k+` for more than 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<InboxCounts>,
}

/// The submission, when the body does not name it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MayNameSubmission {
    /// Its id.
    pub id: Option<i64>,
}

/// A submission after a change.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct UpdatedSubmission {
    /// Its id.
    pub id: i64,
    /// Its `inbox_rev` now; left out for callers who may not see the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox_rev: Option<i64>,
}

/// A submission that is gone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DeletedSubmission {
    /// Its id.
    pub id: i64,
    /// True.
    pub deleted: bool,
}

/// What a bulk change did.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BulkOutcome")]
#[non_exhaustive]
pub struct BulkOutcome {
    /// Submissions that were meant.
    pub matched: i64,
    /// Those that were changed or deleted: the others had the value already. Left out for callers
    /// who may not see the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<i64>,
}

/// Nothing more to say.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{}]))]
pub struct Nothing {}

/// A file that a visitor sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichStoredFile {
    /// What an answer holds.
    pub file: String,
}
