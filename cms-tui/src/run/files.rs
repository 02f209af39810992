//! `keys.toml`, and what is remembered of a site.

use std::{fs, io, path::Path};

use crate::{keys::KeysFile, model::Remembered};

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

/// What is remembered. A file that cannot be read is as none: nothing in it is worth a failure.
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
