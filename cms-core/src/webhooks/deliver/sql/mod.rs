//! The statements of the queue: for one job, and for sixteen at once.

pub(in crate::webhooks) mod expire;
pub(in crate::webhooks) mod groups;
pub(in crate::webhooks) mod queue;
