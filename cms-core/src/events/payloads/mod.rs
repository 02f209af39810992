//! The types of the data of events. Receivers read their schemas: members may be added, but none
//! may go or change its meaning. No name of a member may contain a word of the payload filter.

mod content;
mod embedding;
mod service;
mod submissions;

pub use self::{
    content::MediaFile,
    embedding::{
        Deployment, DeploymentCompleted, DeploymentStatus, EmailmarketingSubscribed, Id, Order,
        OrderCreated, OrderItem, RegisteredUser, Subscriber, UserRegistered,
    },
};
pub(crate) use self::{
    content::{ItemData, MediaData, Page, PageData, PageTakenOff},
    service::{DeliveryFailed, FailedDelivery, LoginData, MailFailed},
    submissions::{
        AnswerData, AnsweredForm, FormData, FormSubmission, FunnelData, InboxSubmission,
        PassedNode, SubmissionDeleted, SubmissionUpdated, VisitData, VisitSubmission,
    },
};
