//! Checks of the machine and the folder: clock, settings, files

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use cms_core::{
    Clock, rfc3339,
    settings::{Database, Loaded, Settings},
};

use super::checks::Checks;

/// 2026-01-01. An earlier clock is wrong: this program is younger.
const WRITTEN_MS: i64 = 1_767_225_600_000;
const CENTURY_MS: i64 = 100 * 365 * 86_400_000;

pub(super) fn clock(checks: &mut Checks) {
    let now = Clock::system().now();
    if (WRITTEN_MS..WRITTEN_MS + CENTURY_MS).contains(&now) {
        checks.ok("clock", rfc3339(now));
    } else {
        checks.fail(
            "clock",
            rfc3339(now),
            "set the clock: expiry of keys and login codes depend on it",
        );
    }
}

pub(super) fn settings(checks: &mut Checks, loaded: &Loaded) {
    let settings = &loaded.settings;
    checks.ok("settings", loaded.dir.display().to_string());
    for warning in &loaded.warnings {
        checks.warn("settings", warning.clone(), "correct or remove the variable");
    }
    checks.ok("time zone", settings.timezone.clone());
    // `database::people` checks whether the salt is the right one.
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

pub(super) fn folder(checks: &mut Checks, data: &Path) {
    let probe = data.join(".cms-doctor");
    match fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)) {
        Ok(()) => checks.ok("data folder", data.display().to_string()),
        Err(error) => {
            let found = format!("{} cannot be written: {error}", data.display());
            checks.fail(
                "data folder",
                found,
                "create it, and let the user that runs cms write there",
            );
        }
    }
}

/// The data folder and SQLite's files hold what people have written: they are for their owner.
pub(super) fn modes(checks: &mut Checks, settings: &Settings) {
    let mut paths = vec![settings.dirs.data.clone()];
    if let Ok(Database::Sqlite { path }) = settings.database() {
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
