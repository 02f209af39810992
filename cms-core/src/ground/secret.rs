//! Secrets: texts that must not appear in logs by accident, and encryption at rest of values that
//! must be read back.

use std::fmt;

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroizing;

use super::{Code, Error, Random, Result, crypto::sha256_hex};

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

/// Encryption at rest: XChaCha20-Poly1305 with a random nonce. The context of a value is its
/// associated data, so a value cannot be moved elsewhere.
///
/// A stored value is `v1.<key id>.<base64url of nonce and ciphertext>`. The key id names the key,
/// so keys can be replaced while old values stay readable.
#[derive(Clone)]
pub struct Vault {
    keys: Vec<(String, XChaCha20Poly1305)>,
    random: Random,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vault({} keys)", self.keys.len())
    }
}

impl Vault {
    /// Makes a vault from base64 keys of 32 bytes: the first encrypts, all decrypt. Without keys
    /// [`Vault::seal`] refuses.
    ///
    /// # Errors
    /// `validation_failed` when a key is not the base64 of 32 bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a Secret>, random: Random) -> Result<Self> {
        let mut opened = Vec::new();
        for key in keys {
            let bytes = BASE64.decode(key.expose().trim().as_bytes()).unwrap_or_default();
            let cipher = XChaCha20Poly1305::new_from_slice(&bytes).map_err(|_| {
                Error::invalid_field(
                    "encryption_key",
                    "format",
                    "base64 of 32 bytes; `cms init` makes one",
                )
            })?;
            opened.push((sha256_hex(&bytes)[..8].to_owned(), cipher));
        }
        Ok(Self { keys: opened, random })
    }

    /// A new random key for `encryption_key`.
    pub fn new_key(random: &Random) -> Result<String> {
        Ok(BASE64.encode(&random.bytes::<32>()?))
    }

    /// Encrypts `plain` for `context`, such as `blog.password`. [`Vault::open`] needs the same
    /// context.
    ///
    /// # Errors
    /// `unavailable` without an encryption key.
    pub fn seal(&self, context: &str, plain: &[u8]) -> Result<String> {
        let Some((id, cipher)) = self.keys.first() else {
            return Err(Error::new(
                Code::Unavailable,
                "No encryption_key is configured, so secrets cannot be stored: put cms.local.toml \
                 back from a backup; a new site gets one by `cms init`.",
            ));
        };
        let nonce = self.random.bytes::<24>()?;
        let payload = Payload { msg: plain, aad: context.as_bytes() };
        let sealed = cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| Error::internal("encryption failed"))?;
        Ok(format!("v1.{id}.{}", BASE64URL_NOPAD.encode(&[&nonce[..], &sealed].concat())))
    }

    /// Whether a text looks like one that [`Vault::seal`] made.
    #[must_use]
    pub fn is_sealed(text: &str) -> bool {
        text.starts_with("v1.")
    }

    /// Decrypts a value that [`Vault::seal`] encrypted for the same `context`.
    ///
    /// # Errors
    /// `internal_error` when the key is missing, the context differs or the value was altered.
    pub fn open(&self, context: &str, stored: &str) -> Result<Vec<u8>> {
        let broken = || {
            let why = match self.keys.is_empty() {
                true => "no encryption_key is set: put cms.local.toml back from a backup",
                false => "the key changed or the value was altered",
            };
            Error::internal(format!("a value sealed for {context} cannot be opened: {why}"))
        };
        let mut parts = stored.splitn(3, '.');
        let (Some("v1"), Some(id), Some(body)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(broken());
        };
        let (_, cipher) = self.keys.iter().find(|(known, _)| known == id).ok_or_else(broken)?;
        let bytes = BASE64URL_NOPAD.decode(body.as_bytes()).map_err(|_| broken())?;
        let (nonce, sealed) = bytes.split_first_chunk::<24>().ok_or_else(broken)?;
        cipher
            .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: context.as_bytes() })
            .map_err(|_| broken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::sha256;

    fn vault(keys: &[&str]) -> Vault {
        let keys: Vec<_> =
            keys.iter().map(|k| Secret::new(BASE64.encode(&sha256(k.as_bytes())))).collect();
        Vault::new(&keys, Random::seeded(1)).expect("keys")
    }

    #[test]
    fn a_value_opens_only_in_its_context_and_with_its_key() {
        let sealed = vault(&["a"]).seal("blog.pin", b"1234").expect("sealed");
        assert_eq!(vault(&["a"]).open("blog.pin", &sealed).expect("opened"), b"1234");
        assert_eq!(vault(&["b", "a"]).open("blog.pin", &sealed).expect("old key"), b"1234");
        for (vault, context) in
            [(vault(&["a"]), "blog.pot"), (vault(&["b"]), "blog.pin"), (vault(&[]), "blog.pin")]
        {
            assert!(vault.open(context, &sealed).is_err());
        }
        assert!(vault(&["a"]).open("blog.pin", &format!("{sealed}A")).is_err());
        assert!(vault(&[]).seal("blog.pin", b"1").is_err());
        for (keys, said) in [(vec![], "no encryption_key is set"), (vec!["b"], "the key changed")] {
            let error = vault(&keys).open("blog.pin", &sealed).expect_err("another key");
            assert!(format!("{error:?}").contains(said), "{error:?}");
        }
    }
}
