//! Statements of the outbox: those who queue, the sender.

pub(super) mod outbox;
pub(super) mod queue;
