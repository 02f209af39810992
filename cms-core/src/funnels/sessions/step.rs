//! An answered step.

use super::{
    events,
    moves::{self, Moved},
    session::{Session, Trail},
    sql,
    types::{AnswerStep, Stepped},
    visit::{Visit, files_in, is_file, open},
};
use crate::{
    Change, Error, FieldError, Outcome, Result,
    events::FUNNEL_STEP_COMPLETED,
    funnels::{
        Funnels,
        graph::{Node, Step},
    },
};

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
        events::emit(change, visit, session, event, Some(node), &answers, None).await
    }
}

/// Attaches the files in the answers of a step. Returns a fault if a file is gone: the visitor
/// must send it again.
pub(super) async fn attach(
    change: &mut Change,
    session: &Session,
    step: &Step,
) -> Result<Option<FieldError>> {
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
pub(super) fn is_filled(trap: Option<&str>) -> bool {
    trap.is_some_and(|text| !text.trim().is_empty())
}
