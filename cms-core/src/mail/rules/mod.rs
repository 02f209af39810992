//! What an attempt means for its mail and for its provider. Pure.

pub(super) mod breaker;
pub(super) mod local;
pub(super) mod outcome;
