//! Why an update is not made.

use std::fmt;

/// The kind of an [`UpdateError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateFault {
    /// A setting, a version or the state of this machine forbids it.
    Refused,
    /// What the server sent is not what it must be: form, signature, digest, size, archive.
    Invalid,
    /// The server does not answer, or not in time.
    Unreachable,
    /// The server wants other credentials.
    NoRight,
    /// The server has no such file.
    NotFound,
    /// A file of this machine cannot be read or written.
    Local,
}

/// Why an update is not made, as one sentence.
#[derive(Debug)]
pub struct UpdateError {
    fault: UpdateFault,
    what: String,
}

impl UpdateError {
    pub(super) fn new(fault: UpdateFault, what: impl Into<String>) -> Self {
        Self { fault, what: what.into() }
    }

    pub(super) fn invalid(what: impl Into<String>) -> Self {
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
