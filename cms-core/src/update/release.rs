//! The description of a release, `latest.json`: its form, its signature, the order of versions,
//! and the highest version that was ever offered.

use std::{cmp::Ordering, fmt, str::FromStr};

use data_encoding::BASE64;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::{UpdateError, UpdateFault};
use crate::Millis;

/// Maximum size of `latest.json` in bytes.
pub(super) const MAX_DESCRIPTION_BYTES: u64 = 64 << 10;
/// Maximum size of an archive in bytes.
const MAX_ARCHIVE_BYTES: u64 = 512 << 20;
/// Maximum length of a version and of a file's name, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// Maximum length of the notes in bytes.
const MAX_NOTES_BYTES: usize = 16 << 10;
const DAY: Millis = 86_400_000;
/// Days after which an unchanged description is old.
const OLD_DAYS: Millis = 180;

/// A version, ordered by the rules of Semantic Versioning.
#[derive(Clone, Debug)]
pub struct Version(semver::Version);

impl FromStr for Version {
    type Err = UpdateError;

    fn from_str(text: &str) -> Result<Self, UpdateError> {
        let read = semver::Version::parse(text).ok().filter(|_| text.len() <= MAX_NAME_BYTES);
        let wrong = || format!("the version {text:?} is not of the form 3.1.0");
        read.map(Self).ok_or_else(|| UpdateError::invalid(wrong()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

/// A release with a valid signature.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// The archive's name; the file is next to `latest.json`.
    pub file: String,
    /// The archive's SHA-256, in hexadecimal.
    pub sha256: String,
    /// The archive's length in bytes.
    pub size: u64,
    /// What is new. The notes are not signed, so no decision may depend on them.
    pub notes: String,
}

/// `latest.json` as the server sent it.
#[derive(Deserialize)]
struct Description {
    version: String,
    file: String,
    sha256: String,
    #[serde(default)]
    notes: String,
    signature: String,
    size: u64,
}

/// The error for a longer `latest.json`.
pub(super) fn too_large() -> UpdateError {
    UpdateError::invalid(format!("latest.json is larger than {MAX_DESCRIPTION_BYTES} bytes"))
}

/// The bytes that a release's signature covers. Each value follows its length, so that no other
/// three values give the same text.
///
/// ```
/// let text = cms_core::update::signed_text("3.1.0", "cms-3.1.0.zip", "00ff");
/// assert_eq!(
///     text,
///     "cms-update-v1\nversion 5 3.1.0\nfile 13 cms-3.1.0.zip\nsha256 4 00ff\n"
/// );
/// ```
#[must_use]
pub fn signed_text(version: &str, file: &str, sha256: &str) -> String {
    let line = |name, value: &str| format!("{name} {} {value}\n", value.len());
    let values = [("version", version), ("file", file), ("sha256", sha256)];
    values
        .iter()
        .fold("cms-update-v1\n".to_owned(), |text, (name, value)| text + &line(name, value))
}

impl Release {
    /// Parses `latest.json` and checks its signature. One of `keys` must have signed it; each is
    /// base64 of 32 bytes, as the setting `update.public_key` holds them.
    ///
    /// # Errors
    /// There is no key, the text is not a description of a release, or none of these keys
    /// signed it.
    pub fn verified(json: &[u8], keys: &[String]) -> Result<Self, UpdateError> {
        if keys.is_empty() {
            let why = "update.public_key is not set, so no release can be trusted";
            return Err(UpdateError::new(UpdateFault::Refused, why));
        }
        if json.len() as u64 > MAX_DESCRIPTION_BYTES {
            return Err(too_large());
        }
        let read: Description = serde_json::from_slice(json)
            .map_err(|e| UpdateError::invalid(format!("latest.json cannot be read: {e}")))?;
        let wrong = |what: &str| Err(UpdateError::invalid(format!("latest.json: {what}")));
        let version: Version = read.version.parse()?;
        if !is_archive_name(&read.file) {
            return wrong("`file` must be a plain name that ends in .zip, such as cms-3.1.0.zip");
        }
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if read.sha256.len() != 64 || !read.sha256.bytes().all(is_hex) {
            return wrong("`sha256` must be 64 hexadecimal digits, in lower case");
        }
        if !(1..=MAX_ARCHIVE_BYTES).contains(&read.size) {
            return wrong(&format!("`size` must be 1 to {MAX_ARCHIVE_BYTES} bytes"));
        }
        if read.notes.len() > MAX_NOTES_BYTES {
            return wrong(&format!("`notes` must be at most {MAX_NOTES_BYTES} bytes"));
        }
        let text = signed_text(&read.version, &read.file, &read.sha256);
        let signature = BASE64.decode(read.signature.trim().as_bytes()).unwrap_or_default();
        let signed = keys.iter().any(|key| {
            let key = BASE64.decode(key.trim().as_bytes()).unwrap_or_default();
            UnparsedPublicKey::new(&ED25519, key).verify(text.as_bytes(), &signature).is_ok()
        });
        if !signed {
            return wrong(
                "the signature does not fit update.public_key. Somebody else may have made this \
                 release: do not install it by hand",
            );
        }
        Ok(Self {
            version,
            file: read.file,
            sha256: read.sha256,
            size: read.size,
            notes: read.notes,
        })
    }
}

/// Whether a name is one part of a path, visible and without leading dots.
fn is_archive_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(is_plain)
        && name.len() > ".zip".len()
        && name.ends_with(".zip")
}

/// The highest version offered so far, stored as JSON between two checks. A server that offers
/// less was rolled back, or somebody replays an old reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighestOffer {
    /// The highest version with a valid signature.
    highest: Option<String>,
    /// When that version was first offered.
    since: Millis,
}

impl HighestOffer {
    /// Compares a release with earlier offers and records it. `modified` is when the server says
    /// that it wrote the description. Returns a warning about an old description, because somebody
    /// may be withholding newer ones.
    ///
    /// # Errors
    /// An error when a higher version was offered before.
    pub fn note(
        &mut self,
        release: &Release,
        modified: Option<Millis>,
        now: Millis,
    ) -> Result<Option<String>, UpdateError> {
        let version = &release.version;
        let highest = self.highest.as_deref().and_then(|text| text.parse::<Version>().ok());
        match highest {
            Some(highest) if *version < highest => {
                let why = format!(
                    "the update server offers {version} but offered {highest} before: cms does \
                     not install an older release"
                );
                return Err(UpdateError::new(UpdateFault::Refused, why));
            }
            Some(highest) if *version == highest => {}
            _ => *self = Self { highest: Some(version.to_string()), since: now },
        }
        let age = (now - self.since.min(modified.unwrap_or(now))) / DAY;
        Ok((age >= OLD_DAYS).then(|| {
            format!(
                "the update server has offered {version} for {age} days. If you know of a newer \
                 release, somebody may be withholding it"
            )
        }))
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::{Value as Json, json};

    use super::*;

    fn pair(seed: u8) -> (Ed25519KeyPair, String) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a key");
        let public = BASE64.encode(pair.public_key().as_ref());
        (pair, public)
    }

    fn described(seed: u8) -> Json {
        let digest = "ab".repeat(32);
        let text = signed_text("3.1.0", "cms-3.1.0.zip", &digest);
        let signature = BASE64.encode(pair(seed).0.sign(text.as_bytes()).as_ref());
        json!({"version": "3.1.0", "file": "cms-3.1.0.zip", "sha256": digest, "size": 10,
               "notes": "New.", "signature": signature, "later": 1})
    }

    fn why(json: &Json, keys: &[String]) -> String {
        let read = Release::verified(json.to_string().as_bytes(), keys);
        read.map_or_else(|error| error.to_string(), |release| release.version.to_string())
    }

    #[test]
    fn one_of_two_keys_signs_and_nothing_that_is_signed_can_change() {
        let keys = [pair(1).1, pair(2).1];
        for seed in [1, 2] {
            assert_eq!(why(&described(seed), &keys), "3.1.0");
        }
        assert!(why(&described(3), &keys).contains("signature does not fit"));
        assert!(why(&described(1), &[]).contains("update.public_key is not set"));
        for (member, value, expected) in [
            ("version", json!("3.2.0"), "signature does not fit"),
            ("file", json!("cms-3.1.1.zip"), "signature does not fit"),
            ("sha256", json!("cd".repeat(32)), "signature does not fit"),
            ("signature", json!(""), "signature does not fit"),
            ("signature", json!("AAAA"), "signature does not fit"),
            ("signature", json!("not base64"), "signature does not fit"),
            ("version", json!("3.1"), "is not of the form 3.1.0"),
            ("version", json!("3".repeat(200) + ".0.0"), "is not of the form 3.1.0"),
            ("file", json!("../cms.zip"), "`file` must be"),
            ("file", json!("a/cms.zip"), "`file` must be"),
            ("file", json!(".zip"), "`file` must be"),
            ("file", json!("cms\u{202e}.zip"), "`file` must be"),
            ("file", json!("https://a.org/cms.zip"), "`file` must be"),
            ("sha256", json!("AB".repeat(32)), "`sha256` must be"),
            ("size", json!(0), "`size` must be"),
            ("size", json!(MAX_ARCHIVE_BYTES + 1), "`size` must be"),
            ("size", json!(-1), "cannot be read"),
            ("notes", json!("x".repeat(20_000)), "`notes` must be"),
            ("notes", json!(7), "cannot be read"),
            ("later", json!("x".repeat(64 << 10)), "latest.json is larger than 65536 bytes"),
        ] {
            let mut changed = described(1);
            changed[member] = value;
            let said = why(&changed, &keys);
            assert!(said.contains(expected), "{member}: {said}");
        }
        // Unsigned members may change.
        let mut noted = described(1);
        noted["notes"] = "Other.".into();
        assert_eq!(why(&noted, &keys), "3.1.0");
        assert!(Release::verified(b"[1", &keys).is_err());
    }

    #[test]
    fn versions_have_the_order_of_semantic_versioning() {
        let ordered = ["2.9.9", "3.0.0-rc.1", "3.0.0-rc.2", "3.0.0", "3.0.10", "3.1.0", "10.0.0"];
        let read: Vec<Version> = ordered.iter().map(|v| v.parse().expect("a version")).collect();
        assert!(read.is_sorted_by(|a, b| a < b));
        let of = |text: &str| text.parse::<Version>().expect("a version");
        assert_eq!(of("3.0.0+a"), of("3.0.0+b"), "builds of one version");
    }

    fn offered(version: &str) -> Release {
        Release {
            version: version.parse().expect("a version"),
            file: "cms.zip".to_owned(),
            sha256: String::new(),
            size: 1,
            notes: String::new(),
        }
    }

    #[test]
    fn a_server_goes_forward_only_and_an_old_offer_is_doubted() {
        let mut seen = HighestOffer::default();
        let mut note = |version: &str, modified, day: Millis| {
            let noted = seen.note(&offered(version), modified, day * DAY);
            noted.map(|doubt| doubt.is_some()).map_err(|error| error.to_string())
        };
        assert_eq!(note("3.1.0", None, 1), Ok(false));
        assert_eq!(note("3.1.0", Some(2 * DAY), 100), Ok(false));
        assert_eq!(note("3.1.0", None, 181), Ok(true), "known for 180 days");
        assert_eq!(note("3.2.0", Some(DAY), 190), Ok(true), "written 189 days ago");
        assert_eq!(note("3.2.0", Some(999 * DAY), 190), Ok(false), "a time to come");
        let why = note("3.1.9", None, 191).expect_err("an older one");
        assert!(why.contains("but offered 3.2.0 before"), "{why}");
        assert_eq!(note("3.2.1", None, 192), Ok(false));
    }
}
