//! Requests that the service sends itself: only to allowed addresses, over TLS, with a deadline.

mod address;
mod client;
mod guard;

pub use address::AddressRule;
pub(crate) use client::{Attempt, HttpClient};
pub(crate) use guard::Refused;
