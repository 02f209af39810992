//! The audit log: who did what to which row, when. Written by [`crate::Change::audit`], read here.

use std::{cmp::Reverse, collections::BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Page, Paging, Result,
    base::Base,
    db::{args, read, record},
    ground::ListName,
    jobs,
};

/// One entry of the audit log. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditRow {
    /// Ids grow with time.
    pub id: i64,
    /// Who made the change.
    pub actor: AuditActor,
    /// `create`, `update`, `delete`, `rotate`...
    pub action: String,
    /// The table, by its outward name.
    pub table: String,
    /// Id of the changed row.
    pub row_id: String,
    /// The columns written.
    pub columns: Vec<String>,
    /// When the change was made.
    pub created_at: String,
}

/// Who made a change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditActor {
    /// `system`, `operator`, `visitor`, `key` or `user`.
    pub kind: String,
    /// Id of the key or user.
    pub id: Option<i64>,
    /// Its name at that time.
    pub name: Option<String>,
}

record! { AuditRow: audit_columns {
    id: "id",
    actor: (actor_columns),
    action: "action",
    table: "table_name",
    row_id: "row_id",
    columns: "columns" => read::json,
    created_at: "created_at" => read::time,
} }

record! { AuditActor: actor_columns {
    kind: "actor_kind",
    id: "actor_id",
    name: "actor_name",
} }

pub(crate) mod sql {
    crate::db::statements! {
        EXPIRE = "delete from cms_audit where id in \
                  (select id from cms_audit where created_at <= $1 order by created_at limit 1000)";
        LIST = concat!(
            "select ", audit_columns!(), " from cms_audit where id < $1 order by id desc limit $2"
        );
        // Written as ranges of (table_name, id), so that both engines read the index by table and
        // do not scan by id.
        LIST_OF = concat!(
            "select ", audit_columns!(), " from cms_audit where (table_name, id) < ($3, $1) \
             and (table_name, id) > ($3, $4) order by table_name desc, id desc limit $2"
        );
    }
}

/// The audit log of a site: `cms.audit()`.
#[derive(Clone)]
pub struct AuditLog(Base);

impl AuditLog {
    pub(crate) fn new(base: &Base) -> Self {
        Self(base.clone())
    }

    /// Removes rows older than `retention.audit_days`.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let days = self.0.settings().retention.audit_days;
        let horizon = jobs::days_before(self.0.clock().now(), days);
        jobs::expire(&self.0, &[(sql::EXPIRE, horizon)]).await
    }

    /// How the engine reads the entries of one table: the lines of its plan.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
    #[doc(hidden)]
    pub async fn plan(&self, table: &str) -> Result<Vec<String>> {
        self.0.db().plan(sql::LIST_OF.sql(), args![i64::MAX, 50_i64, table, 0_i64]).await
    }

    /// The audit log, newest first, one page at a time. Non-empty `tables` limits it to these
    /// tables.
    ///
    /// # Errors
    /// `bad_query` for a foreign cursor.
    pub async fn list(&self, paging: &Paging, tables: &[&str]) -> Result<Page<AuditRow>> {
        let wanted: BTreeSet<_> = tables.iter().copied().collect();
        let read = async |before: i64, limit: i64| {
            let db = self.0.db();
            if wanted.is_empty() {
                return db.all(sql::LIST, args![before, limit]).await;
            }
            let most = usize::try_from(limit).unwrap_or_default();
            let mut rows: Vec<AuditRow> = Vec::new();
            // One table after the other by its index, and only what is newer than a full page of
            // those before.
            for table in &wanted {
                let after = rows.get(most.saturating_sub(1)).map_or(0, |row| row.id);
                let args = args![before, limit, *table, after];
                rows.extend(db.all::<AuditRow>(sql::LIST_OF, args).await?);
                rows.sort_by_key(|row| Reverse(row.id));
                rows.truncate(most);
            }
            Ok(rows)
        };
        Page::newest_first(
            self.0.list(ListName::Audit).of(tables),
            paging,
            read,
            |row: &AuditRow| row.id,
        )
        .await
    }
}
