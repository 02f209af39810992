//! Updates: what an update server offers, judged before anything of it is used.
//!
//! ```text
//! release  the description of a release: its form, its signature, the order of versions
//! seen     the highest version that was ever offered, so that a server cannot go back
//! server   asks the update server: bounded, with deadlines, credentials for its own host alone
//! archive  takes the program out of a release's archive
//! error    why an update is not made
//! ```
//!
//! Nothing here replaces a program: `cms update` does.

mod archive;
mod error;
mod release;
mod seen;
mod server;

pub use archive::{digest, unpack};
pub use error::{UpdateError, UpdateFault};
pub use release::{Release, Version, signed_text};
pub use seen::Seen;
pub use server::{Latest, UpdateServer};
