//! What was sent and what waits, for people; and what an event would cause.

pub(super) mod deliveries;
pub(super) mod explain;
pub(super) mod messages;
