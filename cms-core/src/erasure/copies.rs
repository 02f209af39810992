//! Files that still contain an address: the database itself, and files in the site's folders.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::needles::Needles;
use crate::{
    Error, Result,
    base::Base,
    db::{Dialect, files},
    settings::Database,
};

/// Bytes read at once.
const PART: usize = 1 << 20;
/// Maximum number of files that a receipt names.
const NAMED: usize = 100;
/// First bytes of files that are compressed or encrypted, so that their content cannot be searched.
/// Backups of a site begin as zstd or age does, office documents as zip does.
const UNSEARCHABLE: [&[u8]; 13] = [
    b"\x1f\x8b",                    // gzip
    b"\x28\xb5\x2f\xfd",            // zstd
    b"\xfd7zXZ\0",                  // xz
    b"BZh",                         // bzip2
    b"PK\x03\x04",                  // zip
    b"7z\xbc\xaf\x27\x1c",          // 7z
    b"\x04\x22\x4d\x18",            // lz4
    b"Rar!\x1a\x07",                // rar
    b"age-encryption.org/",         // age
    b"-----BEGIN AGE ENCRYPTED",    // age as text
    b"-----BEGIN PGP MESSAGE-----", // PGP as text
    b"Salted__",                    // openssl enc
    b"PGDMP",                       // pg_dump
];

/// The result of the search.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Whether SQLite's own files contain the address.
    pub(super) database: bool,
    pub(super) files: Vec<String>,
    pub(super) unread: Vec<String>,
}

impl Copies {
    /// The word for the database in a receipt.
    pub(super) fn database_state(&self, dialect: Dialect) -> &'static str {
        match (dialect, self.database) {
            (Dialect::Postgres, _) => "server",
            (_, true) => "holds",
            (_, false) => "clean",
        }
    }
}

/// What is known of a file.
enum Content {
    Holds,
    Clean,
    /// It is compressed or encrypted.
    Unsearchable,
}

/// Searches the data folder and the media folder.
pub(super) async fn holding(base: &Base, needles: &Needles) -> Result<Copies> {
    let (settings, needles) = (base.settings(), needles.clone());
    let database = match settings.database() {
        Ok(Database::Sqlite { path, .. }) => Some(path),
        _ => None,
    };
    let folders = [settings.dirs.data.clone(), settings.dirs.media.clone()];
    let look = move || {
        // The last file, the index of the log, contains page numbers and no content.
        let own =
            ["", "-wal", "-shm"].map(|end| files::companion_file(database.as_ref()?, end).ok());
        let own: Vec<PathBuf> = own.into_iter().flatten().collect();
        // A file that cannot be read may hold the address.
        let database =
            own.iter().take(2).any(|path| !matches!(search(path, &needles), Ok(Content::Clean)));
        let own = own.iter().filter_map(|path| fs::metadata(path).ok());
        let own: Vec<files::Id> = own.map(|about| files::id(&about)).collect();
        let mut copies = Copies { database, ..Copies::default() };
        for folder in &folders {
            walk(folder, folder, &own, &needles, &mut copies);
        }
        copies
    };
    tokio::task::spawn_blocking(look).await.map_err(Error::internal)
}

/// Searches a folder without following links. Files and folders that cannot be read are listed as
/// unread. `own`: the files of the database.
fn walk(root: &Path, folder: &Path, own: &[files::Id], needles: &Needles, copies: &mut Copies) {
    let name = |path: &Path| {
        let name = path.strip_prefix(root).ok().filter(|name| !name.as_os_str().is_empty());
        name.or(path.file_name().map(Path::new)).unwrap_or(path).display().to_string()
    };
    let note = |list: &mut Vec<String>, path: &Path| {
        if list.len() < NAMED {
            list.push(name(path));
        }
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(_) => return note(&mut copies.unread, folder),
    };
    for entry in entries {
        let Ok(entry) = entry else { return note(&mut copies.unread, folder) };
        let path = entry.path();
        let about = match entry.metadata() {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => {
                note(&mut copies.unread, &path);
                continue;
            }
        };
        if about.is_dir() {
            walk(root, &path, own, needles, copies);
        } else if about.is_file() && !own.contains(&files::id(&about)) {
            match search(&path, needles) {
                Ok(Content::Clean) => {}
                Ok(Content::Holds) => note(&mut copies.files, &path),
                Ok(Content::Unsearchable) | Err(_) => note(&mut copies.unread, &path),
            }
        }
    }
}

/// Searches a file, ignoring the case of ASCII letters.
fn search(path: &Path, needles: &Needles) -> io::Result<Content> {
    use io::Read as _;
    let mut file = match files::reader(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Clean),
        opened => opened?,
    };
    let kept = needles.bytes().map(<[u8]>::len).max().unwrap_or(1) - 1;
    let mut part = Vec::with_capacity(PART + kept);
    loop {
        let from = part.len();
        let read = file.by_ref().take(PART as u64).read_to_end(&mut part)?;
        if from == 0 && UNSEARCHABLE.iter().any(|first| part.starts_with(first)) {
            return Ok(Content::Unsearchable);
        }
        part[from..].make_ascii_lowercase();
        if needles.bytes().any(|needle| found(&part, needle)) {
            return Ok(Content::Holds);
        }
        if read == 0 {
            return Ok(Content::Clean);
        }
        part.drain(..part.len().saturating_sub(kept));
    }
}

fn found(bytes: &[u8], needle: &[u8]) -> bool {
    let Some((first, rest)) = needle.split_first() else { return false };
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| byte == first) {
        at += next + 1;
        if bytes[at..].starts_with(rest) {
            return true;
        }
    }
    false
}
