//! Files that a command writes: written whole or not at all, and files for a secret
//! shown only once.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::failure::{Done, Failure};

/// A file written beside its path and renamed at the end. Dropped before that, it leaves nothing.
pub(crate) struct WholeFile {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    is_done: bool,
}

impl WholeFile {
    pub(crate) fn create(path: &Path) -> Done<Self> {
        Self::open(path, 0o666)
    }

    /// As [`WholeFile::create`], but only its owner can read the file: for data of people.
    pub(crate) fn private(path: &Path) -> Done<Self> {
        Self::open(path, 0o600)
    }

    fn open(path: &Path, mode: u32) -> Done<Self> {
        let mut part = OsString::from(path);
        part.push(".part");
        let part = PathBuf::from(part);
        // A file that an interrupted command left may be readable by others.
        let _ = fs::remove_file(&part);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&part)
            .map_err(|e| Failure::file(&part, &e))?;
        Ok(Self { path: path.to_owned(), part, file: BufWriter::new(file), is_done: false })
    }

    /// Gives the file its name.
    pub(crate) fn done(mut self) -> Done {
        self.file.flush()?;
        fs::rename(&self.part, &self.path).map_err(|e| Failure::file(&self.path, &e))?;
        self.is_done = true;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// A file that only its owner can read. It is created before the secret is made: otherwise a
/// secret that cannot be written would be lost.
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
