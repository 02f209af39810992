//! The log of attempts, the queue, recorded events and the feed that follows them, and a preview
//! of what an event would send.

pub(super) mod deliveries;
pub(super) mod explain;
pub(super) mod feed;
pub(super) mod messages;
