//! The schema of the service as SQL text, the same for both engines.
//!
//! `cms-core` fills the tokens and applies the steps: `{{id}}` is a primary key that counts up,
//! `{{json}}` a JSON column, `{{bytes}}` bytes, `{{false}}` and `{{true}}` the booleans,
//! `{{strict}}` the mark of SQLite's STRICT tables, `{{binary}}` the order of lists in an index,
//! `{{half_full}}` free room on each page of PostgreSQL, for rows that are updated often. Five
//! more tokens stand for whole statements that differ by engine: [`SQLITE`] and [`POSTGRES`].
//!
//! A published step is never edited: databases that have it would refuse to start. Later changes
//! are new steps.
//!
//! ```
//! assert_eq!(cms_migrations::ALL[0].version, 1);
//! ```

/// One step of the schema.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Counts from 1 without gaps.
    pub version: i64,
    /// What it adds.
    pub name: &'static str,
    /// The statements, with tokens.
    pub sql: &'static str,
}

/// All steps in order.
pub const ALL: &[Step] = &[
    Step { version: 1, name: "foundation", sql: include_str!("../sql/0001_foundation.sql") },
    Step { version: 2, name: "pages", sql: include_str!("../sql/0002_pages.sql") },
    Step { version: 3, name: "traffic", sql: include_str!("../sql/0003_traffic.sql") },
    Step { version: 4, name: "accounts", sql: include_str!("../sql/0004_accounts.sql") },
    Step { version: 5, name: "webhooks", sql: include_str!("../sql/0005_webhooks.sql") },
    Step { version: 6, name: "event_order", sql: include_str!("../sql/0006_event_order.sql") },
    Step { version: 7, name: "tasks", sql: include_str!("../sql/0007_tasks.sql") },
    Step { version: 8, name: "plugins", sql: include_str!("../sql/0008_plugins.sql") },
    Step { version: 9, name: "denied_calls", sql: include_str!("../sql/0009_denied_calls.sql") },
    Step {
        version: 10,
        name: "audit_by_table",
        sql: include_str!("../sql/0010_audit_by_table.sql"),
    },
    Step { version: 11, name: "mail", sql: include_str!("../sql/0011_mail.sql") },
    Step { version: 12, name: "claims", sql: include_str!("../sql/0012_claims.sql") },
    Step { version: 13, name: "forms", sql: include_str!("../sql/0013_forms.sql") },
    Step { version: 14, name: "funnels", sql: include_str!("../sql/0014_funnels.sql") },
    Step { version: 15, name: "visits", sql: include_str!("../sql/0015_visits.sql") },
    Step { version: 16, name: "inbox", sql: include_str!("../sql/0016_inbox.sql") },
    Step {
        version: 17,
        name: "views_by_funnel",
        sql: include_str!("../sql/0017_views_by_funnel.sql"),
    },
    Step { version: 18, name: "inbox_scale", sql: include_str!("../sql/0018_inbox_scale.sql") },
    Step { version: 19, name: "counters", sql: include_str!("../sql/0019_counters.sql") },
    Step { version: 20, name: "media", sql: include_str!("../sql/0020_media.sql") },
    Step { version: 21, name: "inbox_counts", sql: include_str!("../sql/0021_inbox_counts.sql") },
    Step { version: 22, name: "widgets", sql: include_str!("../sql/0022_widgets.sql") },
    Step { version: 23, name: "page_builder", sql: include_str!("../sql/0023_page_builder.sql") },
    Step { version: 24, name: "page_links", sql: include_str!("../sql/0024_page_links.sql") },
    Step { version: 25, name: "inbox_view", sql: include_str!("../sql/0025_inbox_view.sql") },
    Step { version: 26, name: "audit_orders", sql: include_str!("../sql/0026_audit_orders.sql") },
    Step { version: 27, name: "plugin_names", sql: include_str!("../sql/0027_plugin_names.sql") },
    Step {
        version: 28,
        name: "epochs_by_backend",
        sql: include_str!("../sql/0028_epochs_by_backend.sql"),
    },
    Step { version: 29, name: "ways", sql: include_str!("../sql/0029_ways.sql") },
    Step { version: 30, name: "redirects", sql: include_str!("../sql/0030_redirects.sql") },
    Step {
        version: 31,
        name: "event_consumers",
        sql: include_str!("../sql/0031_event_consumers.sql"),
    },
    Step { version: 32, name: "own_tables", sql: include_str!("../sql/0032_own_tables.sql") },
    Step {
        version: 33,
        name: "wide_event_indexes",
        sql: include_str!("../sql/0033_wide_event_indexes.sql"),
    },
    Step { version: 34, name: "stays", sql: include_str!("../sql/0034_stays.sql") },
    Step { version: 35, name: "event_places", sql: include_str!("../sql/0035_event_places.sql") },
    Step {
        version: 36,
        name: "deleted_assignees",
        sql: include_str!("../sql/0036_deleted_assignees.sql"),
    },
    Step { version: 37, name: "event_depths", sql: include_str!("../sql/0037_event_depths.sql") },
];

/// A token and the statements that it stands for.
pub type Part = (&'static str, &'static str);

/// `{{inbox_counts}}` keeps the counts of the inbox, `{{inbox_search}}` the index of its searches,
/// `{{event_removed}}` the places of consumers.
/// `{{event_order}}` and `{{event_places}}` are empty: SQLite has a `rowid` by itself.
pub const SQLITE: [Part; 5] = [
    ("{{event_order}}", ""),
    ("{{inbox_counts}}", include_str!("../sql/sqlite/inbox_counts.sql")),
    ("{{inbox_search}}", include_str!("../sql/sqlite/inbox_search.sql")),
    ("{{event_removed}}", include_str!("../sql/sqlite/event_removed.sql")),
    ("{{event_places}}", ""),
];

/// As [`SQLITE`]; `{{event_order}}` is the column `rowid` of events, `{{event_places}}` the values
/// of `rowid` and `place`.
pub const POSTGRES: [Part; 5] = [
    ("{{event_order}}", include_str!("../sql/postgres/event_order.sql")),
    ("{{inbox_counts}}", include_str!("../sql/postgres/inbox_counts.sql")),
    ("{{inbox_search}}", include_str!("../sql/postgres/inbox_search.sql")),
    ("{{event_removed}}", include_str!("../sql/postgres/event_removed.sql")),
    ("{{event_places}}", include_str!("../sql/postgres/event_places.sql")),
];

#[cfg(test)]
mod tests {
    #[test]
    fn versions_count_from_one() {
        let versions: Vec<_> = super::ALL.iter().map(|step| step.version).collect();
        assert_eq!(versions, (1..=versions.len() as i64).collect::<Vec<_>>());
    }
}
