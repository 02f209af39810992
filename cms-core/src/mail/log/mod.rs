//! Mails as the API shows them: the log, a mail with its attempts, another try, the providers.

pub(super) mod sql;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CLAIMS, MailId, Mails, outbox,
    rules::{Admission, Health},
};
use crate::{AuditEntry, Change, Code, Error, Page, Paging, Result, db::args, ground::ListName};

/// A mail in the outbox or the log. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Logged {
    /// Ids grow with time.
    pub id: MailId,
    /// What it is for, such as `form.notice`.
    pub purpose: String,
    /// What it is about, such as `submission 17`.
    pub cause: Option<String>,
    /// Who gets it.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// Whether it is an automatic reply, which is rationed.
    pub auto_reply: bool,
    /// `queued`, `sending`, `sent`, `failed` (given up, or refused for good) or `dropped` (an
    /// automatic reply that may not be sent).
    pub status: String,
    /// The provider that sent it.
    pub provider: Option<String>,
    /// Rounds through the chain of providers that failed.
    pub tries: i64,
    /// Why it was not sent yet, or not at all.
    pub reason: Option<String>,
    /// When it was queued.
    pub created_at: String,
    /// When the next attempt is due; null when there is none.
    pub next_attempt_at: Option<String>,
    /// When it was sent, given up or dropped.
    pub settled_at: Option<String>,
}

/// A mail with its bodies and attempts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LoggedDetail {
    /// The mail.
    #[serde(flatten)]
    pub mail: Logged,
    /// Its Message-ID, the same in every attempt.
    pub message_id: String,
    /// Who gets the answer; else the sender.
    pub reply_to: Option<String>,
    /// The plain part.
    pub text: String,
    /// The HTML part.
    pub html: Option<String>,
    /// The last 200 attempts, the oldest first.
    pub attempts: Vec<LoggedAttempt>,
}

/// An attempt of one provider.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LoggedAttempt {
    /// `transactional`, `newsletter` or `smtp`.
    pub provider: String,
    /// `sent`, `recipient` (the address cannot get mail), `refused` (this provider will not send
    /// this mail), `deferred` (not now), `fault` (the provider does not work) or `local` (this
    /// machine does not).
    pub outcome: String,
    /// Why it did not succeed, as a sentence.
    pub reason: Option<String>,
    /// What the provider calls the mail.
    pub provider_id: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: i64,
    /// When it ended.
    pub created_at: String,
}

/// A provider of the chain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ProviderState {
    /// `transactional`, `newsletter` or `smtp`.
    pub name: String,
    /// Its place in the chain, from 1.
    pub place: i64,
    /// Its make: `postmark`, `brevo`, `json` or `smtp`.
    pub kind: String,
    /// The server, without user and password.
    pub server: String,
    /// `ready`, `resting` (after five faults in a row) or `probing` (the next mail tries it).
    pub state: String,
    /// Faults in a row.
    pub faults: i64,
    /// Until then nothing is sent through it; null unless it rests.
    pub rests_until: Option<String>,
    /// The last fault; null when all is well.
    pub reason: Option<String>,
}

/// Selects mails.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LogFilter {
    /// Only mails in this state.
    pub status: Option<String>,
    /// Only mails to this address.
    pub to: Option<String>,
    /// Only mails of this purpose.
    pub purpose: Option<String>,
    /// Only mails queued at this time or later, in milliseconds.
    pub since: i64,
}

impl Mails {
    /// Mails, newest first, a page at a time.
    pub async fn log(&self, filter: &LogFilter, paging: &Paging) -> Result<Page<Logged>> {
        let base = &self.0.base;
        let of = (&filter.status, &filter.to, &filter.purpose, filter.since);
        let list = base.list(ListName::Mails).of(of);
        let read = async |before, limit| sql::list(base.db(), before, limit, filter).await;
        let page = Page::newest_first(list, paging, read, |mail: &Logged| mail.id).await?;
        page.counted(paging, async || sql::count(base.db(), filter).await).await
    }

    /// How the database would read the first page: the lines of the engine's plan.
    pub async fn plan(&self, filter: &LogFilter) -> Result<Vec<String>> {
        sql::plan(self.0.base.db(), filter).await
    }

    /// One mail with its attempts.
    pub async fn detail(&self, id: MailId) -> Result<LoggedDetail> {
        let db = self.0.base.db();
        let found: Option<LoggedDetail> = db.optional(sql::GET, args![id]).await?;
        let mut detail = found.ok_or_else(|| no_mail(id))?;
        detail.attempts = db.all(sql::ATTEMPTS, args![id]).await?;
        Ok(detail)
    }

    /// A test mail as the change that claims it sees it.
    pub async fn claimed_detail(&self, change: &mut Change, id: MailId) -> Result<LoggedDetail> {
        change.one(sql::GET, args![id]).await
    }

    /// Makes mails due at once: failed mails, whose tries begin again, and waiting mails. Changes
    /// all of them or none.
    ///
    /// # Errors
    /// `not_found` for an unknown id; `conflict` for a mail that was sent, is being sent
    /// or was dropped.
    pub async fn retry(&self, change: &mut Change, ids: &[MailId]) -> Result<()> {
        // Lock before any row, as every postman does.
        change.lock(CLAIMS).await?;
        for id in ids {
            let found: Option<(String,)> = change.optional(sql::STATUS, args![*id]).await?;
            let Some((status,)) = found else { return Err(no_mail(*id)) };
            if change.run(sql::AGAIN, args![*id, change.now()]).await? == 0 {
                let why = match status.as_str() {
                    "sent" => "was sent",
                    "sending" => "is being sent",
                    _ => {
                        "was dropped: an automatic reply to an address of a role or a program, to \
                         this site itself, or beyond mail.auto_reply_per_day"
                    }
                };
                let detail = format!("Mail {id} {why}. Nothing was changed.");
                return Err(Error::new(Code::Conflict, detail));
            }
            let id = id.to_string();
            let entry = AuditEntry { action: "retry", table: "mail", id: &id, columns: &[] };
            change.audit(entry).await?;
        }
        Ok(())
    }

    /// The providers in the order in which they are tried.
    pub async fn providers(&self) -> Result<Vec<ProviderState>> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        let health = outbox::health(base.db()).await?;
        let reasons = sql::reasons(base.db()).await?;
        let states = (1..).zip(&self.0.chain).map(|(place, provider)| {
            let known: Health = health.get(provider.name).cloned().unwrap_or_default();
            let admission = known.admission(now);
            let rests = admission == Admission::Rests;
            let state = match admission {
                Admission::Ready => "ready",
                Admission::Probe => "probing",
                Admission::Rests => "resting",
            };
            ProviderState {
                name: provider.name.to_owned(),
                place,
                kind: provider.kind.clone(),
                server: provider.server.clone(),
                state: state.to_owned(),
                faults: known.faults,
                rests_until: rests.then(|| crate::rfc3339(known.rests_until)),
                reason: reasons.get(provider.name).cloned().flatten(),
            }
        });
        Ok(states.collect())
    }

    /// The sender of all mails: `mail.from`.
    #[must_use]
    pub fn sender(&self) -> Option<&str> {
        self.0.sender.as_ref().map(|sender| sender.address.as_str())
    }
}

fn no_mail(id: MailId) -> Error {
    Error::new(Code::NotFound, format!("There is no mail with id {id}."))
}
