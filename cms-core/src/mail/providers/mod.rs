//! The chain of providers: who sends mails, and in which order.
//!
//! ```text
//! kinds  requests and replies of providers with an HTTP API, by their make
//! http   an attempt over HTTP
//! smtp   an attempt over SMTP: address, stream, mime
//! ```

mod http;
mod kinds;
mod smtp;

use std::time::Duration;

use self::{http::Http, smtp::Smtp};
use super::{
    address::Sender,
    outbox::{Attempt, Outgoing},
    rules::Outcome,
};
use crate::{Code, Error, Result, settings};

/// Maximum characters of a reason that are kept.
const MOST_REASON: usize = 500;

/// A provider of the chain.
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// Its make: `postmark`, `smtp` ...
    pub(super) kind: String,
    /// The server, without user and password.
    pub(super) server: String,
    make: Make,
}

enum Make {
    Http(Http),
    Smtp(Box<Smtp>),
}

/// The end of an attempt over HTTP or SMTP.
pub(super) struct End {
    outcome: Outcome,
    reason: Option<String>,
    provider_id: Option<String>,
    is_suspect: bool,
}

impl End {
    fn sent(provider_id: Option<String>) -> Self {
        Self { outcome: Outcome::Sent, reason: None, provider_id, is_suspect: false }
    }

    fn because(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: Some(reason.into()), provider_id: None, is_suspect: false }
    }
}

/// The configured providers in the order in which they are tried.
pub(super) fn chain(settings: &settings::MailSettings) -> Result<Vec<Provider>> {
    let configured = settings.providers();
    let names: Vec<_> = match settings.chain.is_empty() {
        true => configured.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect(),
        false => {
            let known = |name: &String| configured.iter().find(|(known, _)| known == name);
            settings.chain.iter().filter_map(known).map(|(name, _)| *name).collect()
        }
    };
    names.into_iter().map(|name| Provider::of(name, settings)).collect()
}

impl Provider {
    fn of(name: &'static str, settings: &settings::MailSettings) -> Result<Self> {
        let timeout = Duration::from_secs(settings.timeout_s);
        let wrong = |why: String| Error::new(Code::ValidationFailed, why);
        let http = |provider: &settings::MailProvider| {
            let http = Http::new(provider, settings.timeout_s);
            http.map_err(|why| wrong(format!("mail.{name}: {why}")))
        };
        let http = match name {
            "transactional" => http(&settings.transactional)?,
            "newsletter" => http(&settings.newsletter)?,
            _ => {
                let smtp = Smtp::new(settings, timeout).map_err(wrong)?;
                let (kind, server) = ("smtp".to_owned(), smtp.server());
                return Ok(Self { name, kind, server, make: Make::Smtp(Box::new(smtp)) });
            }
        };
        Ok(Self {
            name,
            kind: http.kind().to_owned(),
            server: http.server(),
            make: Make::Http(http),
        })
    }

    /// Tries to send a mail, within `mail.timeout_s`.
    pub(super) async fn send(&self, sender: &Sender, mail: &Outgoing) -> Attempt {
        let began = tokio::time::Instant::now();
        let end = match &self.make {
            Make::Http(http) => http.send(sender, mail).await,
            Make::Smtp(smtp) => smtp.send(sender, mail).await,
        };
        let kept = |reason: String| {
            let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = crate::plain::shown(&line).into_owned();
            super::shortened(&line, MOST_REASON).into_owned()
        };
        Attempt {
            provider: self.name,
            outcome: end.outcome,
            reason: end.reason.map(kept),
            provider_id: end.provider_id.map(kept),
            duration_ms: i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX),
            is_suspect: end.is_suspect,
        }
    }
}
