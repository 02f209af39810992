//! A text that must not appear in logs by accident.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroizing;

/// A secret text. Prints as `***`; its memory is wiped on drop.
///
/// ```
/// use cms_core::Secret;
/// let secret = Secret::new("open sesame");
/// assert_eq!(format!("{secret} {secret:?}"), "*** ***");
/// assert_eq!(secret.expose(), "open sesame");
/// ```
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(inline)]
pub struct Secret(#[schemars(with = "String")] Zeroizing<String>);

impl Secret {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself. Every call is a place to check when a secret leaks.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Serializes the text itself: for bodies that a client sends.
    ///
    /// # Errors
    /// As the serializer.
    pub fn send<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }

    /// As [`Secret::send`], for members that may be absent.
    ///
    /// # Errors
    /// As the serializer.
    pub fn send_maybe<S: Serializer>(
        secret: &Option<Self>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(Self::expose).serialize(serializer)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
