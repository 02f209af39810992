//! What can be wrong with settings: one sentence that says what, where and how to mend it.

use std::{io, path::PathBuf};

use super::Origin;

/// Why settings were refused. The display is one sentence for the person who wrote them; it holds
/// no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A file exists but cannot be read.
    #[error("{} cannot be read ({source}); give this user the right to read it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not TOML.
    #[error("{origin}: not valid TOML: {message}")]
    Syntax {
        /// File and line.
        origin: Origin,
        /// What the parser says.
        message: String,
    },
    /// A key that no setting has.
    #[error("{origin}: unknown key `{key}`; {hint}")]
    UnknownKey {
        /// Where it stands.
        origin: Origin,
        /// The key as written.
        key: String,
        /// What was probably meant, or where all keys are listed.
        hint: String,
    },
    /// A value that cannot be used.
    #[error("{}`{key}` {rule}", origin.as_ref().map(|origin| format!("{origin}: ")).unwrap_or_default())]
    Invalid {
        /// The dotted key.
        key: String,
        /// Where the value was given; none when the settings were made by code.
        origin: Option<Origin>,
        /// What is expected: `must ...`.
        rule: String,
    },
}

impl SettingsError {
    pub(super) fn invalid(key: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Invalid { key: key.into(), origin: None, rule: rule.into() }
    }

    /// Adds where the value was given.
    pub(super) fn at(self, find: impl FnOnce(&str) -> Option<Origin>) -> Self {
        match self {
            Self::Invalid { key, rule, .. } => Self::Invalid { origin: find(&key), key, rule },
            other => other,
        }
    }
}
