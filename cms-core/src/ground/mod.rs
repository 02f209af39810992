//! The ground floor: clock, randomness, cryptography, errors, secrets, pages of lists.

pub(crate) mod address;
pub(crate) mod clock;
pub mod crypto;
mod descriptors;
pub(crate) mod effort;
pub(crate) mod error;
pub(crate) mod filter;
pub(crate) mod html;
mod network;
pub(crate) mod paging;
pub mod plain;
pub(crate) mod private;
mod secret;
mod site_ref;
mod suggest;

pub use address::Address;
pub use clock::{Clock, Millis, Random, parse_rfc3339, rfc3339};
pub use descriptors::Descriptors;
pub use error::{Code, Error, FieldError, Result};
pub use network::network;
pub use paging::{Cursors, DEFAULT_LIMIT, Direction, MAX_LIMIT, Page, Paging};
pub(crate) use paging::{List, ListName};
pub use secret::{Secret, Vault};
pub(crate) use site_ref::SiteRef;
pub(crate) use suggest::nearest;

/// The value of a member that is true unless the sender says otherwise.
pub(crate) const fn yes() -> bool {
    true
}
