//! The data of `auth.login`, `auth.logout`, `webhook.failed` and `mail.failed`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::events::Payload;

/// Who logged in or out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LoginData {
    /// The user.
    user: User,
}

/// A backend user.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct User {
    /// The user's id.
    pub(crate) id: i64,
    /// The user's name.
    pub(crate) username: String,
}

impl LoginData {
    pub(crate) fn of(id: i64, username: &str) -> Self {
        Self { user: User { id, username: username.to_owned() } }
    }
}

impl Payload for LoginData {
    fn example() -> Self {
        Self::of(1, "ana")
    }
}

/// A delivery that was given up.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeliveryFailed {
    /// The delivery.
    pub(crate) delivery: FailedDelivery,
}

/// The last attempt of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailedDelivery {
    /// The job's id.
    pub(crate) job: i64,
    /// The subscription's id.
    pub(crate) subscription: i64,
    /// The event's name.
    pub(crate) event: String,
    /// The event's id, which receivers get as `webhook-id`.
    pub(crate) event_id: String,
    /// How many attempts were made.
    pub(crate) attempts: i64,
    /// Why the last one failed.
    pub(crate) error: String,
}

impl Payload for DeliveryFailed {
    fn example() -> Self {
        Self {
            delivery: FailedDelivery {
                job: 7,
                subscription: 1,
                event: "form.submitted".to_owned(),
                event_id: "019a4b6e-7c11-7d3a-9a55-0c3c6d1f2e3b".to_owned(),
                attempts: 6,
                error: "answered 500".to_owned(),
            },
        }
    }
}

/// A mail that was given up.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MailFailed {
    /// The mail.
    mail: FailedMail,
}

/// A mail that was given up. Only the log of mails has the reason, because servers repeat the
/// address.
#[derive(Debug, Serialize, JsonSchema)]
struct FailedMail {
    /// The mail's id.
    id: i64,
    /// What it was for, such as `form.notice`.
    purpose: String,
}

impl MailFailed {
    pub(crate) fn of(id: i64, purpose: String) -> Self {
        Self { mail: FailedMail { id, purpose } }
    }
}

impl Payload for MailFailed {
    fn example() -> Self {
        Self::of(7, "form.notice".to_owned())
    }
}
