//! Completes a visit.

use data_encoding::BASE32_NOPAD;

use super::{
    events,
    moves::{self, Moved, Walk},
    session::{Session, Status, Trail},
    sql,
    step::{attach, is_filled},
    types::{CompleteVisit, Completed},
    visit::{Visit, is_spent, unexpired},
};
use crate::{
    Change, Code, Error, FieldError, Millis, Outcome, Result,
    events::FUNNEL_COMPLETED,
    funnels::{
        Funnels,
        graph::{Node, Step},
        rules::Trigger,
    },
};

impl Funnels {
    /// Completes a visit: its path is walked again from the start, and nothing on it may be
    /// missing. As with [`Funnels::step`], the change is committed in either case.
    ///
    /// # Errors
    /// `not_found`, `session_expired`; as every write. The outcome: `incomplete` with the first
    /// node that is not finished.
    pub async fn complete(
        &self,
        change: &mut Change,
        visit: &Visit,
        call: &CompleteVisit,
    ) -> Result<Outcome<Completed>> {
        let mut session = visit.lock(change).await?;
        if session.status == Status::Completed {
            return Ok(Outcome(Ok(completed(visit, &session))));
        }
        let now = change.now();
        unexpired(&session, now)?;
        let trapped = is_filled(call.trap.as_deref());
        if let Err(refused) = self.last_answers(change, visit, &mut session, call).await? {
            visit.store_unchanged(change, &mut session, trapped).await?;
            return Ok(Outcome(Err(refused)));
        }
        if let Err(refused) = check_finished(change, visit, &session).await? {
            visit.store_unchanged(change, &mut session, trapped).await?;
            return Ok(Outcome(Err(refused)));
        }
        session.is_spam |= trapped;
        self.finish(change, visit, &mut session).await?;
        Ok(Outcome(Ok(completed(visit, &session))))
    }

    /// Takes the answers that come with the call, for the presented step or else for the last
    /// step. Fields that are not named keep their answers, and no earlier step is answered again.
    /// A call without answers may leave the presented step if no required answer is missing and no
    /// step follows.
    async fn last_answers(
        &self,
        change: &mut Change,
        visit: &Visit,
        session: &mut Session,
        call: &CompleteVisit,
    ) -> Result<Result<()>> {
        let around = visit.around(session);
        let walk = visit.walk(&around);
        let Some((node, step)) = last_step(&walk, session) else { return Ok(Ok(())) };
        let is_open = session.current == Some(node.id);
        let given = call.answers.clone().unwrap_or_default();
        let is_named = moves::names(step).iter().any(|name| given.contains_key(name));
        let is_refused = visit.is_strict() && !given.is_empty();
        if !is_open && !is_named && !is_refused {
            return Ok(Ok(()));
        }
        let mut trail = Trail::default();
        let files = Visit::files(change, session, step).await?;
        let context = visit.context(change.now());
        let strict = visit.is_strict();
        let take = |given| moves::judge_answers(step, given, &context, &files, strict);
        // A call without answers does not answer required fields, even if these were answered
        // before the visitor went back.
        let bare = if is_open && !is_named { take(&given).map(drop) } else { Ok(()) };
        let over = || moves::judge_merged(session, step, &given, &context, &files, strict);
        let taken = match bare.and_then(|()| over()) {
            Ok(taken) => taken,
            Err(faults) => {
                moves::note_refused(node, &faults, &mut trail);
                visit.store_trail(change, session, trail).await?;
                return Ok(Err(incomplete(Some(node), faults)));
            }
        };
        let mut ahead = session.clone();
        // A step that a program answered raises no event.
        ahead.is_spam |= is_filled(call.trap.as_deref());
        let moved = moves::answer(&walk, &mut ahead, node, &taken, change.now(), &mut trail)?;
        let next = match moved {
            Moved::Unchanged(_) => visit.current(session),
            Moved::To(next) => next,
        };
        let leads_on = next.is_some_and(|next| next.step().is_some());
        if leads_on && !is_named {
            return Ok(Err(incomplete(Some(node), Vec::new())));
        }
        if let Moved::To(_) = moved {
            if is_spent(session) {
                // Only the completing change is left.
                if leads_on {
                    return Ok(Err(incomplete(next, Vec::new())));
                }
                if let Err(refused) = check_finished(change, visit, &ahead).await? {
                    return Ok(Err(refused));
                }
            }
            *session = ahead;
            self.moved(change, visit, session, node, trail).await?;
        }
        Ok(if leads_on { Err(incomplete(next, Vec::new())) } else { Ok(()) })
    }

    /// Does everything that happens only once in a visit.
    async fn finish(
        &self,
        change: &mut Change,
        visit: &Visit,
        session: &mut Session,
    ) -> Result<()> {
        let mut trail = Trail::default();
        visit.end(session, self.reference()?, change.now(), &mut trail);
        let around = visit.around(session);
        let walk = visit.walk(&around);
        let end = visit.current(session);
        let answers = walk.answers(session.answered(), &session.answers);
        if !session.is_silent() {
            self.dispatch(change, visit, session, Trigger::Completed, &mut trail).await?;
        }
        visit.save(change, session, trail).await?;
        sql::detach_all(change, session.id).await?;
        for node in session.path.iter().filter_map(|id| walk.graph.node(*id)) {
            let Some(step) = node.step() else { continue };
            if let Some(gone) = attach(change, session, step).await? {
                return Err(incomplete(Some(node), vec![gone]));
            }
        }
        let audited = Some(events::AUDIT_STATUS);
        events::emit(change, visit, session, FUNNEL_COMPLETED, end, &answers, audited).await
    }

    /// `F7K2-9QXM`: 40 random bits without letters that look alike.
    pub(super) fn reference(&self) -> Result<String> {
        let text = BASE32_NOPAD.encode(&self.0.base.random().bytes::<5>()?);
        let text = text.replace('I', "8").replace('O', "9");
        Ok(format!("{}-{}", &text[..4], &text[4..]))
    }
}

impl Visit {
    /// What completing a visit does to its session.
    pub(super) fn end(
        &self,
        session: &mut Session,
        reference: String,
        now: Millis,
        trail: &mut Trail,
    ) {
        let settings = &self.version.header.settings;
        let around = self.around(session);
        session.answers = self.walk(&around).effective(session.answered(), &session.answers);
        session.is_spam |= now - session.started_at < settings.min_seconds.saturating_mul(1000);
        session.status = Status::Completed;
        session.completed_at = Some(now);
        let end = self.current(session);
        session.end = end.map(|node| node.id);
        session.end_kind = end.and_then(Node::end).map(|end| end.kind.as_str().to_owned());
        session.reference = Some(reference);
        self.mark_active(session, now);
        trail.note("completed", session.end);
    }
}

/// Walks the path again. The inner error names the node that is not finished.
async fn check_finished(
    change: &mut Change,
    visit: &Visit,
    session: &Session,
) -> Result<Result<()>> {
    let files = sql::sent(change, session.id).await?;
    let (around, context) = (visit.around(session), visit.context(change.now()));
    let lacking = moves::unfinished(&visit.walk(&around), session, &context, &files);
    Ok(lacking.map_or(Ok(()), |(node, faults)| Err(incomplete(node, faults))))
}

/// The step that is presented, else the last one on the path.
fn last_step<'a>(walk: &Walk<'a>, session: &Session) -> Option<(&'a Node, &'a Step)> {
    let mut back = session.path.iter().rev().filter_map(|id| walk.graph.node(*id));
    back.find_map(|node| Some((node, node.step()?)))
}

fn incomplete(node: Option<&Node>, faults: Vec<FieldError>) -> Error {
    let detail = "The visit is not finished: go on with this node.";
    let id = node.map(|node| node.id);
    Error::new(Code::Incomplete, detail).with_fields(faults).at_node(id)
}

/// The reply for a completed visit, the same for every call.
fn completed(visit: &Visit, session: &Session) -> Completed {
    let node = session.end.and_then(|end| visit.version.graph.node(end));
    let end = node.and_then(Node::end);
    Completed {
        status: session.status.as_str().to_owned(),
        node: node.map(|node| node.shown.clone()),
        redirect_url: end.and_then(|end| end.redirect_url.clone()),
        reference: session.reference.clone().unwrap_or_default(),
    }
}
