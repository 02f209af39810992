//! Statements that count visits into the figures of their day.

use std::collections::BTreeMap;

use super::select::{
    answers, bucket, durations, folding, left, mails, number, sources, steps, visits, ways,
};
use crate::{
    Change, Millis, Result,
    db::{Statement, Step, args, statements},
};

/// Maximum number of visits of a change.
const BATCH: i64 = 200;
/// Number of visits whose day is set at once.
pub(super) const LABELLED: i64 = 500;
/// Number of steps in one trip.
const BATCH_SIZE: usize = 32;

/// The place of a visit in the walk through all visits that are not folded.
pub(super) type Position = (i64, String, i64);

/// What a completed visit answered: its version's id, its funnel, the version's number, its day,
/// its path, its answers and its own id.
pub(in crate::funnels) type Answered = (i64, i64, i64, String, String, Option<String>, i64);

/// How many visits, by funnel, version, day, `answered`, `blank` or `value`, field and value.
pub(in crate::funnels) type AnswerCounts =
    BTreeMap<(i64, i64, String, &'static str, String, String), i64>;

/// Adds to the counters of a day.
macro_rules! add {
    ([$($counter:literal),*], $counts:expr) => {
        concat!(
            "insert into cms_formfunnel_daily (funnel_id, version, day, node_id, edge_id",
            $(", ", $counter,)*
            ") ", $counts,
            " on conflict (funnel_id, version, node_id, edge_id, day) do update set day = \
             excluded.day",
            $(", ", $counter, " = cms_formfunnel_daily.", $counter, " + excluded.", $counter,)*
        )
    };
}

macro_rules! tally {
    ($counts:expr) => {
        concat!(
            "insert into cms_formfunnel_tally (funnel_id, version, day, what, node_id, name, \
             value, bucket, visits, completed) ",
            $counts,
            " on conflict (funnel_id, day, what, node_id, name, value, bucket, version) do update \
             set visits = cms_formfunnel_tally.visits + excluded.visits, \
             completed = cms_formfunnel_tally.completed + excluded.completed"
        )
    };
}

macro_rules! held {
    ($locked:literal) => {
        concat!(
            "select count(*) from (select s.id from cms_formfunnel_submissions s where s.id in \
             (select submission_id from cms_formfunnel_folding) order by s.id",
            $locked,
            ") held"
        )
    };
}

macro_rules! hold_funnels {
    ($share:literal) => {
        concat!(
            "select count(*) from (select id from cms_formfunnels where status <> 'deleted' \
             order by id",
            $share,
            ") held"
        )
    };
}

/// Visits that are over: nobody can change them any more. A visit waits for its mails,
/// at most a day.
macro_rules! over {
    () => {
        "(s.completed_at is not null or (s.expires_at <= $1 and s.abandon_due_at is null)) \
         and (s.mail_rule_id is null or s.last_activity_at <= $2 or not exists (select 1 from \
         cms_mails m where m.cause = 'funnel submission ' || s.id \
         and m.status in ('queued', 'sending')))"
    };
}

/// On PostgreSQL.
const HELD_LOCKED: Statement =
    Statement::new(concat!(module_path!(), "::HELD_LOCKED"), held!(" for update"));
const HOLD_FUNNELS_SHARED: Statement = Statement::new(
    concat!(module_path!(), "::HOLD_FUNNELS_SHARED"),
    hold_funnels!(" for key share"),
);

statements! {
    STAGE_UNLABELLED = "insert into cms_formfunnel_folding (submission_id) select id from \
                        cms_formfunnel_submissions where not folded and day = '' limit $1";
    WITHOUT_DAY = "select s.id, s.version_id, s.started_at from cms_formfunnel_folding f \
                   cross join cms_formfunnel_submissions s where s.id = f.submission_id \
                   and s.day = '' order by s.id";
    LABEL = "update cms_formfunnel_submissions set day = $2 where id = $1";
    STAGE_BATCH = concat!(
        "insert into cms_formfunnel_folding (submission_id) select s.id from \
         cms_formfunnel_submissions s where not s.folded and ", over!(),
        " and (s.funnel_id, s.day, s.id) > ($3, $4, $5) and s.day <> '' and s.funnel_id in \
         (select id from cms_formfunnels where status <> 'deleted') \
         order by s.funnel_id, s.day, s.id limit $6"
    );
    LAST = "select s.funnel_id, s.day, s.id from cms_formfunnel_folding f \
            cross join cms_formfunnel_submissions s where s.id = f.submission_id \
            order by s.funnel_id desc, s.day desc, s.id desc limit 1";
    HELD = held!("");
    /// Unstages visits that somebody changed before this change locked them.
    UNSTAGE_CHANGED = concat!(
        "delete from cms_formfunnel_folding where not exists (select 1 from \
         cms_formfunnel_submissions s where s.id = cms_formfunnel_folding.submission_id \
         and not s.folded and ", over!(), ")"
    );
    /// Marks the staged visits as folded.
    SET_FOLDED = "update cms_formfunnel_submissions set folded = $1 where id in \
                  (select submission_id from cms_formfunnel_folding)";
    HOLD_FUNNELS = hold_funnels!("");
    STAGE = "insert into cms_formfunnel_folding (submission_id) values ($1)";
    CLEAR_STAGED = "delete from cms_formfunnel_folding";
    VISITS = add!(["started", "engaged", "completed", "abandoned", "spam"], visits!(folding));
    WAYS = add!(
        ["entered", "answered", "exited", "rewound", "invalid", "dwell_ms", "dwelt", "traversed",
         "completed", "scored", "score"],
        ways!(folding)
    );
    SOURCES = tally!(sources!(folding));
    DURATIONS = tally!(durations!(folding));
    STEPS = tally!(steps!(folding));
    MAILS = tally!(concat!("select * from (", mails!(folding), ") m where 1 = 1"));
    /// The answers of the staged visits that were completed.
    ANSWERS = answers!(folding);
    TALLY = tally!("values ($1, $2, $3, $4, 0, $5, $6, 0, $7, 0)");
    /// Counts visits that are about to be removed, by their state in the inbox.
    INBOX = tally!(
        "select s.funnel_id, s.version, s.day, 'inbox', 0, s.inbox_status, '', 0, count(*), 0 \
         from cms_formfunnel_folding f cross join cms_formfunnel_submissions s \
         where s.id = f.submission_id and not s.is_spam and not s.is_test \
         group by s.funnel_id, s.version, s.day, s.inbox_status"
    );
    TOUCHED = tally!(concat!(
        "select s.funnel_id, s.version, s.day, 'touch', 0, '', '', ",
        bucket!("(s.first_touched_at - s.started_at)"),
        ", count(*), 0 from cms_formfunnel_folding f cross join cms_formfunnel_submissions s \
         where s.id = f.submission_id and not s.is_spam and not s.is_test \
         and s.first_touched_at is not null group by s.funnel_id, s.version, s.day, 8"
    ));
}

pub(super) async fn label(change: &mut Change, days: Vec<(i64, String)>) -> Result<()> {
    let steps = days.into_iter().map(|(id, day)| Step(LABEL, args![id, day]));
    together(change, steps.collect()).await
}

/// Stages visits that are over, after a position. Returns the position of the last one.
pub(super) async fn stage_batch(
    change: &mut Change,
    (now, mailed): (Millis, Millis),
    (funnel, day, id): Position,
) -> Result<Option<Position>> {
    change.run(STAGE_BATCH, args![now, mailed, funnel, day, id, BATCH]).await?;
    change.optional(LAST, args![]).await
}

/// Keeps all funnels from being deleted until this change ends.
pub(in crate::funnels) async fn hold_funnels(change: &mut Change) -> Result<()> {
    let statement = change.dialect().keeping(HOLD_FUNNELS, HOLD_FUNNELS_SHARED);
    change.one::<(i64,)>(statement, args![]).await.map(drop)
}

/// Locks the staged visits until this change ends.
pub(in crate::funnels) async fn hold(change: &mut Change) -> Result<()> {
    change.one::<(i64,)>(change.dialect().keeping(HELD, HELD_LOCKED), args![]).await.map(drop)
}

/// Stages a submission that is about to be removed.
pub(in crate::funnels) async fn stage(change: &mut Change, id: i64) -> Result<()> {
    change.run(STAGE, args![id]).await.map(drop)
}

/// Unstages all visits, after they were counted.
pub(in crate::funnels) async fn clear_staged(change: &mut Change) -> Result<()> {
    change.run(CLEAR_STAGED, args![]).await.map(drop)
}

/// Adds the staged visits that are not folded to the counters, without their answers.
pub(super) async fn count(change: &mut Change) -> Result<()> {
    for counting in [VISITS, WAYS, SOURCES, DURATIONS, STEPS, MAILS] {
        change.run(counting, args![]).await?;
    }
    Ok(())
}

pub(super) async fn count_answers(change: &mut Change, counted: AnswerCounts) -> Result<()> {
    let steps = counted.into_iter().map(|((funnel, version, day, what, field, value), visits)| {
        Step(TALLY, args![funnel, version, day, what, field, value, visits])
    });
    together(change, steps.collect()).await
}

/// Counts the staged visits by their state in the inbox.
pub(super) async fn count_inbox(change: &mut Change) -> Result<()> {
    for counting in [INBOX, TOUCHED] {
        change.run(counting, args![]).await?;
    }
    Ok(())
}

/// Runs steps, [`BATCH_SIZE`] in one trip. No two steps may write the same row.
async fn together(change: &mut Change, mut steps: Vec<Step>) -> Result<()> {
    while !steps.is_empty() {
        let rest = steps.split_off(steps.len().min(BATCH_SIZE));
        change.steps(std::mem::replace(&mut steps, rest)).await?;
    }
    Ok(())
}
