//! The outbox as those see it who queue mails.

use crate::{
    Change, Result,
    db::{args, statements},
    mail::{Mail, MailId},
};

statements! {
    WITH_KEY = "select id from cms_mails where once_key = $1";
    ADD = "insert into cms_mails (purpose, cause, once_key, message_id, recipient, reply_to, \
           subject, body_text, body_html, auto_reply, status, reason, next_attempt_at, created_at, \
           settled_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14) \
           on conflict (once_key) do nothing returning id";
    /// A row for each address and day: only replies to one address wait for each other.
    RATION = "insert into cms_mail_rations (recipient, day, replies) values ($1, $2, 1) \
              on conflict (recipient, day) do update set replies = cms_mail_rations.replies + 1 \
              where cms_mail_rations.replies < $3 returning replies";
}

/// A mail as it is queued.
pub(in crate::mail) struct NewRow<'a> {
    pub(in crate::mail) mail: &'a Mail,
    pub(in crate::mail) message_id: String,
    /// Why it is not sent at all.
    pub(in crate::mail) dropped: Option<String>,
}

/// The mail that has this key.
pub(in crate::mail) async fn with_key(change: &mut Change, key: &str) -> Result<Option<MailId>> {
    Ok(change.optional::<(i64,)>(WITH_KEY, args![key]).await?.map(|(id,)| id))
}

/// Adds a row. None: another mail has its key.
pub(in crate::mail) async fn add(change: &mut Change, row: NewRow<'_>) -> Result<Option<MailId>> {
    let (mail, now) = (row.mail, change.now());
    let args = args![
        mail.purpose,
        mail.cause.clone(),
        mail.once.clone(),
        row.message_id,
        mail.to.as_str(),
        mail.reply_to.as_ref().map(|to| to.as_str().to_owned()),
        mail.subject.as_str(),
        &mail.text,
        mail.html.clone(),
        mail.auto_reply,
        if row.dropped.is_some() { "dropped" } else { "queued" },
        row.dropped.clone(),
        now,
        row.dropped.is_some().then_some(now),
    ];
    Ok(change.optional::<(i64,)>(ADD, args).await?.map(|(id,)| id))
}

/// Counts an automatic reply to an address, unless it has had `most` of that day.
pub(in crate::mail) async fn take_ration(
    change: &mut Change,
    mailbox: &str,
    day: i64,
    most: i64,
) -> Result<bool> {
    Ok(change.optional::<(i64,)>(RATION, args![mailbox, day, most]).await?.is_some())
}
