//! Events: their names and the types of their data, what other code may raise, and the outbox that
//! queues their jobs.
//!
//! ```text
//! event     an event of the service: name, type of its data, the schema of that; an event as those
//!           who follow events get it
//! system    all of them
//! payloads  the types of data
//! outside   what plugins and embedding programs may raise
//! conform   data compared with its schema, also bodies for endpoints of plugins
//! filter    members removed from payloads
//! outbox    an event's row and its jobs
//! ```
//!
//! An embedding program raises events with [`Change::raise`](crate::Change::raise), or alone with
//! [`Webhooks::raise`](crate::webhooks::Webhooks::raise).

mod conform;
mod event;
mod filter;
mod outbox;
mod outside;
mod payloads;
mod system;

use serde_json::{Value as Json, json};

pub(crate) use self::{
    conform::{Rules, schema_faults},
    event::{Event, Payload, of_delivery, schema},
    filter::is_removed,
    outbox::{Outbox, family, sql},
    outside::{judge, judge_data},
    payloads::{
        AnswerData, AnsweredForm, DeliveryFailed, FailedDelivery, FormData, FormSubmission,
        FunnelData, InboxSubmission, ItemData, LoginData, MailFailed, MediaData, Page, PageData,
        PageTakenOff, PassedNode, SubmissionDeleted, SubmissionUpdated, VisitData, VisitSubmission,
    },
    system::{
        AUTH_LOGIN, AUTH_LOGOUT, FORM_SUBMITTED, FUNNEL_ABANDONED, FUNNEL_COMPLETED,
        FUNNEL_STARTED, FUNNEL_STEP_COMPLETED, FUNNELS, MAIL_FAILED, MEDIA_DELETED, MEDIA_UPLOADED,
        OWN, PAGE_DRAFT_DISCARDED, PAGE_PUBLISHED, PAGE_TAKEN_OFF, SUBMISSION_DELETED,
        SUBMISSION_UPDATED, SYSTEM, WEBHOOK_FAILED, find_entry, is_reserved,
    },
};
pub use self::{
    event::{EventData, RecordedEvent},
    outside::JudgedEvent,
    payloads::{
        Deployment, DeploymentCompleted, DeploymentStatus, EmailmarketingSubscribed, Id, MediaFile,
        Order, OrderCreated, OrderItem, RegisteredUser, Subscriber, UserRegistered,
    },
};
use crate::ground::{Millis, clock};

/// A change that takes this long moves its events to the time of its end. `cms events tail`, and
/// others that ask for messages `since` a moment, look back only a few seconds. Streams follow
/// rows, not time.
pub(crate) const LATE_AFTER: Millis = 500;

/// The body that deliveries of an event send, and the paths of the members that the payload filter
/// removed.
pub(crate) fn body(id: &str, event: &str, now: Millis, data: Json) -> (String, Vec<String>) {
    let (data, removed) = filter::filter(event, data);
    (body_text(id, event, now, &data), removed)
}

/// The text of a body, its members in the order of the documentation.
pub(crate) fn body_text(id: &str, event: &str, now: Millis, data: &Json) -> String {
    let (id, event, created_at) = (json!(id), json!(event), json!(clock::rfc3339(now)));
    format!(r#"{{"id":{id},"event":{event},"created_at":{created_at},"data":{data}}}"#)
}

/// Whether a text can be an event name. Event names contain names of adopted tables, so almost any
/// text is allowed.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=300).contains(&name.len()) && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_reads_as_documented() {
        let data = json!({"b": [1, {"token": 2}], "a": "\u{1F6B2} \"x\""});
        let (text, removed) = body("7", "a \"b\"", 0, data);
        assert_eq!(
            text,
            "{\"id\":\"7\",\"event\":\"a \\\"b\\\"\",\
             \"created_at\":\"1970-01-01T00:00:00Z\",\
             \"data\":{\"a\":\"\u{1F6B2} \\\"x\\\"\",\"b\":[1,{}]}}"
        );
        assert_eq!(removed, ["b[1].token"]);
    }
}
