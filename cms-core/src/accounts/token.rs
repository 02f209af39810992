//! Tokens that a login issues: 256 random bits. Only their SHA-256 is stored.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use zeroize::Zeroizing;

use crate::{Random, Result, ground::crypto};

/// A bearer secret. `Debug` hides it.
pub struct Token(Zeroizing<String>);

impl Token {
    /// `<key_prefix>_<kind>1_<43 characters>`: scanners for leaked secrets recognise this form.
    pub(super) fn new(key_prefix: &str, kind: char, random: &Random) -> Result<Self> {
        let secret = Zeroizing::new(random.bytes::<32>()?);
        Ok(Self(format!("{key_prefix}_{kind}1_{}", BASE64URL_NOPAD.encode(&*secret)).into()))
    }

    /// Wraps the text that a caller sent.
    pub(super) fn sent(text: &str) -> Self {
        Self(text.to_owned().into())
    }

    /// The token itself, to give it to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The stored digest: SHA-256 in hex.
    pub(super) fn hash(&self) -> String {
        crypto::sha256_hex(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}
