//! `/api/backend/pagebuilder`

use cms_core::pages::builder::{
    Difference, Draft, Edited, Link, MadeLink, Move, NewNode, NodeKind, Plan, Published, Replaced,
    Revision, RevisionTree, Schedule,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Body, Data, Done, NoBody, Page, operations,
    parameters::{ById, Limit, Listing, NoQuery},
};

operations! {
    /// The draft of a page as a tree. Its `ETag` changes with every edit.
    Read: OfPage, NoBody => Data<Draft>;
    /// Adds a row, a column, a widget or an item to a draft.
    Add: NoQuery, NewNode => Data<Edited>;
    /// Changes values of a widget, or of an item: only columns of its menu.
    Set: WhichNode, Values => Data<Edited>;
    /// Removes a node from a draft, with all that stands in it.
    Remove: Removal, NoBody => Done;
    /// Moves a node within its page.
    MoveNode: NoQuery, Move => Data<Edited>;
    /// Freezes a draft as a revision, which visitors see from then on.
    Publish: MayName, OnePage => Data<Published>;
    /// Hides a page from visitors. Its revisions stay.
    TakeOff: MayName, OnePage => Data<TakenOff>;
    /// Returns a draft to the revision that was published last.
    Discard: MayName, OnePage => Data<Replaced>;
    /// Makes a draft what a revision is. Visitors see nothing of it before it is published.
    Restore: MayName, Restored => Data<Replaced>;
    /// Makes the draft of a page a copy of another page's: a translation begins so.
    CopyTree: NoQuery, Copied => Data<Replaced>;
    /// The pages that are published or taken off by themselves, with their times.
    Plans: Listing, NoBody => Page<Plan>;
    /// Sets when a page is published and taken off by itself.
    SetSchedule: MayName, Planned => Data<Scheduled>;
    /// The links that show the draft of a page without a login, newest first.
    Links: WhichLinks, NoBody => Page<MadeLink>;
    /// Makes a link that shows a draft without a login, for a while.
    MakeLink: MayName, LinkFor => Data<Link>;
    /// Ends a link to a draft before its time.
    Unlink: ById, NoBody => Done;
    /// The revisions of a page, newest first.
    Revisions: WhichRevisions, NoBody => Page<Revision>;
    /// A revision with its tree.
    OneRevision: WhichRevision, NoBody => Data<RevisionTree>;
    /// What leads from one state of a page to another.
    Diff: Compared, NoBody => Page<Difference>;
}

impl Body for NewNode {}
impl Body for Move {}

/// The draft of a page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfPage {
    /// Its id.
    #[schemars(example = 1)]
    pub page_id: i64,
}

/// Which node changes: exactly one is named.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichNode {
    /// A widget.
    #[schemars(example = 1)]
    pub widget_id: Option<i64>,
    /// An item of a widget.
    pub item_id: Option<i64>,
}

/// Values of a widget or an item.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WidgetValues")]
#[schemars(extend("examples" = [{"data": {"title": "Welcome"}}]))]
pub struct Values {
    /// By column; null empties one, what is left out stays.
    pub data: Map<String, Json>,
}

impl Body for Values {}

/// Which node goes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// What it is.
    pub kind: NodeKind,
    /// Its id.
    #[schemars(example = 1)]
    pub id: i64,
}

/// The page, when the body does not name it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MayName {
    /// Its id.
    #[schemars(example = 1)]
    pub page_id: Option<i64>,
}

/// A page.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OnePage")]
#[schemars(extend("examples" = [{"page_id": 1}]))]
pub struct OnePage {
    /// Its id, when the query does not name it.
    #[serde(default)]
    pub page_id: Option<i64>,
}

impl Body for OnePage {
    const OPTIONAL: bool = true;
}

/// What became of a page that was taken off.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakenOffPage")]
#[non_exhaustive]
pub struct TakenOff {
    /// The page.
    pub page_id: i64,
    /// False.
    pub published: bool,
    /// Of the draft after this.
    pub rev: i64,
}

/// A revision to restore.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RestorePage")]
#[schemars(extend("examples" = [{"page_id": 1, "revision": 1}]))]
pub struct Restored {
    /// The page, when the query does not name it.
    #[serde(default)]
    pub page_id: Option<i64>,
    /// Number of the revision.
    pub revision: i64,
}

impl Body for Restored {}

/// A tree to copy.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CopyPage")]
#[schemars(extend("examples" = [{"from_page_id": 1, "page_id": 2}]))]
pub struct Copied {
    /// The page whose draft is copied.
    pub from_page_id: i64,
    /// The page whose draft becomes the copy.
    pub page_id: i64,
    /// Whether a draft that holds something is lost.
    #[serde(default)]
    pub replace: bool,
}

impl Body for Copied {}

/// When a page is published and taken off by itself: both times are set.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlanPage")]
#[schemars(extend("examples" = [{"page_id": 1, "publish_at": "2099-12-24T06:00:00Z"}]))]
pub struct Planned {
    /// The page, when the query does not name it.
    #[serde(default)]
    pub page_id: Option<i64>,
    /// RFC 3339, ahead; null: never.
    #[serde(default)]
    pub publish_at: Option<String>,
    /// RFC 3339, ahead; null: never.
    #[serde(default)]
    pub take_off_at: Option<String>,
}

impl Body for Planned {}

/// The times of a page as they are stored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlannedPage")]
#[non_exhaustive]
pub struct Scheduled {
    /// The page.
    pub page_id: i64,
    /// Its times.
    #[serde(flatten)]
    pub schedule: Schedule,
    /// Of the draft after this.
    pub rev: i64,
}

/// The links to the draft of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichLinks {
    /// The page.
    #[schemars(example = 1)]
    pub page_id: i64,
    /// Rows of a page of the list.
    #[serde(default)]
    pub limit: Limit,
    /// Where it starts: `meta.next` of the one before.
    pub cursor: Option<String>,
    /// Whether to count all matching rows.
    pub count: Option<bool>,
}

/// A link to make.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkPage")]
#[schemars(extend("examples" = [{"page_id": 1, "ttl_s": 3600, "note": "For the agency"}]))]
pub struct LinkFor {
    /// The page, when the query does not name it.
    #[serde(default)]
    pub page_id: Option<i64>,
    /// Seconds for which it shows the draft: a day by default, 30 days at most.
    #[serde(default)]
    pub ttl_s: Option<i64>,
    /// For whom it is, for those who see the list: one line, up to 200 characters.
    #[serde(default)]
    pub note: Option<String>,
}

impl Body for LinkFor {
    const OPTIONAL: bool = true;
}

/// The revisions of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichRevisions {
    /// The page.
    #[schemars(example = 1)]
    pub page_id: i64,
    /// Rows of a page of the list.
    #[serde(default)]
    pub limit: Limit,
    /// Where it starts: `meta.next` of the one before.
    pub cursor: Option<String>,
    /// Whether to count all matching rows.
    pub count: Option<bool>,
}

/// A revision of a page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichRevision {
    /// The page.
    #[schemars(example = 1)]
    pub page_id: i64,
    /// Its number.
    #[schemars(example = 1)]
    pub number: i64,
}

/// Two states of a page: `draft`, or the number of a revision.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The page.
    #[schemars(example = 1)]
    pub page_id: i64,
    /// The state that is begun with; without it the revision that was published last.
    #[schemars(example = &"1")]
    pub from: Option<String>,
    /// The state that is ended with; without it the draft.
    #[schemars(example = &"draft")]
    pub to: Option<String>,
}
