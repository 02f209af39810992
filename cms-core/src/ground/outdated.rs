//! A database whose schema is not the one that this version and its plugins need.

use super::{Code, Error};

/// What is missing or different, as the cause of an [`Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Outdated(String);

impl Error {
    /// `unavailable`, because `what` has to be applied to the database first.
    pub(crate) fn outdated(what: impl Into<String>) -> Self {
        let how = "The database is not up to date: run `cms migrate up`.";
        Self::new(Code::Unavailable, how).caused_by(Outdated(what.into()))
    }

    /// `unavailable`, because the database has a schema that this version does not know.
    pub(crate) fn other_schema(why: impl Into<String>) -> Self {
        let how = "The database has another schema than this version of cms needs.";
        Self::new(Code::Unavailable, how).caused_by(Outdated(why.into()))
    }

    /// Whether the schema of the database is not the one that this version and its plugins need.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        std::error::Error::source(self).is_some_and(|cause| cause.is::<Outdated>())
    }
}
