//! Queues mails in the change that causes them, and decides who gets an automatic reply.

use super::{Mail, MailAddress, MailId, Mails};
use crate::{
    Change, Millis, Result,
    db::{args, statements},
    fields,
};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The day of a moment, counted from 1970.
pub(super) fn day(now: Millis) -> i64 {
    now.div_euclid(DAY_MS)
}

impl Mails {
    /// Writes the mail into the outbox, in `change`. The mail is sent after the commit; a dropped
    /// change sends nothing. The Message-ID is made here, so it is the same in every attempt.
    ///
    /// An automatic reply beyond the ration, to a robot or to this site itself is recorded as
    /// `dropped`, with the reason. Without a provider mails wait.
    ///
    /// # Errors
    /// `validation_failed` for what cannot be sent; as every write.
    pub async fn queue(&self, change: &mut Change, mail: &Mail) -> Result<MailId> {
        let mail = mail.checked()?;
        if let Some(once) = &mail.once
            && let Some(id) = with_key(change, once).await?
        {
            return Ok(id);
        }
        let dropped = match mail.auto_reply {
            true => self.refused_reply(change, &mail).await?,
            false => None,
        };
        let row = NewRow { message_id: self.message_id()?, dropped, mail: &mail };
        match (add(change, row).await?, &mail.once) {
            (Some(id), _) => Ok(id),
            // Another change has queued it meanwhile.
            (None, once) => {
                let found = with_key(change, once.as_deref().unwrap_or_default()).await?;
                found.ok_or_else(|| crate::Error::internal("a queued mail is not there"))
            }
        }
    }

    /// Returns why an automatic reply must not be sent; otherwise counts the reply and
    /// returns None.
    async fn refused_reply(&self, change: &mut Change, mail: &Mail) -> Result<Option<String>> {
        let sender = self.0.sender.as_ref().map(|sender| &sender.address);
        let own: Vec<_> = sender.map(|sender| sender.parts().1).into_iter().collect();
        let site = self.0.site_host.as_deref();
        let own: Vec<_> = own.into_iter().chain(site).collect();
        if let Some(why) = refused(&mail.to, sender, &own) {
            return Ok(Some(why));
        }
        let most = self.0.base.settings().mail.auto_reply_per_day;
        let day = day(change.now());
        let most_rows = i64::try_from(most).unwrap_or(i64::MAX);
        let args = args![mail.to.mailbox(), day, most_rows];
        if most > 0 && change.optional::<(i64,)>(RATION, args).await?.is_some() {
            return Ok(None);
        }
        Ok(Some(format!("the address has had {most} automatic replies today")))
    }

    fn message_id(&self) -> Result<String> {
        let base = &self.0.base;
        let sender = self.0.sender.as_ref().map(|sender| sender.address.parts().1);
        let domain = sender.or(self.0.site_host.as_deref()).unwrap_or("localhost");
        Ok(format!("<{}@{domain}>", base.random().uuid_v7(base.clock())?))
    }
}

/// Names of mailboxes that belong to roles or to programs.
const ROBOTS: [&str; 14] = [
    "abuse", "bounce", "bounces", "do-not-reply", "donotreply", "hostmaster", "listserv",
    "mailer-daemon", "majordomo", "no-reply", "nobody", "noreply", "postmaster", "root",
];
/// Prefixes and suffixes of such names.
const BEGINNINGS: [&str; 3] = ["owner-", "bounce-", "bounces-"];
const ENDS: [&str; 6] = ["-owner", "-request", "-bounces", "-noreply", "-no-reply", "-admin"];

/// Why an address gets no automatic reply (RFC 3834, 2): never robots, never ourselves. Pure.
///
/// `own` are the domains of the site. At a domain of a free mail provider, only the sender's own
/// mailbox counts as ours.
fn refused(to: &MailAddress, sender: Option<&MailAddress>, own: &[&str]) -> Option<String> {
    let mailbox = to.mailbox();
    if sender.is_some_and(|sender| sender.mailbox() == mailbox) {
        return Some("the address is this site's own".to_owned());
    }
    let (local, domain) = mailbox.rsplit_once('@').unwrap_or((&mailbox, ""));
    let is_robot = ROBOTS.contains(&local)
        || BEGINNINGS.iter().any(|beginning| local.starts_with(beginning))
        || ENDS.iter().any(|end| local.ends_with(end));
    if is_robot {
        return Some(format!("no automatic reply to {local}@: it belongs to a role or a program"));
    }
    let is_own = |own: &&str| own.eq_ignore_ascii_case(domain) && !fields::is_free(domain);
    own.iter().any(is_own).then(|| format!("no automatic reply to {domain}: it is this site's own"))
}

statements! {
    WITH_KEY = "select id from cms_mails where once_key = $1";
    ADD = "insert into cms_mails (purpose, cause, once_key, message_id, recipient, reply_to, \
           subject, body_text, body_html, auto_reply, status, reason, next_attempt_at, created_at, \
           settled_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14) \
           on conflict (once_key) do nothing returning id";
    /// Counts an automatic reply to a mailbox; no row: the mailbox has had $3 replies that day. One
    /// row for each mailbox and day: only replies to the same mailbox wait for each other.
    RATION = "insert into cms_mail_rations (recipient, day, replies) values ($1, $2, 1) \
              on conflict (recipient, day) do update set replies = cms_mail_rations.replies + 1 \
              where cms_mail_rations.replies < $3 returning replies";
}

/// A mail as it is queued.
struct NewRow<'a> {
    mail: &'a Mail,
    message_id: String,
    /// Why it is not sent at all.
    dropped: Option<String>,
}

/// The mail that has this key.
async fn with_key(change: &mut Change, key: &str) -> Result<Option<MailId>> {
    Ok(change.optional::<(i64,)>(WITH_KEY, args![key]).await?.map(|(id,)| id))
}

/// Adds a row. None: another mail has its key.
async fn add(change: &mut Change, row: NewRow<'_>) -> Result<Option<MailId>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_and_ourselves_get_none() {
        let sender = MailAddress::parse("shop@example.org").expect("an address");
        let free = MailAddress::parse("shop@gmail.com").expect("an address");
        for (to, sender, gets) in [
            ("ana@example.com", &sender, true),
            ("owner@example.com", &sender, true),
            ("MAILER-DAEMON@example.com", &sender, false),
            ("No-Reply+7@example.com", &sender, false),
            ("owner-list@example.com", &sender, false),
            ("list-request@example.com", &sender, false),
            ("list-bounces@example.com", &sender, false),
            ("Shop+1@example.org", &sender, false),
            ("ana@example.org", &sender, false),
            ("ana@sub.example.org", &sender, true),
            ("ana@www.example.net", &sender, false),
            ("ana@gmail.com", &free, true),
            ("shop@gmail.com", &free, false),
        ] {
            let to = MailAddress::parse(to).expect("an address");
            let own = [sender.parts().1, "www.example.net"];
            assert_eq!(refused(&to, Some(sender), &own).is_none(), gets, "{to}");
        }
    }
}
