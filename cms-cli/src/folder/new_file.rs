//! Files that must not exist yet.

use std::{fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use crate::output::{Done, Failure};

/// Creates a file with this mode from the first byte on, so that nobody else can read a secret.
pub(crate) fn write_new(path: &Path, text: &str, mode: u32) -> Done {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(|e| Failure::file(path, &e))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|e| Failure::file(path, &e))
}
