//! The rules of webhooks, all pure: retries, breaker, matching, headers, signatures.

pub(super) mod breaker;
pub(super) mod headers;
pub(super) mod matching;
pub(super) mod retry;
pub(super) mod sign;
pub(super) mod verify;
