//! Updates: the offers of an update server, verified before any part of them is used.
//!
//! ```text
//! release  the description of a release: its form, its signature, the order of versions; the
//!          highest one that was ever offered, so that a server cannot go back
//! server   asks the update server: bounded, with deadlines, credentials for its own host alone
//! archive  takes the program out of a release's archive
//! ```
//!
//! Nothing here replaces a program; `cms update` does.

mod archive;
mod release;
mod server;

use std::fmt;

pub use archive::{digest, unpack};
pub use release::{HighestOffer, Release, Version, signed_text};
pub use server::{Latest, UpdateServer};

/// The kind of an [`UpdateError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateFault {
    /// A setting, a version or the state of this machine forbids it.
    Refused,
    /// The data from the server is wrong: form, signature, digest, size or archive.
    Invalid,
    /// The server does not answer, or not in time.
    Unreachable,
    /// The server requires other credentials.
    NoRight,
    /// The server has no such file.
    NotFound,
    /// A file of this machine cannot be read or written.
    Local,
}

/// Why an update is not made, in one sentence.
#[derive(Debug)]
pub struct UpdateError {
    fault: UpdateFault,
    what: String,
}

impl UpdateError {
    fn new(fault: UpdateFault, what: impl Into<String>) -> Self {
        Self { fault, what: what.into() }
    }

    fn invalid(what: impl Into<String>) -> Self {
        Self::new(UpdateFault::Invalid, what)
    }

    /// Its kind.
    #[must_use]
    pub fn fault(&self) -> UpdateFault {
        self.fault
    }
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for UpdateError {}
