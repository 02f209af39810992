//! The statements of the queue: for one job, and for many at once.

pub(crate) mod batch;
pub(in crate::webhooks) mod expire;
pub(in crate::webhooks) mod queue;
