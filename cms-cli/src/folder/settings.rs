//! The settings of a site's folder.

use std::path::Path;

use cms_core::settings::{Loaded, Settings};

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
    if loaded.is_site() {
        return Ok(loaded);
    }
    let shown = dir.display();
    Err(Failure::new(Exit::NotFound, format!("there is no site in {shown}: it has no cms.toml"))
        .hint(format!("cms init --dir {shown}, or name another site: --dir FOLDER or --url URL")))
}
