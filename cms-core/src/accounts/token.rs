//! What a login gives out: 256 random bits, of which only the SHA-256 is kept.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use zeroize::Zeroizing;

use crate::{Random, Result, ground::crypto};

/// A bearer secret. `Debug` hides it.
pub struct Token(Zeroizing<String>);

impl Token {
    /// `<key_prefix>_<kind>1_<43 characters>`: scanners for leaked secrets can tell what they
    /// found.
    pub(super) fn new(key_prefix: &str, kind: char, random: &Random) -> Result<Self> {
        let secret = Zeroizing::new(random.bytes::<32>()?);
        Ok(Self(format!("{key_prefix}_{kind}1_{}", BASE64URL_NOPAD.encode(&*secret)).into()))
    }

    /// What somebody sent.
    pub(super) fn sent(text: &str) -> Self {
        Self(text.to_owned().into())
    }

    /// The value itself, to hand it to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored and looked up: SHA-256 in hex.
    pub(super) fn hash(&self) -> String {
        crypto::sha256_hex(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}
