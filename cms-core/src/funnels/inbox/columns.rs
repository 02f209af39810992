//! The columns of the inbox: what lists show, and can be filtered and sorted by.

use crate::{
    db::{Dialect, Kind},
    items::{OwnColumn, OwnList},
};

/// Those of `cms_v_funnel_inbox`.
pub(super) const COLUMNS: [OwnColumn; 41] = [
    OwnColumn::integer("submission_id"),
    OwnColumn::integer("funnel_id"),
    OwnColumn::text("funnel_name"),
    OwnColumn::integer("version"),
    OwnColumn::text("language_short"),
    OwnColumn::text("status"),
    OwnColumn::text("inbox_status"),
    OwnColumn::boolean("is_spam"),
    OwnColumn::boolean("is_test"),
    OwnColumn::integer("assigned_to").nullable(),
    OwnColumn::text("assigned_name").nullable(),
    OwnColumn::text("contact_name").nullable().searched(),
    OwnColumn::text("contact_email").nullable().searched(),
    OwnColumn::text("contact_phone").nullable().searched(),
    OwnColumn::text("company").nullable().searched(),
    OwnColumn::text("summary").searched(),
    OwnColumn::double("score").nullable(),
    OwnColumn::integer("last_node_id").nullable(),
    OwnColumn::text("last_node_name").nullable(),
    OwnColumn::integer("end_node_id").nullable(),
    OwnColumn::text("end_kind").nullable(),
    OwnColumn::integer("steps_answered"),
    OwnColumn::integer("progress_pct"),
    OwnColumn::text("reference").nullable().searched(),
    OwnColumn::text("source_url").nullable(),
    OwnColumn::text("referer").nullable(),
    OwnColumn::text("utm_source").nullable(),
    OwnColumn::text("utm_medium").nullable(),
    OwnColumn::text("utm_campaign").nullable(),
    OwnColumn::text("utm_term").nullable(),
    OwnColumn::text("utm_content").nullable(),
    OwnColumn::integer("mail_rule_id").nullable(),
    OwnColumn::text("mail_status").nullable(),
    OwnColumn::time("started_at"),
    OwnColumn::time("last_activity_at"),
    OwnColumn::time("completed_at").nullable(),
    OwnColumn::time("abandoned_at").nullable(),
    OwnColumn::integer("duration_s").nullable(),
    OwnColumn::time("first_touched_at").nullable(),
    OwnColumn::time("expires_at"),
    OwnColumn::integer("inbox_rev"),
];

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
