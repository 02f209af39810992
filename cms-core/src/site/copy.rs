//! Copies a site's database to the other engine.

use std::collections::BTreeSet;

use super::{Cms, own_tables};
use crate::{
    Actor, Change, Code, Error, Result,
    content::{Declared, TableDeclaration, install},
    db::{
        Copied, Db, OnCopyProgress, args,
        transfer::{self, TableRules, Transfer},
    },
    events::Outbox,
    settings::Database,
};

/// What each room declares about its tables.
const RULES: TableRules = TableRules {
    prefix: "cms_",
    skipped: "cms_formfunnel_search",
    ordered: "cms_events",
    sums: &[
        (
            "cms_formfunnel_counts",
            "(select funnel_id, inbox_status, cast(sum(n) as bigint) as n from \
             cms_formfunnel_counts group by funnel_id, inbox_status having sum(n) <> 0) t",
        ),
        (
            "cms_table_epochs",
            "(select name, 0 as backend, cast(sum(epoch) as bigint) as epoch from \
             cms_table_epochs group by name) t",
        ),
    ],
    initial_rows: &[
        ("cms_migrations", "1 = 0"),
        ("cms_own_tables", "1 = 0"),
        ("cms_content_tables", "1 = 0"),
        ("cms_plugins", "1 = 0"),
        ("cms_plugin_names", "1 = 0"),
        ("cms_plugin_refusals", "1 = 0"),
        ("cms_webhook_events", "1 = 0"),
        ("cms_table_epochs", "1 = 0"),
        ("cms_page_widgets", "1 = 0"),
        ("cms_tasks", "1 = 0"),
        ("cms_task_runs", "1 = 0"),
        ("cms_formfunnel_window", "1 = 0"),
        ("cms_formfunnel_salt", "1 = 0"),
        ("cms_audit", "actor_kind <> 'system'"),
    ],
    // The first worker takes over claimed work; due times stay as they are.
    leases: "update cms_webhook_queue set lease_until = 0 where status = 'sending'; \
             update cms_mails set lease_until = 0 where status = 'sending'; \
             update cms_tasks set lease_until = 0 where lease_until <> 0; \
             update cms_event_consumers set lease_until = 0 where lease_until <> 0",
};
/// Stands for the plugins until their own records are copied.
const EVERY_PLUGIN: &str = "copy";

impl Cms {
    /// Copies every row of the service and of plugins into an empty database of the other engine:
    /// ids, waiting jobs with their times, and encrypted values unchanged. The site may be served
    /// meanwhile. During the last part, which takes seconds, writes wait. Then both databases are
    /// compared. With `resume`, continues an interrupted copy.
    ///
    /// The target has the same schema. Sites refuse to open it until the copy is complete. No
    /// worker may run on it before the site is switched.
    ///
    /// # Errors
    /// `conflict` when the target is in use, holds an unfinished copy that is not resumed, or
    /// cannot hold a value, which the error names; `validation_failed` when the two differ;
    /// `unavailable` when one of them cannot be reached, or writers held the source for 30 s.
    pub async fn copy_to(
        &self,
        target: &Database,
        resume: bool,
        on_progress: OnCopyProgress<'_>,
    ) -> Result<Copied> {
        let source = self.settings().database();
        let source = source.map_err(|e| Error::new(Code::ValidationFailed, e.to_string()))?;
        if matches!(source, Database::Sqlite { .. }) == matches!(target, Database::Sqlite { .. }) {
            let what = "A copy goes to the other engine, from SQLite to PostgreSQL or back. Within \
                        one engine use `cms db backup` and `cms db restore`.";
            return Err(Error::new(Code::Conflict, what));
        }
        let recorded = install::recorded(self.db()).await?;
        let mut content: BTreeSet<_> = recorded.iter().map(|table| table.name.clone()).collect();
        let own = own_tables::applied(self.db()).await?;
        content.extend(own_tables::names(&own)?);
        let is_begun = transfer::judge(self.db(), target, (&content, &RULES), resume).await?;
        let db = Db::open(target).await?;
        let copied = async {
            if !is_begun {
                // Refuses a target that belongs to another program or version.
                db.migrate(self.clock(), false).await?;
                db.expect_unicode().await?;
                self.expect_referred(&content, &db).await?;
                transfer::begin(self.db(), target).await?;
            }
            let is_prepared = transfer::is_prepared(target).await?;
            if !is_prepared {
                self.make_tables(&db, &recorded, &own).await?;
            }
            let (from, to) = ((self.db(), &source), (&db, target));
            let copy = Transfer::open(from, to, (&content, RULES), on_progress).await?;
            let copied = copy.run(is_prepared).await?;
            if own_tables::applied(self.db()).await? != own {
                let why = "Own tables were changed during the copy: empty the target and start the \
                           copy again.";
                return Err(Error::new(Code::Conflict, why));
            }
            Ok(copied)
        };
        let copied = copied.await;
        db.close().await;
        copied
    }

    /// Refuses a target that lacks a table which is not copied and to which copied tables refer.
    async fn expect_referred(&self, content: &BTreeSet<String>, target: &Db) -> Result<()> {
        let mut missing = BTreeSet::new();
        let referred = self.db().dialect().referred();
        for name in content {
            let others: Vec<(String,)> = self.db().all(referred, args![name]).await?;
            for (other,) in others {
                let is_copied = content.contains(&other) || other.starts_with(RULES.prefix);
                if !is_copied && target.describe_adopted(&other).await?.is_none() {
                    missing.insert(other);
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.into_iter().collect::<Vec<_>>().join(", ");
        let what = format!(
            "Tables to copy refer to {missing}. A copy leaves out tables of other programs: move \
             {missing} into the target first. Nothing was copied."
        );
        Err(Error::new(Code::Conflict, what))
    }

    /// Creates the tables of the service and of plugins.
    async fn make_tables(
        &self,
        db: &Db,
        recorded: &[TableDeclaration],
        own: &[own_tables::Applied],
    ) -> Result<()> {
        db.migrate_target(self.clock()).await?;
        // The target may have such tables if it belongs to a new site.
        let there = install::recorded(db).await?;
        let missing = recorded.iter().filter(|table| !there.contains(table));
        let missing: Vec<_> = missing.cloned().collect();
        let declared = Declared { plugin: EVERY_PLUGIN, tables: &missing, silent: true };
        let (clock, random, outbox) = (self.clock(), self.random(), Outbox::default());
        let mut change = Change::begin(db, clock, random, &outbox, Actor::System, true).await?;
        own_tables::make_as(own, db, &mut change).await?;
        let builds = install::install(&mut change, &self.tables(), declared, false).await?;
        change.commit().await?;
        for build in builds {
            install::build(db, EVERY_PLUGIN, &build).await?;
        }
        Ok(())
    }
}
