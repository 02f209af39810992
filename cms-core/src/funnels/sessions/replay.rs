//! Stores visits of the past, for demonstrations. They are judged and led as all visits are, at
//! the times that they give. They send no mail and raise no event.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{
    moves,
    session::{Session, Status, Trail},
    sql,
    types::StartVisit,
    visit::{Visit, unexpired},
};
use crate::{
    Change, Error, Millis, Result,
    db::args,
    funnels::{Funnels, WhichFunnel, counters, definitions::versions::Version},
};

const MINUTE_MS: Millis = 60_000;

/// A visit as it was made.
#[derive(Clone, Debug)]
pub struct PastVisit {
    /// How it began.
    pub start: StartVisit,
    /// When it began.
    pub started_at: Millis,
    /// Calls of `step`. Refused answers are noted as such.
    pub steps: Vec<PastStep>,
    /// Its state in the inbox, if it was completed.
    pub inbox: Option<PastInbox>,
}

/// A call of `step` as it was made.
#[derive(Clone, Debug)]
pub struct PastStep {
    /// How long after the call before it.
    pub after: Millis,
    /// How many nodes the visitor went back before this call.
    pub back: usize,
    /// What was answered.
    pub answers: Map<String, Json>,
}

/// The state of a submission that the staff has touched.
#[derive(Clone, Copy, Debug)]
pub struct PastInbox {
    /// A state of the inbox.
    pub status: &'static str,
    /// When.
    pub touched_at: Millis,
}

/// How a visit that was made before ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PastEnd {
    /// It was completed.
    Completed,
    /// Its visitor went away.
    Abandoned,
    /// It may go on.
    InProgress,
}

/// Stores visits of the past to a published funnel.
pub struct Replay<'a> {
    funnels: &'a Funnels,
    version: Arc<Version>,
}

impl std::fmt::Debug for Replay<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("version", &self.version.id).finish_non_exhaustive()
    }
}

impl Funnels {
    /// Prepares to store visits of the past to a published funnel.
    pub async fn replay(&self, which: &WhichFunnel) -> Result<Replay<'_>> {
        Ok(Replay { funnels: self, version: self.live(which, None).await? })
    }
}

impl Replay<'_> {
    /// Stores a visit and returns how it ended. A visit that reached an end is completed at its
    /// last call; a visit that rests for longer than the funnel allows is abandoned.
    pub async fn add(&self, change: &mut Change, past: PastVisit) -> Result<PastEnd> {
        let Self { funnels, version } = self;
        let uuid = funnels.0.base.random().uuid_v4()?;
        let visit = funnels.visit_of(Arc::clone(version), uuid);
        let mut at = past.started_at;
        let (mut session, mut trail) = visit.begin(past.start, None, at, false)?;
        let day = counters::day(at, &visit.zone)?;
        let id = sql::start(change, &session, version.number, None, day).await?;
        session.id = id.ok_or_else(|| Error::internal("the funnel was deleted"))?;
        trail.happened_at(at);
        for call in past.steps {
            at += call.after;
            if unexpired(&session, at).is_err() {
                break;
            }
            if call.back > 0 {
                // Going back cuts stored rows, and a trip does not see the rows that it
                // writes itself.
                visit.save(change, &mut session, std::mem::take(&mut trail)).await?;
            }
            step(&visit, &mut session, &call, at, &mut trail)?;
        }
        let is_at_end = visit.current(&session).is_none_or(|node| node.end().is_some());
        let rests = version.header.abandons_after();
        let gone = rests.map(|minutes| at.saturating_add(minutes.saturating_mul(MINUTE_MS)));
        let end = match gone.filter(|gone| *gone <= change.now()) {
            _ if is_at_end => {
                visit.end(&mut session, funnels.reference()?, at, &mut trail);
                trail.happened_at(at);
                PastEnd::Completed
            }
            Some(gone) => {
                session.status = Status::Abandoned;
                session.abandoned_at = Some(gone);
                session.abandoned_told = true;
                trail.note("abandoned", session.current);
                trail.happened_at(gone);
                PastEnd::Abandoned
            }
            None => PastEnd::InProgress,
        };
        visit.save(change, &mut session, trail).await?;
        if let Some(PastInbox { status, touched_at }) = past.inbox
            && end == PastEnd::Completed
            && !session.is_spam
        {
            change.run_one(sql::TRIAGED, args![session.id, status, touched_at]).await?;
        }
        Ok(end)
    }
}

/// Answers a step as [`Funnels::step`] does.
fn step(
    visit: &Visit,
    session: &mut Session,
    call: &PastStep,
    at: Millis,
    trail: &mut Trail,
) -> Result<()> {
    let around = visit.around(session);
    let walk = visit.walk(&around);
    let asked = session.path.iter().rev().nth(call.back).copied();
    let node = moves::target(&walk, session, asked, &call.answers)?;
    let step = node.step().ok_or_else(|| Error::internal("a target that is no step"))?;
    match moves::judge_answers(step, &call.answers, &visit.context(at), &[], false) {
        Ok(taken) => drop(moves::answer(&walk, session, node, &taken, at, trail)?),
        Err(faults) => moves::note_refused(node, &faults, trail),
    }
    visit.mark_active(session, at);
    trail.happened_at(at);
    Ok(())
}
