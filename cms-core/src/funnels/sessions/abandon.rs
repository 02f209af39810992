//! Abandoned visits: the page reports that it is closed, or no further call comes.

use super::{
    events,
    session::{Session, Status, Trail},
    sql,
    visit::Visit,
};
use crate::{
    Actor, Change, Code, Millis, Result,
    db::watched,
    events::FUNNEL_ABANDONED,
    funnels::{Funnels, rules::Trigger},
};

/// Number of sessions read at once.
const PAGE: i64 = 500;
/// How long files that no answer holds are kept.
const UNATTACHED: Millis = 24 * 3_600_000;
/// The period that the 30-day views show.
const WINDOW: Millis = 30 * 24 * 3_600_000;

impl Funnels {
    /// The visitor's page was closed: marks the session as abandoned, if its funnel wants that. A
    /// reload closes the page too, so the event and the mails wait for
    /// [`Funnels::process_abandoned`], which sends them unless the visitor comes back.
    ///
    /// # Errors
    /// `not_found`; as every write.
    pub async fn abandon(&self, change: &mut Change, visit: &Visit) -> Result<()> {
        let mut session = visit.lock(change).await?;
        let is_here = session.status == Status::InProgress && change.now() < session.expires_at;
        if is_here && !session.folded && visit.version.header.save_abandoned {
            let mut trail = Trail::default();
            leave(&mut session, change.now(), &mut trail);
            visit.store_left(change, &mut session, trail).await?;
        }
        Ok(())
    }

    /// Marks sessions that rest for longer than their funnels allow, and sends the event and
    /// the mails of visits whose page was closed that long ago. Removes files that no answer
    /// holds, and counts the visits that are over. Returns the number of sessions that were marked
    /// or whose event was sent.
    pub async fn process_abandoned(&self) -> Result<u64> {
        watched(self.process()).await
    }

    async fn process(&self) -> Result<u64> {
        let base = &self.0.base;
        let now = base.clock().now();
        let mut change = base.change(Actor::System).await?;
        sql::move_window(&mut change, now - WINDOW).await?;
        change.commit().await?;
        while self.sweep(now).await? {}
        let (mut after, mut marked) = ((Millis::MIN, 0), 0);
        loop {
            let page = sql::resting(base.db(), now, after, PAGE).await?;
            for (id, version, due) in &page {
                after = (*due, *id);
                match self.mark(*id, *version, *due).await {
                    Ok(is_marked) => marked += u64::from(is_marked),
                    Err(error) if error.code() == Code::Unavailable => return Err(error),
                    // One unreadable session must not stop the others.
                    Err(error) => {
                        tracing::warn!(submission = id, ?error, "a visit that rests is not marked");
                    }
                }
            }
            if page.len() < usize::try_from(PAGE).unwrap_or_default() {
                self.fold().await?;
                return Ok(marked);
            }
        }
    }

    /// Marks a session and sends its event and mails, if nothing has happened since the
    /// session was read.
    async fn mark(&self, id: i64, version: i64, due: Millis) -> Result<bool> {
        let version = match self.version(version).await {
            // The funnel was deleted meanwhile.
            Err(error) if error.code() == Code::NotFound => return Ok(false),
            version => version?,
        };
        let mut change = self.0.base.change(Actor::System).await?;
        let Some(mut session) = sql::lock_id(&mut change, id).await? else { return Ok(false) };
        let visit = self.visit_of(version, session.uuid.clone());
        match visit.abandon_due(&session) {
            Some(same) if same == due => {}
            // The visitor came back, or the version gives another time than the row.
            other => {
                sql::watch(&mut change, id, other).await?;
                change.commit().await?;
                return Ok(false);
            }
        }
        let mut trail = Trail::default();
        if session.status == Status::InProgress {
            leave(&mut session, change.now(), &mut trail);
        }
        if session.is_untold() {
            self.tell(&mut change, &visit, &mut session, trail).await?;
        } else {
            visit.store_left(&mut change, &mut session, trail).await?;
        }
        change.commit().await?;
        Ok(true)
    }

    /// Raises the event and queues the mails of an abandoned visit: only once, even if the visitor
    /// leaves again.
    async fn tell(
        &self,
        change: &mut Change,
        visit: &Visit,
        session: &mut Session,
        mut trail: Trail,
    ) -> Result<()> {
        session.abandoned_told = true;
        self.dispatch(change, visit, session, Trigger::Abandoned, &mut trail).await?;
        visit.save(change, session, trail).await?;
        let around = visit.around(session);
        let answers = visit.walk(&around).answers(session.answered(), &session.answers);
        let node = visit.current(session);
        let audited = Some(events::AUDIT_STATUS);
        events::emit(change, visit, session, FUNNEL_ABANDONED, node, &answers, audited).await
    }

    async fn sweep(&self, now: Millis) -> Result<bool> {
        let mut change = self.0.base.change(Actor::System).await?;
        let removed = sql::sweep(&mut change, now - UNATTACHED).await?;
        change.commit().await?;
        Ok(removed > 0)
    }
}

/// Marks the session as abandoned.
fn leave(session: &mut Session, now: Millis, trail: &mut Trail) {
    session.status = Status::Abandoned;
    session.abandoned_at = Some(now);
    trail.note("abandoned", session.current);
}
