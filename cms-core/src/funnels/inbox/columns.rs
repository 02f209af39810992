//! The columns of the inbox: what lists show, and can be filtered and sorted by.

use crate::{
    db::{Dialect, Kind},
    items::{OwnColumn, OwnList},
};

const fn column(name: &'static str, kind: Kind) -> OwnColumn {
    OwnColumn { name, kind, nullable: false }
}

const fn nullable(name: &'static str, kind: Kind) -> OwnColumn {
    OwnColumn { name, kind, nullable: true }
}

/// Those of `cms_v_funnel_inbox`. Times are milliseconds there.
const COLUMNS: [OwnColumn; 41] = [
    column("submission_id", Kind::Integer),
    column("funnel_id", Kind::Integer),
    column("funnel_name", Kind::Text),
    column("version", Kind::Integer),
    column("language_short", Kind::Text),
    column("status", Kind::Text),
    column("inbox_status", Kind::Text),
    column("is_spam", Kind::Boolean),
    column("is_test", Kind::Boolean),
    nullable("assigned_to", Kind::Integer),
    nullable("assigned_name", Kind::Text),
    nullable("contact_name", Kind::Text),
    nullable("contact_email", Kind::Text),
    nullable("contact_phone", Kind::Text),
    nullable("company", Kind::Text),
    column("summary", Kind::Text),
    nullable("score", Kind::Double),
    nullable("last_node_id", Kind::Integer),
    nullable("last_node_name", Kind::Text),
    nullable("end_node_id", Kind::Integer),
    nullable("end_kind", Kind::Text),
    column("steps_answered", Kind::Integer),
    column("progress_pct", Kind::Integer),
    nullable("reference", Kind::Text),
    nullable("source_url", Kind::Text),
    nullable("referer", Kind::Text),
    nullable("utm_source", Kind::Text),
    nullable("utm_medium", Kind::Text),
    nullable("utm_campaign", Kind::Text),
    nullable("utm_term", Kind::Text),
    nullable("utm_content", Kind::Text),
    nullable("mail_rule_id", Kind::Integer),
    nullable("mail_status", Kind::Text),
    column("started_at", Kind::Integer),
    column("last_activity_at", Kind::Integer),
    nullable("completed_at", Kind::Integer),
    nullable("abandoned_at", Kind::Integer),
    nullable("duration_s", Kind::Integer),
    nullable("first_touched_at", Kind::Integer),
    column("expires_at", Kind::Integer),
    column("inbox_rev", Kind::Integer),
];

/// Columns that hold times.
pub(super) const TIMES: [&str; 6] = [
    "started_at",
    "last_activity_at",
    "completed_at",
    "abandoned_at",
    "first_touched_at",
    "expires_at",
];

/// Where a search looks.
pub(super) const SEARCHED: [&str; 6] =
    ["contact_name", "contact_email", "contact_phone", "company", "summary", "reference"];

/// The list of submissions.
pub(in crate::funnels) fn inbox(dialect: Dialect) -> OwnList {
    OwnList::new("The inbox", "cms_v_funnel_inbox", dialect, &COLUMNS)
}

/// The kind of a column; None: there is no such column.
pub(super) fn kind(name: &str) -> Option<Kind> {
    COLUMNS.iter().find(|column| column.name == name).map(|column| column.kind)
}

/// Their names, for people.
pub(super) fn names() -> String {
    COLUMNS.map(|column| column.name).join(", ")
}
