//! The log of attempts, the queue, recorded events and who follows them, and what an event would
//! send.

pub(super) mod deliveries;
pub(super) mod explain;
pub(super) mod feed;
pub(super) mod messages;
