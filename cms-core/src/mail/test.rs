//! A mail that an administrator sends to see whether mail works.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::RwLock;

use super::{
    CLAIMS, Mail, MailAddress, Mails, Subject, escape_html,
    outbox::{CLAIM_ONE, LEASE_MS, Outgoing},
    postman::LONGEST_END,
    round::{Round, Route, round, settle},
    rules::Verdict,
};
use crate::{Actor, AuditEntry, Change, Code, Error, Result, db::args};

/// Test mails under way: each holds a read lock until it is settled.
#[derive(Default)]
pub(super) struct UnderWay {
    lock: Arc<RwLock<()>>,
    /// Set when the site closes: test mails then try no further provider.
    ends: AtomicBool,
}

/// A test mail that this process has claimed: [`Mails::begin`] sends it.
#[derive(Debug)]
pub struct ClaimedTest(Outgoing);

impl ClaimedTest {
    /// The mail's id.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.0.id
    }
}

impl Mails {
    /// Queues a test mail and claims it, for the whole chain or for one provider. The mail is
    /// tried once, even while providers rest.
    ///
    /// # Errors
    /// `validation_failed` for a provider that is not in the chain; `conflict` when no mail can be
    /// sent, with the setting that is missing.
    pub async fn claim_test(
        &self,
        change: &mut Change,
        to: MailAddress,
        provider: Option<&str>,
    ) -> Result<ClaimedTest> {
        let missing = match (&self.0.sender, self.0.chain.is_empty()) {
            (None, _) => Some("mail.from"),
            (_, true) => Some("mail.smtp_url or another provider"),
            _ => None,
        };
        if let Some(setting) = missing {
            let why = format!("No mail can be sent: set {setting}. Nothing was changed.");
            return Err(Error::new(Code::Conflict, why));
        }
        let names: Vec<_> = self.0.names().collect();
        if provider.is_some_and(|name| !names.contains(&name)) {
            let why = format!("a provider of the chain is expected: {}", names.join(", "));
            return Err(Error::invalid_field("provider", "unknown", why));
        }
        let product = &self.0.base.settings().product;
        let subject = Subject::of(&format!("Test mail from {product}"));
        let text = format!("This is a test mail from {product}.\n\nIt arrived, so mail works.\n");
        let html = format!("<p>{}</p>\n", escape_html(text.trim_end()));
        let mail = Mail { html: Some(html), ..Mail::new("test", to, subject, text) };
        let id = self.queue(change, &mail).await?;
        let text = id.to_string();
        let entry = AuditEntry { action: "test", table: "mail", id: &text, columns: &[] };
        change.audit(entry).await?;
        let until = change.now() + LEASE_MS;
        let args = args![id, until, provider.map(str::to_owned)];
        change.one(CLAIM_ONE, args).await.map(ClaimedTest)
    }

    /// Sends a claimed mail and settles it, even when the returned future is dropped.
    pub fn begin(&self, claimed: ClaimedTest) -> impl Future<Output = ()> + Send + use<> {
        let mails = self.clone();
        // None while the site closes: the close does not wait for this mail.
        let counted = mails.0.tests.lock.clone().try_read_owned().ok();
        let running = tokio::spawn(async move {
            let (site, _counted) = (&mails.0, counted);
            let route = Route { places: (0..site.chain.len()).collect(), ..Route::default() };
            let mut ended = round(site, claimed.0, route, &site.tests.ends).await;
            // A test mail is tried once.
            if ended.verdict != Verdict::Sent {
                ended.verdict = Verdict::Failed;
            }
            if let Err(error) = mails.settled(ended).await {
                tracing::warn!(?error, "a test mail was not settled; it fails when its lease ends");
            }
        });
        async move {
            // After a panic the mail fails when its lease ends.
            let _ = running.await;
        }
    }

    /// Waits for test mails under way, so that they are settled. The site closes next.
    pub(crate) async fn close(&self) {
        let tests = &self.0.tests;
        tests.ends.store(true, Ordering::Relaxed);
        if tokio::time::timeout(LONGEST_END, tests.lock.write()).await.is_err() {
            tracing::warn!("a mail server did not answer a test mail before the end");
        }
    }

    async fn settled(&self, ended: Round) -> Result<()> {
        let mut change = self.0.base.change(Actor::System).await?;
        change.lock(CLAIMS).await?;
        let counted = settle(&self.0, &mut change, &[ended]).await?;
        change.commit().await?;
        self.0.counters.note(&counted);
        Ok(())
    }
}
