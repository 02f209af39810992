//! The settings of a site's folder.

use std::path::Path;

use cms_core::settings::{Loaded, Origin, Settings};

use crate::{
    environment,
    output::{Done, Exit, Failure, Output},
};

/// The settings of a folder. Prints their warnings.
pub(crate) fn settings(dir: &Path, overrides: &[(&str, String)], out: &Output) -> Done<Loaded> {
    let loaded = Settings::load(dir, environment::variables(), overrides)?;
    for warning in &loaded.warnings {
        out.note(&format!("warning: {warning}"));
    }
    Ok(loaded)
}

/// The settings of a folder that holds a site. Without this check, a command in the wrong folder
/// would create a database there.
pub(crate) fn existing(dir: &Path, overrides: &[(&str, String)], out: &Output) -> Done<Loaded> {
    let loaded = settings(dir, overrides, out)?;
    if is_site(&loaded) {
        return Ok(loaded);
    }
    let shown = dir.display();
    Err(Failure::new(Exit::NotFound, format!("there is no site in {shown}: it has no cms.toml"))
        .hint(format!("cms init --dir {shown}, or name another site: --dir FOLDER or --url URL")))
}

/// Whether the folder holds a site, or the environment names its database.
pub(crate) fn is_site(loaded: &Loaded) -> bool {
    let file = |name| loaded.dir.join(name).is_file();
    let named = |key| {
        loaded
            .origins
            .get(key)
            .is_some_and(|entry| entry.origin != Origin::Default && !entry.value.is_empty())
    };
    file("cms.toml") || file("cms.local.toml") || named("database_url") || named("db_host")
}
