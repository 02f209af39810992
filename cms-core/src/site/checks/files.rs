//! Checks of the site's folder: settings, files and their modes.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::{
    CheckInput,
    finding::{Findings, word},
};
use crate::{
    db::is_of_another,
    settings::{Database, SECRET_KEYS, ValueOrigin},
};

pub(super) fn settings(asked: &CheckInput, found: &mut Findings) {
    match &asked.files {
        // The settings come from an embedding program.
        None => {}
        Some(Err(error)) => {
            let remedy = error.remedy().unwrap_or("correct the setting at the named place");
            found.error(error.to_string(), remedy);
        }
        Some(Ok(loaded)) if !loaded.is_site() => found.error(
            format!("there is no cms.toml in {}", loaded.dir.display()),
            "`cms init` makes a site here; --dir names a site that is elsewhere",
        ),
        Some(Ok(loaded)) => found.ok(loaded.dir.display().to_string()),
    }
}

pub(super) fn variables(asked: &CheckInput, found: &mut Findings) {
    let loaded = asked.files.iter().flatten();
    for warning in loaded.flat_map(|loaded| &loaded.warnings) {
        found.warning(warning.clone(), "correct or remove the variable");
    }
}

/// Reports a missing `cms.toml` beside a `cms.local.toml`. Without either, the site may have all
/// its settings from the environment.
pub(super) fn site_file(asked: &CheckInput, found: &mut Findings) {
    let Some(folder) = asked.folder() else { return };
    if folder.join("cms.toml").is_file() {
        return found.ok("there is one");
    }
    if folder.join("cms.local.toml").is_file() {
        found.warning(
            format!("there is no cms.toml in {}: the defaults are in force", folder.display()),
            "put cms.toml back; if there never was one, `cms init` writes one with the defaults",
        );
    }
}

/// Whether others can read a file with secrets.
pub(super) fn settings_files(asked: &CheckInput, found: &mut Findings) {
    let (Some(folder), Some(Ok(loaded))) = (asked.folder(), &asked.files) else { return };
    let holds_secrets = |file: &str| {
        let at = |one: &ValueOrigin| matches!(one, ValueOrigin::File { name, .. } if *name == file);
        let secrets = loaded.origins.iter().filter(|one| SECRET_KEYS.contains(&&*one.key));
        secrets.filter(|one| !one.value.is_empty()).any(|one| at(&one.origin))
    };
    for file in ["cms.toml", "cms.local.toml"] {
        let path = folder.join(file);
        let Some(mode) = mode_of(&path) else { continue };
        if mode & 0o077 != 0 && (file == "cms.local.toml" || holds_secrets(file)) {
            let what = format!("{file} has mode {mode:04o}: others can read the secrets in it");
            found.error(what, format!("`chmod 600 {}`", word(&path)));
        }
    }
    if found.findings.is_empty() {
        found.ok("others cannot read the secrets");
    }
}

/// Whether this user may write to the data folder. Asks the system and writes nothing.
pub(super) fn data_folder(asked: &CheckInput, found: &mut Findings) {
    let data = &asked.settings.dirs.data;
    let problem = match fs::metadata(data) {
        Ok(meta) if !meta.is_dir() => Some("it is not a folder".to_owned()),
        Ok(_) => access(data, Access::WRITE_OK | Access::EXEC_OK).err().map(|e| e.to_string()),
        Err(error) => Some(error.to_string()),
    };
    let shown = data.display();
    let remedy = match (&problem, data.is_dir(), data.exists()) {
        (None, ..) => return found.ok(shown.to_string()),
        (_, true, _) if is_of_another(data) => format!(
            "another user owns the folder: run cms as that user, or `chown -R USER {}` as root, \
             where USER runs cms",
            word(data)
        ),
        (_, true, _) => format!("`chmod u+wx {}`, by the user that runs cms", word(data)),
        (_, _, true) => "let dirs.data name a folder".to_owned(),
        _ => format!("`mkdir -p -m 700 {}`, or let dirs.data name the right folder", word(data)),
    };
    let problem = problem.unwrap_or_default();
    found.error(format!("{shown} cannot be written: {problem}"), remedy);
}

/// The data folder and SQLite's files contain user data, so only their owner may read them.
pub(super) fn modes(asked: &CheckInput, found: &mut Findings) {
    let mut paths = vec![asked.settings.dirs.data.clone()];
    paths.retain(|data| data.is_dir());
    if let Ok(Database::Sqlite { path, .. }) = asked.settings.database() {
        let beside = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
        let files = ["", "-wal", "-shm"].map(beside);
        paths.extend(files.into_iter().filter(|path| path.is_file()));
    }
    for path in paths {
        let mode = mode_of(&path).unwrap_or_default();
        if mode & 0o077 != 0 {
            let what = format!("{} has mode {mode:04o}: others can read it", path.display());
            found.warning(what, format!("`chmod go= {}`", word(&path)));
        }
    }
}

fn mode_of(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|meta| meta.permissions().mode() & 0o777)
}
