//! An answered step, a completed visit, and an abandoned visit: the page reports that it is closed,
//! or no further call comes.

use data_encoding::BASE32_NOPAD;

use super::{
    moves::{self, Moved, Walk},
    session::{Session, Status, Trail},
    sql,
    types::{AnswerStep, CompleteVisit, Completed, Stepped},
    visit::{self, Visit, files_in, is_file, is_spent, open, unexpired},
};
use crate::{
    Actor, Change, Code, Error, FieldError, Millis, Outcome, Result,
    db::{args, watched},
    events::{FUNNEL_ABANDONED, FUNNEL_COMPLETED, FUNNEL_STEP_COMPLETED},
    funnels::{
        Funnels,
        graph::{Node, Step},
        rules::Trigger,
    },
};

/// Number of sessions read at once.
const AT_ONCE: i64 = 500;
/// How long files that no answer holds are kept.
const UNATTACHED: Millis = 24 * 3_600_000;
/// The period that the 30-day views show.
const WINDOW: Millis = 30 * 24 * 3_600_000;

impl Funnels {
    /// Answers a step. A refused answer is noted in the change, so the change is committed
    /// in either case.
    ///
    /// # Errors
    /// `not_found`, `already_completed`, `session_expired`, `not_on_path`; as every write. The
    /// outcome: `validation_failed` with all answers that are refused.
    pub async fn step(
        &self,
        change: &mut Change,
        visit: &Visit,
        call: &AnswerStep,
    ) -> Result<Outcome<Stepped>> {
        let mut session = visit.lock(change).await?;
        let now = change.now();
        open(&session, now)?;
        let around = visit.around(&session);
        let walk = visit.walk(&around);
        let node = moves::target(&walk, &session, call.node_id, &call.answers)?;
        let step = node.step().ok_or_else(|| Error::internal("a target that is no step"))?;
        let (context, files) = (visit.context(now), Visit::files(change, &session, step).await?);
        let (mut trail, trapped) = (Trail::default(), is_filled(call.trap.as_deref()));
        let taken = moves::judge_answers(step, &call.answers, &context, &files, visit.is_strict());
        let taken = match taken {
            Ok(taken) => taken,
            Err(faults) => {
                moves::note_refused(node, &faults, &mut trail);
                session.is_spam |= trapped;
                visit.store_trail(change, &mut session, trail).await?;
                return Ok(Outcome(Err(Error::invalid(faults).at_node(Some(node.id)))));
            }
        };
        match moves::answer(&walk, &mut session, node, &taken, now, &mut trail)? {
            Moved::Unchanged(next) => {
                visit.store_unchanged(change, &mut session, trapped).await?;
                Ok(Outcome(Ok(visit.stepped(&session, next, taken.ignored))))
            }
            Moved::To(next) => {
                session.is_spam |= trapped;
                self.moved(change, visit, &mut session, node, trail).await?;
                Ok(Outcome(Ok(visit.stepped(&session, next, taken.ignored))))
            }
        }
    }

    /// Stores a session whose step was answered, and raises the event.
    pub(super) async fn moved(
        &self,
        change: &mut Change,
        visit: &Visit,
        session: &mut Session,
        node: &Node,
        trail: Trail,
    ) -> Result<()> {
        let now = change.now();
        visit.mark_active(session, now);
        visit.save(change, session, trail).await?;
        let Some(step) = node.step() else { return Ok(()) };
        let files = step.fields.iter().filter(|field| is_file(field.type_name()));
        for field in files {
            sql::detach(change, session.id, field.id()).await?;
        }
        if let Some(gone) = attach(change, session, step).await? {
            return Err(Error::invalid(vec![gone]).at_node(Some(node.id)));
        }
        let answers: Vec<_> =
            step.fields.iter().flat_map(|field| field.answered(&session.answers)).collect();
        let event = FUNNEL_STEP_COMPLETED;
        visit::emit(change, visit, session, event, Some(node), &answers, None).await
    }
}

/// Attaches the files in the answers of a step. Returns a fault if a file is gone: the visitor
/// must send it again.
async fn attach(change: &mut Change, session: &Session, step: &Step) -> Result<Option<FieldError>> {
    for (field, id) in files_in(step, &session.answers) {
        if !sql::attach(change, session.id, id).await? {
            let message = "the file was removed, because no answer used it in time: send it again";
            let (field, message) = (field.to_owned(), message.to_owned());
            return Ok(Some(FieldError { field, code: "unknown_upload", message }));
        }
    }
    Ok(None)
}

/// Whether a program has filled in the input that people do not see.
fn is_filled(trap: Option<&str>) -> bool {
    trap.is_some_and(|text| !text.trim().is_empty())
}

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
        change.run(sql::DETACH_ALL, args![session.id, false, true]).await?;
        for node in session.path.iter().filter_map(|id| walk.graph.node(*id)) {
            let Some(step) = node.step() else { continue };
            if let Some(gone) = attach(change, session, step).await? {
                return Err(incomplete(Some(node), vec![gone]));
            }
        }
        let audited = Some(visit::AUDIT_STATUS);
        visit::emit(change, visit, session, FUNNEL_COMPLETED, end, &answers, audited).await
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
        change.run(sql::WINDOW, args![now - WINDOW]).await?;
        change.commit().await?;
        while self.sweep(now).await? {}
        let (mut after, mut marked) = ((Millis::MIN, 0), 0);
        loop {
            let args = args![now, after.0, after.1, AT_ONCE];
            let page: Vec<(i64, i64, Millis)> = base.db().all(sql::RESTING, args).await?;
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
            if page.len() < usize::try_from(AT_ONCE).unwrap_or_default() {
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
                change.run_one(sql::WATCH, args![id, other]).await?;
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
        let audited = Some(visit::AUDIT_STATUS);
        visit::emit(change, visit, session, FUNNEL_ABANDONED, node, &answers, audited).await
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
