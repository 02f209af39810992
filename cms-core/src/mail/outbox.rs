//! The outbox as the postman sees it: claimed mails, attempts, settlements, the health
//! of providers.

use std::collections::BTreeMap;

use super::rules::{Health, MOST_TRIES, Outcome};
use crate::{
    Change, Millis, Result,
    change::Reader,
    db::{Db, args, record, statements},
    events::{MAIL_FAILED, MailFailed},
};

record! {
    /// A mail that this postman owns until its lease ends.
    #[derive(Clone, Debug)]
    pub(super) struct Outgoing: outgoing_columns {
        pub(super) id: i64 = "id",
        pub(super) lease_token: i64 = "lease_token",
        /// Until then no other postman sends the mail.
        pub(super) lease_until: Millis = "lease_until",
        /// Rounds that failed.
        pub(super) tries: i64 = "tries",
        pub(super) purpose: String = "purpose",
        pub(super) message_id: String = "message_id",
        pub(super) to: String = "recipient",
        pub(super) reply_to: Option<String> = "reply_to",
        pub(super) subject: String = "subject",
        pub(super) text: String = "body_text",
        pub(super) html: Option<String> = "body_html",
        pub(super) auto_reply: bool = "auto_reply",
        /// The only provider that may send it; None: any.
        pub(super) provider: Option<String> = "provider",
        pub(super) created_at: Millis = "created_at",
    }
}

impl Outgoing {
    /// A plain mail, for tests.
    #[cfg(test)]
    pub(super) fn sample() -> Self {
        Self {
            id: 7,
            lease_token: 1,
            lease_until: 0,
            tries: 0,
            purpose: "form.notice".to_owned(),
            message_id: "<1@example.org>".to_owned(),
            to: "ana@example.com".to_owned(),
            reply_to: None,
            subject: "Hello".to_owned(),
            text: "Hi".to_owned(),
            html: None,
            auto_reply: true,
            provider: None,
            created_at: 0,
        }
    }

    /// The value of `Auto-Submitted` (RFC 3834, 5).
    pub(super) fn auto_submitted(&self) -> &'static str {
        if self.auto_reply { "auto-replied" } else { "auto-generated" }
    }
}

/// An attempt of one provider.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) provider: &'static str,
    pub(super) outcome: Outcome,
    /// Why it did not succeed, as a sentence.
    pub(super) reason: Option<String>,
    /// What the provider calls the mail.
    pub(super) provider_id: Option<String>,
    pub(super) duration_ms: i64,
    /// Whether a local fault may be the provider's, such as a name that does not resolve.
    pub(super) is_suspect: bool,
}

/// How long a postman owns a claimed mail: longer than a round through three providers takes, the
/// last reply of a mail server included.
pub(super) const LEASE_MS: Millis = 300_000;

statements! {
    DUE = "select exists (select 1 from cms_mails where status = 'queued' \
           and next_attempt_at <= $1) or exists (select 1 from cms_mails \
           where status = 'sending' and (lease_until <= $1 or lease_until > $2))";
    /// A lease that ends after [`latest`] was given before the clock was set back. A lost lease
    /// counts as a try: a mail that kills its postman must not come back for ever. A test mail
    /// is tried once.
    RECLAIM = "update cms_mails set lease_until = null, tries = tries + 1, \
               status = case when tries < $4 and purpose <> 'test' then 'queued' \
               else 'failed' end, settled_at = case when tries < $4 and purpose <> 'test' \
               then null else cast($1 as bigint) end, \
               reason = coalesce(reason, cast($3 as text)) \
               where status = 'sending' and (lease_until <= $1 or lease_until > $2) \
               returning id, purpose, status = 'failed'";
    /// `status || ''` keeps the engine from searching an index by status.
    CLAIM = concat!(
        "update cms_mails set status = 'sending', lease_until = $2, \
         lease_token = lease_token + 1 where id in (select * from (select id from cms_mails \
         where status = 'queued' and next_attempt_at <= $1 order by next_attempt_at, id \
         limit cast($3 as bigint)) l) and status || '' = 'queued' returning ",
        outgoing_columns!()
    );
    /// Claims a mail that this change has queued, for one provider.
    CLAIM_ONE = concat!(
        "update cms_mails set status = 'sending', lease_until = $2, provider = $3, \
         lease_token = lease_token + 1 where id = $1 returning ",
        outgoing_columns!()
    );
    SETTLE = "update cms_mails set status = $3, tries = $4, next_attempt_at = $5, reason = $6, \
              settled_at = $7, lease_until = null \
              where id = $1 and lease_token = $2 and status = 'sending'";
    /// Settles a sent mail, even after its lease has ended, unless another postman has claimed the
    /// mail since.
    SETTLE_LATE = "update cms_mails set status = $3, tries = $4, next_attempt_at = $5, \
                   reason = $6, settled_at = $7, lease_until = null where id = $1 \
                   and lease_token = $2 and status in ('sending', 'queued', 'failed')";
    /// Writes nothing when retention has removed the mail.
    LOG = "insert into cms_mail_attempts (mail_id, provider, outcome, reason, provider_id, \
           duration_ms, created_at) select m.id, cast($2 as text), cast($3 as text), \
           cast($4 as text), cast($5 as text), cast($6 as bigint), cast($7 as bigint) \
           from cms_mails m where m.id = $1";
    /// Logs a fault of this machine, unless the last attempt of the mail at this provider was
    /// the same fault.
    LOG_LOCAL = "insert into cms_mail_attempts (mail_id, provider, outcome, reason, provider_id, \
                 duration_ms, created_at) select m.id, cast($2 as text), cast($3 as text), \
                 cast($4 as text), cast($5 as text), cast($6 as bigint), cast($7 as bigint) \
                 from cms_mails m where m.id = $1 and not exists (select 1 from (select outcome, \
                 reason from cms_mail_attempts where mail_id = $1 and provider = cast($2 as text) \
                 order by id desc limit 1) l where l.outcome = 'local' \
                 and coalesce(l.reason, '') = coalesce(cast($4 as text), ''))";
    HEALTH = "select name, faults, rests_until from cms_mail_providers";
    NOTE = "insert into cms_mail_providers (name, faults, rests_until, reason) \
            values ($1, $2, $3, $4) on conflict (name) do update set faults = excluded.faults, \
            rests_until = excluded.rests_until, \
            reason = coalesce(excluded.reason, cms_mail_providers.reason)";
    WELL = "delete from cms_mail_providers where name = $1";
    /// The number of waiting mails, and when the first of them was due.
    WAITING = "select count(*), min(next_attempt_at) from cms_mails where status = 'queued'";
    EXPIRE = "delete from cms_mails where id in (select id from cms_mails \
              where settled_at <= $1 limit 1000)";
    /// Fails mails that nobody sent in all that time. Their rows are then kept as long as those of
    /// other settled mails.
    GIVE_UP = "update cms_mails set status = 'failed', settled_at = $2, \
               reason = cast($3 as text) || coalesce('; ' || reason, '') \
               where id in (select id from cms_mails where status = 'queued' \
               and created_at <= $1 limit 1000) and status || '' = 'queued' \
               returning id, purpose";
    EXPIRE_RATIONS = "delete from cms_mail_rations where (recipient, day) in (select recipient, \
                      day from cms_mail_rations where day < $1 order by day limit 1000)";
}

/// The latest end that a lease can have now.
fn latest(now: Millis) -> Millis {
    now + 2 * LEASE_MS
}

/// Whether a mail is due or a lease is over.
pub(super) async fn is_due(db: &Db, now: Millis) -> Result<bool> {
    let (due,): (bool,) = db.one(DUE, args![now, latest(now)]).await?;
    Ok(due)
}

/// Puts mails whose lease is over back into the queue, or fails them when their tries are used up.
/// Returns how many.
pub(super) async fn reclaim(change: &mut Change) -> Result<u64> {
    let now = change.now();
    let why = "its postman died or was too slow";
    let reclaimed: Vec<(i64, String, bool)> =
        change.all(RECLAIM, args![now, latest(now), why, MOST_TRIES]).await?;
    let returned = reclaimed.len() as u64;
    let failed = reclaimed.into_iter().filter(|(.., has_failed)| *has_failed);
    let failed: Vec<_> = failed.map(|(id, purpose, _)| MailFailed::of(id, purpose)).collect();
    change.raise_inside(MAIL_FAILED, &failed).await?;
    Ok(returned)
}

/// Gives up mails that were queued at `horizon` or before, a thousand at most. Returns how many.
pub(super) async fn give_up(change: &mut Change, horizon: Millis) -> Result<u64> {
    let why = "it waited longer than mails are kept";
    let given_up: Vec<(i64, String)> =
        change.all(GIVE_UP, args![horizon, change.now(), why]).await?;
    let failed = given_up.into_iter().map(|(id, purpose)| MailFailed::of(id, purpose));
    let failed: Vec<_> = failed.collect();
    change.raise_inside(MAIL_FAILED, &failed).await?;
    Ok(failed.len() as u64)
}

/// Claims due mails, the longest due first.
pub(super) async fn claim(change: &mut Change, most: usize) -> Result<Vec<Outgoing>> {
    let now = change.now();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut claimed: Vec<Outgoing> = change.all(CLAIM, args![now, now + LEASE_MS, most]).await?;
    claimed.sort_unstable_by_key(|mail| mail.id);
    Ok(claimed)
}

/// The state of a mail after a round.
pub(super) struct Settled {
    pub(super) status: &'static str,
    pub(super) tries: i64,
    pub(super) next_attempt_at: Millis,
    pub(super) reason: Option<String>,
}

/// Settles a mail and ends its lease. False: the lease was lost before, and nothing was written.
pub(super) async fn settle(change: &mut Change, mail: &Outgoing, settled: Settled) -> Result<bool> {
    let now = change.now();
    let is_over = settled.status != "queued";
    let sql = if settled.status == "sent" { SETTLE_LATE } else { SETTLE };
    let args = args![
        mail.id,
        mail.lease_token,
        settled.status,
        settled.tries,
        settled.next_attempt_at,
        settled.reason,
        is_over.then_some(now),
    ];
    Ok(change.run(sql, args).await? > 0)
}

/// Logs an attempt.
pub(super) async fn log(change: &mut Change, mail: i64, attempt: &Attempt) -> Result<()> {
    let args = args![
        mail,
        attempt.provider,
        attempt.outcome.name(),
        attempt.reason.clone(),
        attempt.provider_id.clone(),
        attempt.duration_ms,
        change.now(),
    ];
    let sql = if attempt.outcome == Outcome::Local { LOG_LOCAL } else { LOG };
    change.run(sql, args).await.map(drop)
}

/// The health of all providers that failed lately.
pub(super) async fn health(from: impl Into<Reader<'_>>) -> Result<BTreeMap<String, Health>> {
    let rows: Vec<(String, i64, i64)> = from.into().all(HEALTH, args![]).await?;
    let health = |(name, faults, rests_until)| (name, Health { faults, rests_until });
    Ok(rows.into_iter().map(health).collect())
}

/// Writes the health of a provider. `reason`: its last fault; None keeps the stored reason.
pub(super) async fn save_health(
    change: &mut Change,
    provider: &str,
    health: &Health,
    reason: Option<String>,
) -> Result<()> {
    match *health == Health::default() {
        true => change.run(WELL, args![provider]).await.map(drop),
        false => {
            let args = args![provider, health.faults, health.rests_until, reason];
            change.run(NOTE, args).await.map(drop)
        }
    }
}

/// The engine's plans of the check for due mails and of a claim.
#[cfg(feature = "testing")]
pub(super) async fn plans(db: &Db, now: Millis) -> Result<[Vec<String>; 2]> {
    let due = db.plan(DUE.sql(), args![now, latest(now)]).await?;
    Ok([due, db.plan(CLAIM.sql(), args![now, now + LEASE_MS, 16_i64]).await?])
}
