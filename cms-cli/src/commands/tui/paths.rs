//! Where the interface keeps its files (XDG Base Directory Specification).

use std::{env, path::PathBuf};

/// An absolute folder that the environment names, else one below HOME.
fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)));
    base.map(|base| base.join("cms"))
}

/// The folder of `keys.toml`.
pub(super) fn config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
}

/// The file of what is remembered of a site.
pub(super) fn state(site: &str) -> Option<PathBuf> {
    let name: String =
        site.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(120).collect();
    Some(folder("XDG_STATE_HOME", ".local/state")?.join("tui").join(format!("{name}.json")))
}
