//! The machine and the folder: clock, settings, files

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use cms_core::{Clock, rfc3339, settings::Loaded};

use super::checks::{Checks, State};

/// 2026-01-01: a clock before this program was written stands wrong.
const WRITTEN_MS: i64 = 1_767_225_600_000;
const CENTURY_MS: i64 = 100 * 365 * 86_400_000;

pub(super) fn clock(checks: &mut Checks) {
    let now = Clock::system().now();
    if (WRITTEN_MS..WRITTEN_MS + CENTURY_MS).contains(&now) {
        checks.ok("clock", rfc3339(now));
    } else {
        checks.not(
            State::Fail,
            "clock",
            rfc3339(now),
            "set the machine's clock: keys expire and codes are checked by it",
        );
    }
}

pub(super) fn settings(checks: &mut Checks, loaded: &Loaded) {
    let settings = &loaded.settings;
    checks.ok("settings", loaded.dir.display().to_string());
    for warning in &loaded.warnings {
        checks.not(State::Warn, "settings", warning.clone(), "correct or remove the variable");
    }
    checks.ok("time zone", settings.timezone.clone());
    // Whether the salt fits is seen with the users.
    for (name, there) in [
        ("password_salt", settings.password_salt.is_some()),
        ("encryption_key", settings.encryption_key.is_some()),
    ] {
        if !there {
            checks.not(State::Fail, name, "missing", "cms init adds it to cms.local.toml");
        }
    }
}

pub(super) fn local_file(checks: &mut Checks, path: &Path) {
    match fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777) {
        Ok(mode) if mode & 0o077 == 0 => checks.ok("cms.local.toml", format!("mode {mode:04o}")),
        Ok(mode) => {
            checks.not(
                State::Fail,
                "cms.local.toml",
                format!("mode {mode:04o}: others can read the secrets"),
                "chmod 600 cms.local.toml",
            );
        }
        Err(_) => checks.not(
            State::Warn,
            "cms.local.toml",
            "does not exist",
            "cms init, unless the environment has the secrets",
        ),
    }
}

pub(super) fn folder(checks: &mut Checks, data: &Path) {
    let probe = data.join(".cms-doctor");
    match fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)) {
        Ok(()) => checks.ok("data folder", data.display().to_string()),
        Err(error) => {
            let found = format!("{} cannot be written: {error}", data.display());
            checks.not(
                State::Fail,
                "data folder",
                found,
                "make it, and give it to the user that runs cms",
            );
        }
    }
}
