//! Faults of settings. Each message is one sentence: the fault, its place, and the remedy.

use std::{
    io::{self, ErrorKind},
    path::PathBuf,
};

use super::ValueOrigin;

/// Why settings were refused. The message is one sentence for the author of the settings and
/// contains no secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A file exists but cannot be read.
    #[error(
        "{} cannot be read ({source}){}",
        path.display(),
        of_file(source).map(|remedy| format!("; {remedy}")).unwrap_or_default()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// A file is not TOML.
    #[error("{origin}: not valid TOML: {message}")]
    Syntax {
        /// File and line.
        origin: ValueOrigin,
        /// The message of the parser.
        message: String,
    },
    /// A key that is not a setting.
    #[error("{origin}: unknown key `{key}`; {hint}")]
    UnknownKey {
        /// Where the key stands.
        origin: ValueOrigin,
        /// The key as written.
        key: String,
        /// The key that was probably meant, or where all keys are listed.
        hint: String,
    },
    /// A value that cannot be used.
    #[error(
        "{}`{key}` {rule}",
        origin.as_ref().map(|origin| format!("{origin}: ")).unwrap_or_default()
    )]
    Invalid {
        /// The dotted key.
        key: String,
        /// Where the value came from; None for settings made by code.
        origin: Option<ValueOrigin>,
        /// The expected value: `must ...`.
        rule: String,
    },
}

impl SettingsError {
    /// Whether a flag of the command line is at fault.
    #[must_use]
    pub fn is_of_flag(&self) -> bool {
        let origin = match self {
            Self::Unreadable { .. } => None,
            Self::Syntax { origin, .. } | Self::UnknownKey { origin, .. } => Some(origin),
            Self::Invalid { origin, .. } => origin.as_ref(),
        };
        matches!(origin, Some(ValueOrigin::Flag(_)))
    }

    /// The remedy when no setting is at fault.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { source, .. } => {
                Some(of_file(source).unwrap_or("mend the file or its disk"))
            }
            _ => None,
        }
    }

    pub(super) fn invalid(key: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Invalid { key: key.into(), origin: None, rule: rule.into() }
    }

    /// Adds the origin of the value.
    pub(super) fn at(self, find: impl FnOnce(&str) -> Option<ValueOrigin>) -> Self {
        match self {
            Self::Invalid { key, rule, .. } => Self::Invalid { origin: find(&key), key, rule },
            other => other,
        }
    }
}

/// The remedy for a file that cannot be read; `None`: only the system's message explains it.
fn of_file(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::PermissionDenied => Some("give this user the right to read it"),
        ErrorKind::InvalidData => Some("save it as UTF-8"),
        ErrorKind::IsADirectory => Some("put a file in the place of this folder"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_its_own_remedy() {
        for (kind, end) in [
            (ErrorKind::PermissionDenied, "; give this user the right to read it"),
            (ErrorKind::InvalidData, "; save it as UTF-8"),
            (ErrorKind::IsADirectory, "; put a file in the place of this folder"),
            (ErrorKind::Other, ")"),
        ] {
            let error = SettingsError::Unreadable { path: "cms.toml".into(), source: kind.into() };
            assert!(error.to_string().ends_with(end), "{error}");
            assert!(error.remedy().is_some_and(|remedy| !remedy.contains("setting")), "{error}");
        }
    }
}
