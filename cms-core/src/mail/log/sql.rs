//! The outbox as the API shows it.

use std::collections::BTreeMap;

use super::{LogFilter, Logged, LoggedAttempt, LoggedDetail};
use crate::{
    Result,
    db::{Db, Statement, Value, args, read, record, statements},
};

record! { Logged: logged_columns {
    id: "m.id",
    purpose: "m.purpose",
    cause: "m.cause",
    to: "m.recipient",
    subject: "m.subject",
    auto_reply: "m.auto_reply",
    status: "m.status",
    provider: "(select a.provider from cms_mail_attempts a where a.mail_id = m.id \
               and a.outcome = 'sent' order by a.id desc limit 1)",
    tries: "m.tries",
    reason: "m.reason",
    created_at: "m.created_at" => read::time,
    next_attempt_at: "case when m.status = 'queued' then m.next_attempt_at end"
        => read::optional_time,
    settled_at: "m.settled_at" => read::optional_time,
} }

record! { LoggedDetail: detail_columns {
    mail: (logged_columns),
    message_id: "m.message_id",
    reply_to: "m.reply_to",
    text: "m.body_text",
    html: "m.body_html";
    attempts: Vec::new(),
} }

record! { LoggedAttempt: attempt_columns {
    provider: "provider",
    outcome: "outcome",
    reason: "reason",
    provider_id: "provider_id",
    duration_ms: "duration_ms",
    created_at: "created_at" => read::time,
} }

/// Mails of one state and one purpose, queued since a moment, newest first. `of`: the condition
/// that an index serves.
macro_rules! newest {
    ($of:literal) => {
        concat!(
            "select ",
            logged_columns!(),
            " from cms_mails m where ",
            $of,
            "m.id < $1 and (cast($3 as text) is null or m.status = $3) \
             and (cast($4 as text) is null or m.purpose = $4) and m.created_at >= $5 \
             order by m.id desc limit $2"
        )
    };
}

statements! {
    LIST = newest!("");
    LIST_TO = newest!("m.recipient = $6 and ");
    LIST_IN = newest!("lower(m.status) = $6 and ");
    LIST_FOR = newest!("m.purpose = $6 and ");
    GET = concat!("select ", detail_columns!(), " from cms_mails m where m.id = $1");
    /// The last 200 attempts of a mail, the oldest first.
    ATTEMPTS = concat!(
        "select ", attempt_columns!(), " from cms_mail_attempts where id in (select id from \
        cms_mail_attempts where mail_id = $1 order by id desc limit 200) order by id"
    );
    STATUS = "select status from cms_mails where id = $1";
    /// Makes a mail due now, if its state allows that.
    AGAIN = "update cms_mails set status = 'queued', next_attempt_at = $2, settled_at = null, \
             tries = case when status = 'failed' then 0 else tries end \
             where id = $1 and status in ('failed', 'queued')";
    REASONS = "select name, reason from cms_mail_providers";
}

/// The statement that usually reads the fewest mails, and the value that its index looks up. Most
/// mails are in the state `sent`.
fn listing(filter: &LogFilter) -> (Statement, Option<&String>) {
    let status = filter.status.as_ref();
    if let Some(to) = &filter.to {
        return (LIST_TO, Some(to));
    }
    match (status.filter(|status| *status != "sent"), &filter.purpose, status) {
        (Some(few), _, _) => (LIST_IN, Some(few)),
        (None, Some(purpose), _) => (LIST_FOR, Some(purpose)),
        (None, None, Some(sent)) => (LIST_IN, Some(sent)),
        (None, None, None) => (LIST, None),
    }
}

fn selected(before: i64, limit: i64, filter: &LogFilter, of: Option<&String>) -> Vec<Value> {
    let (status, purpose) = (filter.status.clone(), filter.purpose.clone());
    let mut args = args![before, limit, status, purpose, filter.since];
    args.extend(of.map(|of| of.as_str().into()));
    args
}

/// Newest first.
pub(in crate::mail) async fn list(
    db: &Db,
    before: i64,
    limit: i64,
    filter: &LogFilter,
) -> Result<Vec<Logged>> {
    let (statement, of) = listing(filter);
    db.all(statement, selected(before, limit, filter, of)).await
}

/// The number of mails that a filter selects.
pub(in crate::mail) async fn count(db: &Db, filter: &LogFilter) -> Result<i64> {
    let (statement, of) = listing(filter);
    db.count_rows(statement, selected(i64::MAX, i64::MAX, filter, of)).await
}

/// How the database would read a page: the lines of the engine's plan.
pub(in crate::mail) async fn plan(db: &Db, filter: &LogFilter) -> Result<Vec<String>> {
    let (statement, of) = listing(filter);
    db.plan(statement.sql(), selected(i64::MAX, 50, filter, of)).await
}

/// The last fault of each provider that failed lately.
pub(in crate::mail) async fn reasons(db: &Db) -> Result<BTreeMap<String, Option<String>>> {
    Ok(db.all::<(String, Option<String>)>(REASONS, args![]).await?.into_iter().collect())
}
