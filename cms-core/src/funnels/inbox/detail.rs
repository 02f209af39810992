//! One submission, with the way that it took.

use super::{FunnelSubmission, FunnelSubmissionDetail, SubmissionChange, TABLE, none, sql};
use crate::{
    Result, audit,
    db::Db,
    funnels::{Funnels, retention::Aged, sessions::Retold, settings::FunnelSettings},
    rfc3339,
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
        let retold = self.retell(id).await?.ok_or_else(|| none(id))?;
        let Retold { answers, path, passed, started_at, open_until } = retold;
        let db = base.db();
        let (inbox_notes, settings) = sql::beside(db, id).await?.ok_or_else(|| none(id))?;
        let aged = Aged { status: &submission.inbox_status, started_at, open_until };
        let kept_until = self.kept_until(&FunnelSettings::read(&settings).0, &aged);
        Ok(FunnelSubmissionDetail {
            submission,
            kept_until: kept_until.map(rfc3339),
            inbox_notes,
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
