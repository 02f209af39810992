//! The statements of the queue: one row at a time, and many at once.

pub(in crate::webhooks) mod expire;
pub(in crate::webhooks) mod groups;
pub(in crate::webhooks) mod queue;
