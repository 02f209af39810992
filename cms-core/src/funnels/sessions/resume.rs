//! A visit that goes on after its page was loaded again.

use super::{
    calls::Stepped,
    trail::Trail,
    visit::{Visit, open},
};
use crate::{Change, Result, funnels::Funnels};

impl Funnels {
    /// Where the visitor stands. Whoever was away is back.
    ///
    /// # Errors
    /// `not_found`, `already_completed`, `session_expired`; as every write.
    pub async fn resume(&self, change: &mut Change, visit: &Visit) -> Result<Stepped> {
        let mut session = visit.lock(change).await?;
        let now = change.now();
        open(&session, now)?;
        let mut trail = Trail::default();
        trail.note("resumed", session.current);
        visit.note(change, &mut session, trail).await?;
        Ok(visit.stepped(&session, visit.current(&session), Vec::new()))
    }
}
