//! Checks of the site's folder: settings, files and their modes

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use cms_core::settings::{Database, Loaded, Settings};
use rustix::fs::{Access, access};

use super::checks::Checks;

pub(super) fn settings(checks: &mut Checks, loaded: &Loaded) {
    let settings = &loaded.settings;
    checks.ok("settings", loaded.dir.display().to_string());
    for warning in &loaded.warnings {
        checks.warn("settings", warning.clone(), "correct or remove the variable");
    }
    checks.ok("time zone", settings.timezone.clone());
    // `database` checks whether they are the right ones.
    for (name, there) in [
        ("password_salt", settings.password_salt.is_some()),
        ("encryption_key", settings.encryption_key.is_some()),
    ] {
        if !there {
            checks.fail(name, "missing", "cms init adds one to cms.local.toml");
        }
    }
}

pub(super) fn local_file(checks: &mut Checks, path: &Path) {
    match fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777) {
        Ok(mode) if mode & 0o077 == 0 => checks.ok("cms.local.toml", format!("mode {mode:04o}")),
        Ok(mode) => {
            checks.fail(
                "cms.local.toml",
                format!("mode {mode:04o}: others can read the secrets"),
                "chmod 600 cms.local.toml",
            );
        }
        Err(_) => checks.warn(
            "cms.local.toml",
            "does not exist",
            "cms init makes it; not needed if the environment has the secrets",
        ),
    }
}

/// Whether this user may write there. Asks the system, and writes nothing.
pub(super) fn folder(checks: &mut Checks, data: &Path) {
    let problem = match fs::metadata(data) {
        Ok(meta) if !meta.is_dir() => Some("it is no folder".to_owned()),
        Ok(_) => access(data, Access::WRITE_OK | Access::EXEC_OK).err().map(|e| e.to_string()),
        Err(error) => Some(error.to_string()),
    };
    match problem {
        None => checks.ok("data folder", data.display().to_string()),
        Some(problem) => checks.fail(
            "data folder",
            format!("{} cannot be written: {problem}", data.display()),
            "create it, and let the user that runs cms write there",
        ),
    }
}

/// The data folder and SQLite's files hold what people have written: they are for their owner.
pub(super) fn modes(checks: &mut Checks, settings: &Settings) {
    let mut paths = vec![settings.dirs.data.clone()];
    paths.retain(|data| data.is_dir());
    if let Ok(Database::Sqlite { path, .. }) = settings.database() {
        let beside = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
        paths.extend(["", "-wal", "-shm"].map(beside));
    }
    for path in paths {
        let mode = fs::metadata(&path).map_or(0, |meta| meta.permissions().mode() & 0o777);
        if mode & 0o077 != 0 {
            let found = format!("{} has mode {mode:04o}: others can read it", path.display());
            checks.warn("files", found, "chmod go= the named path");
        }
    }
}

/// Folders among the plugins that are none.
pub(super) fn plugins(checks: &mut Checks, folder: &Path) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let manifest = path.join("plugin.json");
        if path.is_dir() && fs::symlink_metadata(&manifest).is_err() {
            let found = format!("{} has no plugin.json", path.display());
            checks.warn("plugins", found, "add one, or move the folder elsewhere");
        }
    }
}
