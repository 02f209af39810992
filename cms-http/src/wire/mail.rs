//! `/api/backend/mail`: mails, their attempts, the providers.

use cms_core::mail::{Logged, LoggedDetail, ProviderState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Body, Data, NoBody, OneOrPage, Page, operations,
    parameters::{Limit, Moment, NoQuery, paged},
};

operations! {
    /// The providers in the order in which they are tried, and how they do.
    Providers: NoQuery, NoBody => Page<ProviderState>;
    /// One mail with its bodies and attempts, or a page of mails, newest first.
    Log: WhichMails, NoBody => OneOrPage<Logged, LoggedDetail>;
    /// Sends a test mail now. The reply is the mail as it is after 20 seconds at the latest.
    Test: NoQuery, TestMail => Data<LoggedDetail>;
    /// Sends mails again that were given up, and mails that wait now.
    Retry: NoQuery, MailIds => Data<Requeued>;
}

impl Body for TestMail {}
impl Body for MailIds {}

paged! {
    /// Which mails.
    pub struct WhichMails {
        /// The one to show.
        pub id: Option<i64>,
        /// Only those of this status: `queued`, `sending`, `sent`, `failed`, `dropped`.
        pub status: Option<MailStatus>,
        /// Only those to this address.
        #[schemars(example = &"ana@example.org")]
        pub to: Option<String>,
        /// Only those of this purpose, such as `form.notice`.
        #[schemars(regex(pattern = r"^[a-z0-9._-]{0,64}$"))]
        pub purpose: Option<String>,
        /// Not before.
        pub since: Option<Moment>,
    }
}

/// The state of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MailStatus {
    /// It waits for its next attempt.
    Queued,
    /// A process sends it.
    Sending,
    /// A provider took it over.
    Sent,
    /// It was given up, or refused for good.
    Failed,
    /// An automatic reply that may not be sent.
    Dropped,
}

impl MailStatus {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

/// A test mail.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = serde_json::json!({"to": "ana@example.org"}))]
pub struct TestMail {
    /// Who gets it.
    pub to: String,
    /// Only through this provider: `transactional`, `newsletter` or `smtp`.
    #[serde(default)]
    pub provider: Option<String>,
}

/// Mails by their ids.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = serde_json::json!({"ids": [1]}))]
pub struct MailIds {
    /// 1 to 500 ids.
    #[schemars(length(min = 1, max = 500))]
    pub ids: Vec<i64>,
}

/// How many mails are due now.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Requeued {
    /// Mails.
    pub queued: u64,
}
