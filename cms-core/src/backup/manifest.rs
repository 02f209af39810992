//! The description of an archive. It comes last, so it lists what was really written.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::{Code, Error, Result, crypto, media::Name, settings::Settings};

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;
/// The first entry. It identifies the file and its format before anything else is read.
pub(super) const FIRST: &str = "cms-backup";
/// The entry before the end marker.
pub(super) const MANIFEST: &str = "manifest.json";
/// The last entry: the digest of the manifest. Without it the archive is no backup.
pub(super) const END: &str = "end";
/// Follows the zstd frame: a skippable frame with the SHA-256 of all bytes before it. Some bits of
/// a zstd frame can change without changing its content; the seal detects these changes too.
pub(super) const SEAL: [u8; 8] = [0x50, 0x2a, 0x4d, 0x18, 32, 0, 0, 0];
/// Size of the seal in bytes.
pub(super) const SEALED: usize = SEAL.len() + 32;
/// Maximum number of entries.
pub(super) const MOST: usize = 1_000_000;
/// Maximum size of a manifest in bytes.
pub(super) const LARGEST: u64 = 256 << 20;

/// The kind of database that an archive was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// A file of SQLite.
    Sqlite,
    /// Tables of PostgreSQL.
    Postgres,
}

impl Engine {
    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A SHA-256, in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Digest(pub(super) [u8; 32]);

impl TryFrom<String> for Digest {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, &'static str> {
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| "no hex")?;
        bytes.try_into().map(Self).map_err(|_| "no SHA-256")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        HEXLOWER.encode(&digest.0)
    }
}

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) sha256: Digest,
}

/// The contents of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The version of cms that wrote it.
    pub(super) cms: String,
    pub(super) engine: Engine,
    /// The newest step of the schema.
    pub(super) schema: i64,
    /// The moment at which its state was taken.
    pub(super) made_at: String,
    /// Identifies the encryption key without revealing it.
    pub(super) key: Option<String>,
    pub(super) with_secrets: bool,
    /// Number of rows of each table.
    pub(super) rows: BTreeMap<String, i64>,
    /// What is missing, one sentence each.
    pub(super) warnings: Vec<String>,
    pub(super) entries: Vec<Entry>,
}

impl Manifest {
    pub(super) fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.size).sum()
    }

    /// Number and bytes of the files below a folder.
    pub(super) fn below(&self, folder: &str) -> (u64, u64) {
        let below = self.entries.iter().filter(|entry| entry.name.starts_with(folder));
        below.fold((0, 0), |(files, bytes), entry| (files + 1, bytes + entry.size))
    }
}

/// Whether an entry may have this name: a plain path below one of the four folders that cannot
/// lead outside.
pub(super) fn is_allowed(name: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let is_path = name.split('/').all(is_plain) && !name.contains(|c: char| c.is_control());
    match name.split_once('/') {
        Some(("media", rest)) => Name::of_path(&format!("/media/{rest}")).is_some(),
        Some(("settings", file)) => ["cms.toml", "cms.local.toml"].contains(&file),
        Some(("database" | "plugins", _)) => is_path,
        _ => false,
    }
}

/// Identifies the encryption key. The key is random, so its digest does not reveal it.
pub(super) fn key_of(settings: &Settings) -> Option<String> {
    let key = settings.encryption_key.as_ref()?;
    Some(crypto::sha256_hex(format!("cms backup {}", key.expose()).as_bytes())[..16].to_owned())
}

/// The error for an archive that is refused.
pub(super) fn refused(why: impl std::fmt::Display) -> Error {
    Error::new(
        Code::ValidationFailed,
        format!("The archive is damaged or no backup of cms: {why}. Nothing was changed."),
    )
}

/// The error for an archive of a newer version.
pub(super) fn newer(what: impl std::fmt::Display) -> Error {
    let detail = format!("{what}: restore it with a newer cms. Nothing was changed.");
    Error::new(Code::ValidationFailed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let media = format!("media/ab/{}.png", "c".repeat(62));
        for good in ["database/cms.db", "plugins/a/plugin.json", "settings/cms.toml", &media] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "", "/etc/passwd", "plugins", "plugins/", "plugins//a", "plugins/../a", "plugins/a/..",
            "plugins/./a", "plugins/a\nb", "../plugins/a", "media/a.png", "media/ab/../x.png",
            "settings/other.toml", "settings/../cms.toml", "manifest.json", "other/a",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }
}
