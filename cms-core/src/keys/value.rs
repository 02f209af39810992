//! The form of a key: `<prefix>_k1_<28 random characters><6 characters of check sum>`, base62.
//!
//! 28 characters hold 166 random bits. The check sum lets a mistyped key be refused without
//! a query, and lets secret scanners tell a key from noise. The segment `k1` permanently
//! names this form.

use std::fmt;

use crate::{Random, Result, ground::crypto};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS: usize = 28;
const SUM_CHARS: usize = 6;
const SHOWN_CHARS: usize = 6;

/// The full value of an API key, shown once. Only its [`PlainKey::hash`] is stored.
pub struct PlainKey(zeroize::Zeroizing<String>);

impl PlainKey {
    /// A fresh value.
    pub(crate) fn new(key_prefix: &str, random: &Random) -> Result<Self> {
        let mut value = format!("{key_prefix}_k1_");
        let start = value.len();
        while value.len() < start + RANDOM_CHARS {
            // 248 = 4 * 62. Larger bytes would favour some characters.
            let fair = random.bytes::<32>()?.into_iter().filter(|byte| *byte < 248);
            value.extend(
                fair.take(start + RANDOM_CHARS - value.len())
                    .map(|byte| char::from(ALPHABET[usize::from(byte) % 62])),
            );
        }
        let sum = check_sum(&value);
        value.push_str(&sum);
        Ok(Self(value.into()))
    }

    /// Parses a value that a caller sent. None when its form or check sum rules out a key.
    ///
    /// ```
    /// assert!(cms_core::keys::PlainKey::parse("cms_k1_mistyped").is_none());
    /// ```
    #[must_use]
    pub fn parse(sent: &str) -> Option<Self> {
        let (prefix, random) = sent.rsplit_once("_k1_")?;
        let well_formed = (1..=16).contains(&prefix.len())
            && random.len() == RANDOM_CHARS + SUM_CHARS
            && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let (body, sum) = sent.split_at_checked(sent.len().checked_sub(SUM_CHARS)?)?;
        (well_formed && check_sum(body) == sum).then(|| Self(sent.to_owned().into()))
    }

    /// The value itself, to show it to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The stored digest: SHA-256 in hex.
    #[must_use]
    pub fn hash(&self) -> String {
        crypto::sha256_hex(self.0.as_bytes())
    }

    /// The part that lists show: up to the first six random characters.
    #[must_use]
    pub fn prefix(&self) -> String {
        self.0[..self.0.len() - RANDOM_CHARS - SUM_CHARS + SHOWN_CHARS].to_owned()
    }
}

impl fmt::Debug for PlainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainKey(***)")
    }
}

fn check_sum(body: &str) -> String {
    let digest = crypto::sha256(body.as_bytes());
    let mut rest = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    let mut sum = String::with_capacity(SUM_CHARS);
    for _ in 0..SUM_CHARS {
        sum.push(char::from(ALPHABET[(rest % 62) as usize]));
        rest /= 62;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fresh_key_parses_and_shows_its_prefix_only() {
        let key = PlainKey::new("cms", &Random::seeded(7)).expect("key");
        assert_eq!(key.expose().len(), "cms_k1_".len() + 34);
        assert_eq!(PlainKey::parse(key.expose()).expect("parses").hash(), key.hash());
        assert_eq!(key.prefix(), key.expose()[..13]);
        assert_eq!(format!("{key:?}"), "PlainKey(***)");
    }

    proptest! {
        #[test]
        fn no_input_panics_and_a_changed_character_is_noticed(
            text in "\\PC{0,60}",
            at in 0usize..41,
            to in "[0-9A-Za-z]",
        ) {
            let _ = PlainKey::parse(&text);
            let key = PlainKey::new("cms", &Random::seeded(1)).expect("key").expose().to_owned();
            let changed = format!("{}{to}{}", &key[..at], &key[at + 1..]);
            prop_assert_eq!(PlainKey::parse(&changed).is_some(), changed == key);
        }
    }
}
