//! One submission, with the way that it took.

use super::{FunnelSubmission, FunnelSubmissionDetail, SubmissionChange, TABLE, none, sql};
use crate::{
    Result, audit,
    db::Db,
    funnels::{Funnels, sessions::Retold},
};

/// Changes that a submission tells of at most.
const HISTORY: i64 = 50;

impl Funnels {
    /// A submission with its answers, its way, its files and its mails.
    ///
    /// # Errors
    /// `not_found`, also for one of a funnel that was deleted.
    pub async fn submission(&self, id: i64) -> Result<FunnelSubmissionDetail> {
        let (base, inbox) = (&self.0.base, &self.0.inbox);
        let (mut rows, _) = inbox.page(base, &inbox.keyed([id])).await?;
        let submission = FunnelSubmission::read(rows.pop().ok_or_else(|| none(id))?)?;
        let Retold { answers, path, passed } = self.retell(id).await?.ok_or_else(|| none(id))?;
        let db = base.db();
        Ok(FunnelSubmissionDetail {
            submission,
            inbox_notes: sql::notes(db, id).await?.ok_or_else(|| none(id))?,
            answers,
            path,
            path_resolved: passed,
            files: sql::files(db, id).await?,
            mails: sql::mails(db, id).await?,
            history: history(db, id).await?,
        })
    }
}

async fn history(db: &Db, id: i64) -> Result<Vec<SubmissionChange>> {
    let rows = audit::of_row(db, TABLE, &id.to_string(), HISTORY).await?;
    let change = |row: crate::AuditRow| SubmissionChange {
        actor: row.actor,
        action: row.action,
        columns: row.columns,
        created_at: row.created_at,
    };
    Ok(rows.into_iter().map(change).collect())
}
