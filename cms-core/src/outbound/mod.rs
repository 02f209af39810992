//! Requests that the service itself sends: to allowed addresses only, with verified certificates
//! and a deadline.

mod address;
mod client;
mod dial;
mod guard;
mod local;
mod tls;

pub use address::AddressRule;
pub(crate) use client::{Attempt, HttpClient};
pub(crate) use dial::{Undialled, dial};
pub(crate) use guard::Refused;
pub(crate) use tls::{in_words, public_roots, tls};
