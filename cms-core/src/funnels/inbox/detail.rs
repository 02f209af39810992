//! One submission, with the way that it took.

use super::{FunnelSubmission, FunnelSubmissionDetail, none, sql};
use crate::{
    Result,
    funnels::{Funnels, sessions::Retold},
};

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
        })
    }
}
