//! Files: `keys.toml`, what is remembered about a site, and replies written part by part.
//! Existing files are not replaced by a reply.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cms_http::client::Client;
use futures_util::StreamExt as _;

use crate::{keys::KeysFile, model::Remembered, step::Saving};

/// How often the progress of a file is reported.
const PACE: Duration = Duration::from_millis(500);

/// A file that is removed unless it was written to its end.
struct Part {
    file: File,
    path: PathBuf,
    is_whole: bool,
}

impl Part {
    /// Creates the file for its owner only, because it holds what visitors sent.
    fn create(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match file {
            Ok(file) => Ok(Self { file, path: path.to_owned(), is_whole: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err("there is such a file already: choose another name".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_whole {
            // Nothing more can be done about it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes a file and returns its size in bytes. `tell` gets the bytes written so far.
///
/// # Errors
/// Why the file was not written.
pub(crate) async fn save(
    client: &Client,
    saving: &Saving,
    mut tell: impl FnMut(u64),
) -> Result<u64, String> {
    let mut parts = client.stream(&saving.ask).await.map_err(|error| error.to_string())?;
    let mut part = Part::create(&saving.path)?;
    let (mut bytes, mut told) = (0, Instant::now());
    while let Some(read) = parts.next().await {
        let read = read.map_err(|error| error.to_string())?;
        part.file.write_all(&read).map_err(|error| error.to_string())?;
        bytes += read.len() as u64;
        if told.elapsed() >= PACE {
            told = Instant::now();
            tell(bytes);
        }
    }
    part.file.sync_all().map_err(|error| error.to_string())?;
    part.is_whole = true;
    Ok(bytes)
}

/// The keys that the user has changed; the usual ones without a file.
pub(super) fn keys(folder: Option<&Path>) -> Result<KeysFile, String> {
    let Some(path) = folder.map(|folder| folder.join("keys.toml")) else {
        return Ok(KeysFile::default());
    };
    match fs::read_to_string(&path) {
        Ok(text) => KeysFile::parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(KeysFile::default()),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

/// What is remembered. An unreadable file counts as none: its content is not worth a failure.
pub(super) fn remembered(file: Option<&Path>) -> Remembered {
    let text = file.and_then(|file| fs::read_to_string(file).ok());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

pub(super) fn remember(file: Option<&Path>, remembered: &Remembered) {
    let (Some(file), Ok(text)) = (file, serde_json::to_string_pretty(remembered)) else { return };
    if let Some(folder) = file.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let beside = file.with_extension("new");
    if fs::write(&beside, text).is_ok() {
        let _ = fs::rename(&beside, file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::site::TestSite;
    use cms_http::client::Ask;

    #[tokio::test]
    async fn a_file_is_written_whole_or_not_at_all() {
        let site = TestSite::open().await;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("posts.json");
        let saving = |path: &Path, table: &str| Saving {
            ask: Ask::get("/api/backend/item").query("table", table),
            path: path.to_owned(),
        };
        let bytes = save(&site.client(), &saving(&path, "posts"), |_| ()).await.expect("written");
        assert_eq!(fs::metadata(&path).map(|file| file.len()).ok(), Some(bytes));
        let why = save(&site.client(), &saving(&path, "posts"), |_| ()).await;
        let why = why.expect_err("it is there");
        assert!(why.contains("choose another name"), "{why}");
        let other = folder.path().join("none.json");
        save(&site.client(), &saving(&other, "nothing"), |_| ()).await.expect_err("no such table");
        assert!(!other.exists());
        let part = Part::create(&other).expect("a file");
        drop(part);
        assert!(!other.exists(), "what broke off leaves nothing");
    }
}
