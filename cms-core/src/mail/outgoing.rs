//! A mail as those see it who send it, and an attempt to do so.

use super::rules::outcome::Outcome;
use crate::{Millis, db::record};

/// A mail that this postman owns until its lease ends.
#[derive(Clone, Debug)]
pub(in crate::mail) struct Outgoing {
    pub(in crate::mail) id: i64,
    pub(in crate::mail) lease_token: i64,
    /// Until then nobody else sends it.
    pub(in crate::mail) lease_until: Millis,
    /// Rounds that failed.
    pub(in crate::mail) tries: i64,
    pub(in crate::mail) purpose: String,
    pub(in crate::mail) message_id: String,
    pub(in crate::mail) to: String,
    pub(in crate::mail) reply_to: Option<String>,
    pub(in crate::mail) subject: String,
    pub(in crate::mail) text: String,
    pub(in crate::mail) html: Option<String>,
    pub(in crate::mail) auto_reply: bool,
    /// The only provider that may send it.
    pub(in crate::mail) provider: Option<String>,
    pub(in crate::mail) created_at: Millis,
}

record! { Outgoing: outgoing_columns {
    id: "id",
    lease_token: "lease_token",
    lease_until: "lease_until",
    tries: "tries",
    purpose: "purpose",
    message_id: "message_id",
    to: "recipient",
    reply_to: "reply_to",
    subject: "subject",
    text: "body_text",
    html: "body_html",
    auto_reply: "auto_reply",
    provider: "provider",
    created_at: "created_at",
} }
pub(super) use outgoing_columns;

impl Outgoing {
    /// A plain mail, for tests.
    #[cfg(test)]
    pub(in crate::mail) fn sample() -> Self {
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
    pub(in crate::mail) fn auto_submitted(&self) -> &'static str {
        if self.auto_reply { "auto-replied" } else { "auto-generated" }
    }
}

/// An attempt of one provider.
#[derive(Clone, Debug)]
pub(in crate::mail) struct Attempt {
    pub(in crate::mail) provider: &'static str,
    pub(in crate::mail) outcome: Outcome,
    /// Why it did not succeed, as a sentence.
    pub(in crate::mail) reason: Option<String>,
    /// What the provider calls the mail.
    pub(in crate::mail) provider_id: Option<String>,
    pub(in crate::mail) duration_ms: i64,
    /// A local fault whose cause may be the provider: its name does not resolve, say.
    pub(in crate::mail) is_suspect: bool,
}
