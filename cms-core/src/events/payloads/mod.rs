//! The types of what events tell. Receivers read their schemas: a member may be added, none may
//! change its meaning or go. No name of a member may contain a word of the payload filter.

mod answer;
mod deployment;
mod failed;
mod form;
mod id;
mod inbox;
mod item;
mod login;
mod media;
mod order;
mod page;
mod registered;
mod subscribed;
mod visit;

pub(crate) use self::{
    answer::AnswerData,
    failed::{DeliveryFailed, FailedDelivery, MailFailed},
    form::{AnsweredForm, FormData, FormSubmission},
    inbox::{InboxSubmission, SubmissionDeleted, SubmissionUpdated},
    item::ItemData,
    login::LoginData,
    media::MediaData,
    page::{Page, PageData, PageTakenOff},
    visit::{FunnelData, PassedNode, VisitData, VisitSubmission},
};
pub use self::{
    deployment::{Deployment, DeploymentCompleted, DeploymentStatus},
    id::Id,
    media::MediaFile,
    order::{Order, OrderCreated, OrderItem},
    registered::{RegisteredUser, UserRegistered},
    subscribed::{EmailmarketingSubscribed, Subscriber},
};
