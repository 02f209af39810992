//! Mail: queued in the change that causes it, sent at least once through a chain of providers.
//!
//! ```text
//! address    addresses and the sender      message  a mail as a room queues it
//! queue      the row, automatic replies    outbox   mails as the postman sees them
//! postman    claims mails (lease)          round    a route through the chain → settle (fenced)
//! log        mails as the API shows them   test     a mail to see whether mail works
//! providers  attempts over HTTP and SMTP   rules    outcomes, verdicts, the breaker (pure)
//! ```

mod address;
mod log;
mod message;
mod outbox;
mod postman;
mod providers;
mod queue;
mod round;
mod rules;
mod test;

use std::sync::Arc;

pub use self::{
    address::MailAddress,
    log::{LogFilter, Logged, LoggedAttempt, LoggedDetail, ProviderState},
    message::{MAX_MAIL_BYTES, Mail, Subject, escape_html, shortened},
    postman::Postman,
    test::ClaimedTest,
};
use self::{address::Sender, providers::Provider};
use crate::{
    Actor, Code, Error, Millis, Result,
    base::Base,
    db::{Lock, Statement},
    jobs,
};

/// Held while mails are claimed or settled.
const CLAIMS: Lock = Lock::new(5);

/// The id of a mail in the outbox.
pub type MailId = i64;

/// The mail room of a site: `cms.mail()`.
#[derive(Clone)]
pub struct Mails(Arc<Inner>);

struct Inner {
    base: Base,
    /// `mail.from`.
    sender: Option<Sender>,
    /// The host of `site_url`.
    site_host: Option<String>,
    /// The providers in the order in which they are tried.
    chain: Vec<Provider>,
    counters: jobs::Counters,
    /// The number of waiting mails, and when the first of them was due.
    waiting: jobs::CachedFigure<(i64, Option<i64>)>,
    tests: test::UnderWay,
}

impl Inner {
    /// Whether a sender and a provider are set.
    fn can_send(&self) -> bool {
        self.sender.is_some() && !self.chain.is_empty()
    }

    /// The names of the chain.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.chain.iter().map(|provider| provider.name)
    }

    /// The longest time that an attempt may take up to its last reply, in milliseconds.
    fn longest_ms(&self) -> Millis {
        Millis::try_from(self.base.settings().mail.timeout_s * 1000).unwrap_or(Millis::MAX)
    }
}

impl Mails {
    pub(crate) fn new(base: &Base) -> Result<Self> {
        let settings = base.settings();
        let sender = settings.mail.from.as_deref().map(Sender::of).transpose();
        let sender = sender.map_err(|why| {
            Error::new(Code::ValidationFailed, format!("mail.from is no address: {why}"))
        })?;
        let host = settings.site_url.as_deref().and_then(|url| url::Url::parse(url).ok());
        let site_host = host.and_then(|url| url.domain().map(str::to_owned));
        let chain = providers::chain(&settings.mail)?;
        Ok(Self(Arc::new(Inner {
            base: base.clone(),
            sender,
            site_host,
            chain,
            counters: jobs::Counters::default(),
            waiting: jobs::CachedFigure::default(),
            tests: test::UnderWay::default(),
        })))
    }

    /// Whether a sender and a provider are set: without them mails wait.
    #[must_use]
    pub fn can_send(&self) -> bool {
        self.0.can_send()
    }

    /// How the database would look for due mails at `now` and claim them: the lines of the
    /// engine's plans.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub async fn postman_plans(&self, now: Millis) -> Result<[Vec<String>; 2]> {
        outbox::plans(self.0.base.db(), now).await
    }

    /// Gives up mails that have waited for `retention.mails_days`. Removes mails that were settled
    /// that long ago, with their attempts, and the reply counts of past days. Returns the number
    /// of removed rows.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        let horizon = jobs::days_before(now, base.settings().retention.mails_days);
        let mut change = base.change(Actor::System).await?;
        change.lock(CLAIMS).await?;
        let given_up = outbox::give_up(&mut change, horizon).await?;
        change.commit().await?;
        if given_up > 0 {
            tracing::warn!(given_up, "mails waited longer than retention.mails_days");
        }
        let due = [(outbox::EXPIRE, horizon), (outbox::EXPIRE_RATIONS, queue::day(now))];
        jobs::expire(base, &due).await
    }
}

/// The statements of this room.
pub(crate) fn statements() -> [&'static [Statement]; 3] {
    [queue::ALL, outbox::ALL, log::sql::ALL]
}
