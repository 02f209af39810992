//! A file that has its name only when it is complete.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::failure::{Done, Failure};

/// Written beside and renamed. Dropped before that, nothing is left of it.
pub(crate) struct WholeFile {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    is_done: bool,
}

impl WholeFile {
    pub(crate) fn create(path: &Path) -> Done<Self> {
        let mut part = OsString::from(path);
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|e| Failure::file(&part, &e))?;
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
