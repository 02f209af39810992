//! The rules of webhooks, all pure: retries, breaker, matching, headers, signatures.

pub(super) mod form;
pub(super) mod retry;
pub(super) mod sign;
pub(super) mod verify;
