//! Files and folders that only their owner may read, from the first moment on and whatever the
//! umask. Systems without such modes create them as usual.

use std::{fs::DirBuilder, io, path::Path};

/// Creates a folder (mode 0700) with those above it. An existing folder stays as it is.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Creates an empty file (mode 0600). An existing file stays as it is.
#[cfg(feature = "sqlite")]
pub(crate) fn create_file(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.write(true).create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
