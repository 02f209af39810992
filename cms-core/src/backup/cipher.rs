//! Encrypts an archive to public keys, in the format of age
//! (<https://github.com/C2SP/C2SP/blob/main/age.md>), so `age -d` can read it too. The compressed
//! archive is encrypted as a whole, including its seal.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

#[cfg(feature = "age")]
use age::{
    Decryptor, Encryptor, Identity, Recipient,
    stream::StreamWriter,
    x25519::{self, Identity as Key},
};

use super::archive::Sink;
use crate::{Code, Error, Result};

/// The first bytes of an encrypted file.
const MAGIC: &[u8] = b"age-encryption.org/";

/// The beginning of the last line of its header.
#[cfg(feature = "age")]
const HEADER_END: &[u8] = b"\n--- ";

/// Maximum size of a file of private keys, in bytes.
const LARGEST: u64 = 64 << 10;

/// Public keys. Each of their private keys can open the archive.
#[derive(Clone, Default)]
pub(super) struct Recipients(#[cfg(feature = "age")] Vec<x25519::Recipient>);

/// Private keys that open an encrypted archive.
#[derive(Clone, Default)]
pub struct Identities(#[cfg(feature = "age")] Vec<Key>);

impl Recipients {
    /// # Errors
    /// `validation_failed` for a text that is not a public key of age.
    pub(super) fn of(keys: &[String]) -> Result<Self> {
        #[cfg(feature = "age")]
        {
            let read = |text: &String| {
                text.parse().map_err(|why: &str| {
                    // Any other text may be a secret that was pasted here.
                    let what = match text.starts_with("age1") {
                        true => format!("{text:?} is not a public key of age: {why}."),
                        false => "A recipient is not a public key of age: name the key that \
                                  begins with age1, as age-keygen prints it."
                            .to_owned(),
                    };
                    Error::new(Code::ValidationFailed, what)
                })
            };
            keys.iter().map(read).collect::<Result<_>>().map(Self)
        }
        #[cfg(not(feature = "age"))]
        match keys {
            [] => Ok(Self()),
            _ => Err(without_age()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        #[cfg(feature = "age")]
        return self.0.is_empty();
        #[cfg(not(feature = "age"))]
        true
    }

    /// Adds a key that is made for this one use. Its private half opens the archive and exists
    /// only in this process. So an archive can be tried where no private key is present.
    pub(super) fn with_trial(&mut self) -> Identities {
        #[cfg(feature = "age")]
        {
            if self.0.is_empty() {
                return Identities::default();
            }
            let key = Key::generate();
            self.0.push(key.to_public());
            Identities(vec![key])
        }
        #[cfg(not(feature = "age"))]
        Identities::default()
    }
}

/// Fails for a text that is not a public key of age. The message does not repeat a private key.
///
/// # Errors
/// `validation_failed` for the first such text.
pub fn expect_recipients(keys: &[String]) -> Result<()> {
    Recipients::of(keys).map(drop)
}

impl Identities {
    /// Reads a file in the format of `age-keygen`: a private key on each line; `#` begins
    /// a comment.
    ///
    /// # Errors
    /// `not_found` when there is no file, `validation_failed` for a file that cannot be read or
    /// contains anything else.
    pub fn read(path: &Path) -> Result<Self> {
        let invalid = |why: &dyn std::fmt::Display| {
            let what = format!("{} is not a file of private keys of age: {why}.", path.display());
            Error::new(Code::ValidationFailed, what)
        };
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
        read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let what = format!("There is no file {}.", path.display());
                Error::new(Code::NotFound, what)
            }
            _ => invalid(&error),
        })?;
        let text = zeroize::Zeroizing::new(text);
        let keys = text.lines().map(str::trim);
        let keys = keys.filter(|line| !line.is_empty() && !line.starts_with('#'));
        #[cfg(feature = "age")]
        {
            // The line itself is a secret.
            let key = |line: &str| line.parse().map_err(|why: &str| invalid(&why));
            let keys = keys.map(key).collect::<Result<Vec<_>>>()?;
            if keys.is_empty() {
                return Err(invalid(&"it holds no AGE-SECRET-KEY-1… line"));
            }
            Ok(Self(keys))
        }
        #[cfg(not(feature = "age"))]
        {
            drop(keys);
            Err(without_age())
        }
    }
}

#[cfg(not(feature = "age"))]
fn without_age() -> Error {
    let what = "Encrypted archives need a program that was built with the feature age.";
    Error::new(Code::ValidationFailed, what)
}

/// Encrypts the archive if there are recipients.
pub(super) fn encrypted(
    out: impl Sink + 'static,
    recipients: &Recipients,
) -> Result<Box<dyn Sink>> {
    #[cfg(feature = "age")]
    if !recipients.is_empty() {
        let keys = recipients.0.iter().map(|key| key as &dyn Recipient);
        let encryptor = Encryptor::with_recipients(keys).map_err(Error::internal)?;
        let out = encryptor.wrap_output(out).map_err(super::archive::unwritten)?;
        return Ok(Box::new(out));
    }
    let _ = recipients;
    Ok(Box::new(out))
}

#[cfg(feature = "age")]
impl<S: Sink> Sink for StreamWriter<S> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        Box::new(StreamWriter::finish(*self)?).finish()
    }
}

/// The content of an archive, decrypted if it is encrypted.
///
/// # Errors
/// `validation_failed` when no key opens it.
pub(super) fn decrypted<'a>(
    mut from: impl io::BufRead + 'a,
    identities: &Identities,
) -> Result<Box<dyn Read + 'a>> {
    let invalid = |what: String| Error::new(Code::ValidationFailed, what);
    let begins = from.fill_buf().map_err(super::manifest::refused)?;
    if !begins.starts_with(MAGIC) {
        return Ok(Box::new(from));
    }
    #[cfg(feature = "age")]
    {
        if identities.0.is_empty() {
            let what = "The archive is encrypted: name the file of a private key with --identity.";
            return Err(invalid(what.to_owned()));
        }
        // Limits the size of the header, which is read before anything about it is known.
        if !begins.windows(HEADER_END.len()).any(|window| window == HEADER_END) {
            return Err(super::manifest::refused("its header is too long"));
        }
        let unopened = |error| {
            invalid(format!("The archive cannot be decrypted: {error}. Nothing was changed."))
        };
        let decryptor = Decryptor::new_buffered(from).map_err(unopened)?;
        let keys = identities.0.iter().map(|key| key as &dyn Identity);
        decryptor.decrypt(keys).map_err(unopened).map(|plain| Box::new(plain) as Box<dyn Read>)
    }
    #[cfg(not(feature = "age"))]
    {
        let _ = (identities, invalid);
        Err(without_age())
    }
}

#[cfg(all(test, feature = "age"))]
mod tests {
    use super::*;

    #[test]
    fn a_header_without_end_is_not_read_on() {
        let keys = Identities(vec![Key::generate()]);
        let begin = format!("{}v1\n-> X25519 ", String::from_utf8_lossy(MAGIC));
        let endless = begin.as_bytes().chain(io::repeat(b'A'));
        let from = io::BufReader::with_capacity(1 << 16, endless);
        let refused = decrypted(from, &keys).err().unwrap();
        assert!(refused.detail().contains("header is too long"), "{refused}");
    }
}
