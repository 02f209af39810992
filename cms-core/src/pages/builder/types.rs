//! The types that describe drafts, edits and revisions. Times are RFC 3339 in UTC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::tree::{NodeKind, Tree};
use crate::AuditActor;

/// The draft of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageDraft")]
#[non_exhaustive]
pub struct Draft {
    /// The page.
    pub page_id: i64,
    /// How often the draft was edited: part of the `ETag`.
    pub rev: i64,
    /// Whether visitors see the page.
    pub published: bool,
    /// Number of the revision that was published last; null: none yet.
    pub revision: Option<i64>,
    /// Whether the draft differs from that revision.
    pub changed: bool,
    /// When the draft is published by itself.
    pub publish_at: Option<String>,
    /// When the page is taken off by itself.
    pub take_off_at: Option<String>,
    /// The tree.
    #[serde(flatten)]
    pub tree: Tree,
}

/// What a node stands in: exactly the member that fits its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PageNodeParent")]
#[non_exhaustive]
pub struct Parent {
    /// Of a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_id: Option<i64>,
    /// Of a column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_id: Option<i64>,
    /// Of a widget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub col_id: Option<i64>,
    /// Of an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widget_id: Option<i64>,
}

/// A node to add to a draft.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewPageNode")]
#[schemars(extend("examples" = [{"parent": {"page_id": 1}, "kind": "row"}]))]
#[non_exhaustive]
pub struct NewNode {
    /// What it is.
    pub kind: NodeKind,
    /// What it stands in.
    pub parent: Parent,
    /// Of a widget: its name in the registry.
    #[serde(default)]
    pub widget: Option<String>,
    /// Values of a widget or an item.
    #[serde(default)]
    pub data: Option<Map<String, Json>>,
    /// Its place, counted from 0; at the end without it.
    #[serde(default)]
    pub position: Option<i64>,
}

impl NewNode {
    /// An empty node at the end of its parent.
    #[must_use]
    pub fn new(kind: NodeKind, parent: Parent) -> Self {
        Self { kind, parent, widget: None, data: None, position: None }
    }
}

/// A node that moves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MovePageNode")]
#[schemars(extend("examples" = [{"kind": "row", "id": 1, "position": 0}]))]
pub struct Move {
    /// What it is.
    pub kind: NodeKind,
    /// Its id.
    pub id: i64,
    /// What it shall stand in, on the same page; without it, what it stands in now.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// Its place there, counted from 0; at the end without it.
    #[serde(default)]
    pub position: Option<i64>,
}

/// A node as an edit has left it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageNode")]
#[non_exhaustive]
pub struct Edited {
    /// What it is.
    pub kind: NodeKind,
    /// Its id.
    pub id: i64,
    /// What it stands in.
    pub parent: Parent,
    /// Its place there, counted from 0.
    pub position: i64,
    /// Of a widget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub widget: Option<String>,
    /// Of widgets and items: the values that are set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Map<String, Json>>,
    /// The page.
    pub page_id: i64,
    /// Of the draft after this edit.
    pub rev: i64,
}

/// An edit of a draft, as others see it.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) action: String,
    pub(super) kind: String,
    pub(super) node_id: i64,
    pub(super) columns: Vec<String>,
    pub(super) actor: AuditActor,
    pub(super) created_at: String,
}

/// A revision of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageRevision")]
#[non_exhaustive]
pub struct Revision {
    /// Counts from 1 in each page.
    pub number: i64,
    /// SHA-256 of what was frozen.
    pub checksum: String,
    /// Length of what was frozen, in bytes.
    pub bytes: i64,
    /// Who published it.
    pub actor: AuditActor,
    /// When.
    pub created_at: String,
}

/// What a publication has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PublishedPage")]
#[non_exhaustive]
pub struct Published {
    /// The page.
    pub page_id: i64,
    /// The revision that visitors see.
    pub revision: i64,
    /// SHA-256 of what was frozen.
    pub checksum: String,
    /// Whether visitors see something new; false: they already saw this revision.
    pub changed: bool,
    /// Of the draft after this.
    pub rev: i64,
}

/// A value of a revision that the draft does not get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LeftOutValue")]
#[non_exhaustive]
pub struct LeftOut {
    /// What would hold it: a widget or an item.
    pub kind: NodeKind,
    /// Its id.
    pub id: i64,
    /// The column, which now holds passwords.
    pub column: String,
}

/// The result of replacing a whole draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReplacedDraft")]
#[non_exhaustive]
pub struct Replaced {
    /// The page.
    pub page_id: i64,
    /// The revision that the draft is now; null for a copy of another page.
    pub revision: Option<i64>,
    /// Values that the draft did not get: passwords are no part of a revision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Of the draft after this.
    pub rev: i64,
}

impl Parent {
    /// The parent of a kind.
    #[must_use]
    pub fn of(kind: NodeKind, id: i64) -> Self {
        let mut parent = Self::default();
        match kind {
            NodeKind::Row => parent.page_id = Some(id),
            NodeKind::Col => parent.row_id = Some(id),
            NodeKind::Widget => parent.col_id = Some(id),
            NodeKind::Item => parent.widget_id = Some(id),
        }
        parent
    }

    /// The id of the parent of a kind. `None`: no member or another one is given.
    #[must_use]
    pub fn fitting(&self, kind: NodeKind) -> Option<i64> {
        let members = [self.page_id, self.row_id, self.col_id, self.widget_id];
        let mut given = NodeKind::ALL.into_iter().zip(members).filter(|(_, id)| id.is_some());
        match (given.next(), given.next()) {
            (Some((of, id)), None) if of == kind => id,
            _ => None,
        }
    }
}

/// A page with the times that are planned for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PagePlan")]
#[non_exhaustive]
pub struct Plan {
    /// The page.
    pub page_id: i64,
    /// When its draft is published; null: never.
    pub publish_at: Option<String>,
    /// When it is taken off; null: never.
    pub take_off_at: Option<String>,
}
