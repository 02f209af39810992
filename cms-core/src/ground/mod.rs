//! The ground floor: clock, randomness, cryptography, errors, secrets, pages of lists.

pub(crate) mod clock;
pub mod crypto;
mod descriptors;
pub(crate) mod error;
mod network;
pub(crate) mod paging;
pub(crate) mod random;
mod secret;
mod vault;

pub use clock::{Clock, Millis, parse_rfc3339, rfc3339};
pub use descriptors::Descriptors;
pub use error::{Code, Error, FieldError, Result};
pub use network::network;
pub(crate) use paging::ListName;
pub use paging::{DEFAULT_LIMIT, Direction, MAX_LIMIT, Page, Paging};
pub use random::Random;
pub use secret::Secret;
pub use vault::Vault;
