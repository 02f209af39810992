//! A new file for a secret that is shown once.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::failure::{Done, Failure};

/// A file that only its owner can read. It is created before the secret is made: a secret that
/// cannot be written down would be lost.
pub(crate) struct SecretFile {
    path: PathBuf,
    file: File,
}

impl SecretFile {
    pub(crate) fn reserve(path: PathBuf) -> Done<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| Failure::file(&path, &e))?;
        Ok(Self { path, file })
    }

    /// Writes the parts of the secret, one a line.
    pub(crate) fn write<T: AsRef<str>>(&mut self, lines: &[T]) -> Done {
        let text: String = lines.iter().map(|line| format!("{}\n", line.as_ref())).collect();
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_all())
            .map_err(|e| Failure::file(&self.path, &e))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the reserved file, because `error` left no secret to write.
    pub(crate) fn given_up(file: Option<Self>, error: impl Into<Failure>) -> Failure {
        if let Some(file) = file {
            let _ = fs::remove_file(&file.path);
        }
        error.into()
    }
}
