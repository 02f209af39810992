//! The ground floor: clock, randomness, cryptography, errors, secrets, pages of lists.

pub(crate) mod address;
pub(crate) mod clock;
pub(crate) mod condition;
pub mod crypto;
pub(crate) mod cursor;
mod descriptors;
pub(crate) mod error;
pub(crate) mod filter;
pub(crate) mod html;
mod network;
mod outdated;
pub(crate) mod paging;
pub mod plain;
pub(crate) mod private;
pub(crate) mod random;
mod secret;
mod suggest;
mod vault;

pub use address::Address;
pub use clock::{Clock, Millis, parse_rfc3339, rfc3339};
pub use cursor::Cursors;
pub use descriptors::Descriptors;
pub use error::{Code, Error, FieldError, Result};
pub use network::network;
pub use paging::{DEFAULT_LIMIT, Direction, MAX_LIMIT, Page, Paging};
pub(crate) use paging::{List, ListName};
pub use random::Random;
pub use secret::Secret;
pub(crate) use suggest::nearest;
pub use vault::Vault;
