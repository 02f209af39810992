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
/// Extensions of files whose content cannot be searched.
const COMPRESSED: [&str; 7] = ["gz", "zst", "xz", "bz2", "zip", "7z", "lz4"];

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
    pub(super) fn database_state(&self, dialect: Dialect, only_looked: bool) -> &'static str {
        match (dialect, self.database || only_looked) {
            (Dialect::Postgres, _) => "server",
            (_, true) => "holds",
            (_, false) => "clean",
        }
    }
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
        let database = own.iter().take(2).any(|path| holds(path, &needles).unwrap_or(false));
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

/// Searches a folder without following links. Files that cannot be read are listed as unread.
/// `own`: the files of the database.
fn walk(root: &Path, folder: &Path, own: &[files::Id], needles: &Needles, copies: &mut Copies) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if about.is_dir() {
            walk(root, &path, own, needles, copies);
        } else if about.is_file() && !own.contains(&files::id(&about)) {
            let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            let list = if COMPRESSED.contains(&end) {
                &mut copies.unread
            } else {
                match holds(&path, needles) {
                    Ok(true) => &mut copies.files,
                    Ok(false) => continue,
                    Err(_) => &mut copies.unread,
                }
            };
            if list.len() < NAMED {
                list.push(name);
            }
        }
    }
}

/// Whether a file contains a needle, ignoring the case of ASCII letters.
fn holds(path: &Path, needles: &Needles) -> io::Result<bool> {
    use io::Read as _;
    let mut file = match files::reader(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let kept = needles.bytes().map(<[u8]>::len).max().unwrap_or(1) - 1;
    let mut part = Vec::with_capacity(PART + kept);
    loop {
        let from = part.len();
        let read = file.by_ref().take(PART as u64).read_to_end(&mut part)?;
        part[from..].make_ascii_lowercase();
        if needles.bytes().any(|needle| found(&part, needle)) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
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
