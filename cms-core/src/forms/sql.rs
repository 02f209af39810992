//! Statements of forms and submissions.

use super::{Position, Submission, SubmissionDetail, SubmissionFilter, form::Form};
use crate::{
    Change, Error, Millis, Result,
    db::{Db, Statement, Value, args, read, record, statements},
    fields::Answer,
    rfc3339,
};

record! { Form: form_columns {
    id: "id",
    name: "name",
    title: "title",
    declared: "cast(fields as text)" => read::json,
    recipients: "cast(recipients as text)" => read::json,
    thanks: "thanks",
    redirect_url: "redirect_url",
    min_seconds: "min_seconds",
    active: "active",
} }

record! { Submission: submission_columns {
    id: "s.id",
    form: "f.name",
    at: "s.created_at",
    spam: "s.spam",
    summary: "s.summary";
    created_at: rfc3339(at),
} }

record! { SubmissionDetail: detail_columns {
    submission: (submission_columns),
    answers: "s.answers" => read::json,
} }

macro_rules! by_id {
    () => {
        concat!("select ", form_columns!(), " from cms_forms where id = $1")
    };
}

/// Submissions that a filter selects, newest first, older than a position.
macro_rules! newest {
    ($columns:expr, $of:literal) => {
        concat!(
            "select ",
            $columns,
            " from cms_form_submissions s join cms_forms f on f.id = \
             s.form_id where ",
            $of,
            "(s.created_at, s.id) < ($1, $2) and s.created_at >= $3 and \
             s.created_at < $4 order by s.created_at desc, s.id desc limit $5"
        )
    };
}

/// `BY_ID` for PostgreSQL: keeps others from changing the form until the change ends.
const BY_ID_LOCKED: Statement =
    Statement::new(concat!(module_path!(), "::BY_ID_LOCKED"), concat!(by_id!(), " for share"));

statements! {
    FIELDS_AFTER = "select id, cast(fields as text) from cms_forms where id > $1 order by id \
                    limit $2";
    BY_ID = by_id!();
    BY_NAME = concat!("select ", form_columns!(), " from cms_forms where name = $1");
    INSERT = "insert into cms_form_submissions (form_id, created_at, spam, summary, answers) \
              values ($1, $2, $3, $4, $5) returning id";
    LIST = newest!(submission_columns!(), "");
    LIST_MARKED = newest!(submission_columns!(), "s.spam = $6 and ");
    LIST_OF = newest!(submission_columns!(), "s.form_id = $6 and ");
    LIST_OF_MARKED = newest!(submission_columns!(), "s.form_id = $6 and s.spam = $7 and ");
    DETAILS_OF = newest!(detail_columns!(), "s.form_id = $6 and ");
    DETAILS_OF_MARKED = newest!(detail_columns!(), "s.form_id = $6 and s.spam = $7 and ");
    /// Counts the submissions of people since $3; reads at most $4 rows.
    WITHIN = "select count(*) from (select 1 as one from cms_form_submissions where form_id = $1 \
              and spam = $2 and created_at > $3 limit $4) found";
    GET = concat!(
        "select ", detail_columns!(), " from cms_form_submissions s join cms_forms f on \
         f.id = s.form_id where s.id = $1"
    );
    DELETE = "delete from cms_form_submissions where id = $1";
    /// The forms that keep submissions for a limited time, each with its number of days.
    RETENTIONS = "select id, retention_days from cms_forms where retention_days is not null \
                  order by id";
    EXPIRE = "delete from cms_form_submissions where id in (select id from cms_form_submissions \
              where form_id = $1 and created_at <= $2 order by created_at, id limit 1000)";
    /// Whether a form has submissions from $2 or before.
    HAS_OLD = "select exists (select 1 from cms_form_submissions where form_id = $1 \
               and created_at <= $2)";
}

pub(super) async fn by_id(db: &Db, id: i64) -> Result<Option<Form>> {
    db.optional(BY_ID, args![id]).await
}

/// The form as the change sees it. The form stays the same until the change ends; submissions
/// share its lock.
pub(super) async fn now(change: &mut Change, id: i64) -> Result<Option<Form>> {
    let statement = change.dialect().keeping(BY_ID, BY_ID_LOCKED);
    change.optional(statement, args![id]).await
}

/// No form has a name with U+0000: PostgreSQL refuses to compare with such text.
pub(super) async fn by_name(db: &Db, name: &str) -> Result<Option<Form>> {
    if name.contains('\0') {
        return Ok(None);
    }
    db.optional(BY_NAME, args![name]).await
}

/// Stores a submission and returns its id. None: the form is gone.
pub(super) async fn insert(
    change: &mut Change,
    form: i64,
    spam: bool,
    summary: &str,
    answers: &[Answer],
) -> Result<Option<i64>> {
    let answers = serde_json::to_string(answers).map_err(Error::internal)?;
    let args = args![form, change.now(), spam, summary, answers];
    match change.one::<(i64,)>(INSERT, args).await {
        Ok((id,)) => Ok(Some(id)),
        Err(error) if error.is_broken_reference() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Submissions of people within the last hour, counted up to `most`.
pub(super) async fn within_hour(change: &mut Change, form: i64, most: i64) -> Result<i64> {
    let hour_ago = change.now() - 3_600_000;
    let (count,) = change.one::<(i64,)>(WITHIN, args![form, false, hour_ago, most]).await?;
    Ok(count)
}

/// The values of `$1` to `$5`.
fn selected(filter: &SubmissionFilter, before: Option<Position>, limit: i64) -> Vec<Value> {
    let (at, id) = before.unwrap_or((Millis::MAX, i64::MAX));
    let (since, until) = (filter.since.unwrap_or(Millis::MIN), filter.until.unwrap_or(Millis::MAX));
    args![at, id, since, until, limit]
}

pub(super) async fn list(
    db: &Db,
    form: Option<i64>,
    filter: &SubmissionFilter,
    before: Option<Position>,
    limit: i64,
) -> Result<Vec<Submission>> {
    let (statement, args) = listing(form, filter, before, limit);
    db.all(statement, args).await
}

/// The number of submissions that a filter selects.
pub(super) async fn count(db: &Db, form: Option<i64>, filter: &SubmissionFilter) -> Result<i64> {
    let (statement, args) = listing(form, filter, None, i64::MAX);
    db.count_rows(statement, args).await
}

fn listing(
    form: Option<i64>,
    filter: &SubmissionFilter,
    before: Option<Position>,
    limit: i64,
) -> (Statement, Vec<Value>) {
    let (statement, more) = match (form, filter.spam) {
        (None, None) => (LIST, args![]),
        (None, Some(spam)) => (LIST_MARKED, args![spam]),
        (Some(form), None) => (LIST_OF, args![form]),
        (Some(form), Some(spam)) => (LIST_OF_MARKED, args![form, spam]),
    };
    (statement, [selected(filter, before, limit), more].concat())
}

pub(super) async fn details(
    db: &Db,
    form: i64,
    filter: &SubmissionFilter,
    before: Option<Position>,
    limit: i64,
) -> Result<Vec<SubmissionDetail>> {
    let (statement, more) = match filter.spam {
        None => (DETAILS_OF, args![form]),
        Some(spam) => (DETAILS_OF_MARKED, args![form, spam]),
    };
    db.all(statement, [selected(filter, before, limit), more].concat()).await
}
