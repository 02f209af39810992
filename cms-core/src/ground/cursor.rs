//! Cursors: the place where the next page of a list starts, sealed. A client can neither read nor
//! make one, so no condition has to be checked again on what a cursor holds.

use aes_gcm_siv::{
    Aes256GcmSiv, KeyInit, Nonce,
    aead::{Aead, Payload},
};
use data_encoding::BASE64URL_NOPAD;

use super::{Code, Error, Random, Result, crypto::hmac_sha256};

/// Begins every cursor, so that none begins with the `-` of an option on a command line.
const BEGIN: char = 'c';

/// Seals cursors with keys made from the site's secrets: all processes of a site understand each
/// other's cursors, also after a restart.
///
/// A cursor is `c` and the base64url of ciphertext and tag (AES-256-GCM-SIV, RFC 8452). The list is
/// its associated data. The nonce is always the same, so a page keeps its cursor: with this cipher
/// that tells only whether two cursors are equal.
#[derive(Clone)]
pub struct Cursors(Vec<Keys>);

#[derive(Clone)]
struct Keys {
    cipher: Aes256GcmSiv,
    digest: [u8; 32],
}

impl std::fmt::Debug for Cursors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cursors(***)")
    }
}

impl Cursors {
    /// The first secret seals, all open. Without a secret the cursors last as long as this process.
    pub(crate) fn new<'s>(
        secrets: impl IntoIterator<Item = &'s str>,
        random: &Random,
    ) -> Result<Self> {
        let mut keys: Vec<Keys> = secrets.into_iter().map(|one| Keys::of(one.as_bytes())).collect();
        if keys.is_empty() {
            keys.push(Keys::of(&random.bytes::<32>()?));
        }
        Ok(Self(keys))
    }

    /// The cursor of `place` in `list`. The same text must name the list when it is opened.
    ///
    /// # Errors
    /// `internal_error` for a place that is too long to encrypt.
    pub fn seal(&self, list: &str, place: &[u8]) -> Result<String> {
        let Some(keys) = self.0.first() else { return Err(Error::internal("no key for cursors")) };
        let payload = Payload { msg: place, aad: list.as_bytes() };
        let sealed = keys.cipher.encrypt(&Nonce::default(), payload);
        let sealed = sealed.map_err(|_| Error::internal("a cursor cannot be sealed"))?;
        let mut cursor = String::from(BEGIN);
        BASE64URL_NOPAD.encode_append(&sealed, &mut cursor);
        Ok(cursor)
    }

    /// A digest of `text` that nobody makes without the site's secrets: 32 hexadecimal digits.
    pub(crate) fn digest(&self, what: &str, text: &str) -> String {
        let digest = self.digests(what, text).next().unwrap_or_default();
        data_encoding::HEXLOWER.encode(&digest)
    }

    /// As [`Cursors::digest`], in bytes: by the secret of today, then by those before it.
    pub(crate) fn digests<'c>(
        &'c self,
        what: &str,
        text: &str,
    ) -> impl Iterator<Item = [u8; 16]> + use<'c> {
        let named = [what.as_bytes(), text.as_bytes()].join(&0_u8);
        self.0.iter().map(move |keys| {
            let mut digest = [0; 16];
            digest.copy_from_slice(&hmac_sha256(&keys.digest, &named)[..16]);
            digest
        })
    }

    /// The place that `cursor` was made of.
    ///
    /// # Errors
    /// `bad_query` for a cursor of another list, of another site or of nobody's making.
    pub fn open(&self, list: &str, cursor: &str) -> Result<Vec<u8>> {
        let text = cursor.strip_prefix(BEGIN).ok_or_else(foreign)?;
        let sealed = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| foreign())?;
        let payload = || Payload { msg: &sealed, aad: list.as_bytes() };
        let open = |keys: &Keys| keys.cipher.decrypt(&Nonce::default(), payload()).ok();
        self.0.iter().find_map(open).ok_or_else(foreign)
    }
}

impl Keys {
    fn of(secret: &[u8]) -> Self {
        let cipher = hmac_sha256(secret, b"cms cursors: cipher");
        Self {
            cipher: Aes256GcmSiv::new(&cipher.into()),
            // Its name is older than its use: it makes the digests that are stored.
            digest: hmac_sha256(secret, b"cms cursors: nonce"),
        }
    }
}

pub(crate) fn foreign() -> Error {
    Error::new(
        Code::BadQuery,
        "This cursor is not from this list: take `meta.next` of a reply with the same sort and \
         filters.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursors(secrets: &[&str]) -> Cursors {
        Cursors::new(secrets.iter().copied(), &Random::seeded(1)).expect("keys")
    }

    #[test]
    fn a_cursor_opens_only_on_its_own_site_and_list() {
        let sealed = cursors(&["a"]).seal("blog", b"[7]").expect("sealed");
        assert_eq!(sealed, cursors(&["a"]).seal("blog", b"[7]").expect("sealed"), "not stable");
        assert_eq!(cursors(&["a"]).open("blog", &sealed).expect("opened"), b"[7]");
        assert_eq!(cursors(&["b", "a"]).open("blog", &sealed).expect("an old key"), b"[7]");
        for (secrets, list) in [(&["a"][..], "news"), (&["b"], "blog"), (&[], "blog")] {
            assert!(cursors(secrets).open(list, &sealed).is_err(), "{secrets:?} {list}");
        }
        assert!(!sealed.contains(&BASE64URL_NOPAD.encode(b"[7]")));
        assert_eq!(sealed.len(), 27);
        assert!(sealed.starts_with('c'), "`-` would make it an option");
    }

    #[test]
    fn no_changed_cursor_opens() {
        let cursors = cursors(&["a"]);
        let sealed = cursors.seal("blog", b"[7]").expect("sealed");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert!(cursors.open("blog", &changed).is_err(), "{changed}");
            assert!(cursors.open("blog", &sealed[..at]).is_err());
        }
    }
}
