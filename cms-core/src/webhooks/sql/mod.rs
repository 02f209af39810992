//! The statements of webhooks, and the functions that run them.

pub(crate) mod deliveries;
pub(crate) mod enqueue;
pub(crate) mod events;
pub(crate) mod messages;
pub(crate) mod queue;
pub(crate) mod subscriptions;
