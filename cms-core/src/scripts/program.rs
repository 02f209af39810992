//! Finds the interpreter.

use std::{
    env,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The program of this name in `PATH`, or at this path. None when there is nothing to execute.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        // The script runs in its own folder.
        return std::path::absolute(name).ok().filter(|path| is_executable(path));
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
