//! Checks of plugins: they are in service as declared, their folders exist, and there is an
//! interpreter for their scripts.

use std::{collections::BTreeMap, fs};

use super::{
    CheckInput,
    finding::{Findings, word},
};
use crate::{
    Cms, Result,
    plugins::{
        PluginState,
        installed::{self, Installed},
    },
};

pub(super) async fn refused(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let folder = &cms.settings().dirs.plugins;
    let installed = installed::all(cms.db()).await?;
    let states = cms.plugins().states();
    for plugin in states.iter() {
        let id = &plugin.id;
        if installed.get(id).is_some_and(|before| before.removed) {
            found.ok(format!("{id} is removed; `cms plugins apply {id}` takes it back"));
            continue;
        }
        if installed.contains_key(id) && is_gone(cms, id) {
            // The next check reports this.
            continue;
        }
        let left = cms.plugins().left_tables(id);
        let differs = plugin.problems.is_empty() && is_other(cms, plugin, &installed)?;
        if differs {
            let what = format!(
                "{id}: the declaration in service here is not the one that was applied last; each \
                 process reads {} on its own machine",
                folder.join(id).join("plugin.json").display()
            );
            let remedy = format!(
                "give every node the same {}, then `cms plugins apply {id}`",
                word(&folder.join(id))
            );
            found.warning(what, remedy);
            found.about(id);
        } else if plugin.problems.is_empty() && left.is_empty() {
            found.ok(id.clone());
        }
        for problem in left {
            found.warning(format!("{id}: {problem}"), "do what the message says");
            found.about(id);
        }
        let until = match plugin.is_earlier() {
            true => "; until then the earlier declaration stays in service",
            false => "",
        };
        for problem in &plugin.problems {
            let remedy = if problem.remedy.contains("cms migrate up") {
                format!("`cms migrate up`{until}")
            } else if folder.join(id).is_dir() {
                let file = folder.join(id).join("plugin.json");
                format!(
                    "do what the message says in {}, then `cms plugins apply {id}`{until}",
                    word(&file)
                )
            } else {
                format!("do what the message says{until}")
            };
            found.error(format!("{id}: {problem}"), remedy);
            found.about(id);
        }
    }
    // Plugins in Rust need no manifest; any other folder may be a plugin that lacks one.
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_known = states.iter().any(|plugin| plugin.id == name);
        let manifest = path.join("plugin.json");
        if path.is_dir() && !is_known && fs::symlink_metadata(&manifest).is_err() {
            let what = format!("{} has no plugin.json", path.display());
            found.warning(what, "add one, or move the folder elsewhere");
        }
    }
    Ok(())
}

/// Whether this process serves another declaration than the database records. Each process reads
/// its own folder.
fn is_other(
    cms: &Cms,
    plugin: &PluginState,
    installed: &BTreeMap<String, Installed>,
) -> Result<bool> {
    let (Some(before), Some(served)) = (installed.get(&plugin.id), &plugin.manifest) else {
        return Ok(false);
    };
    Ok(!is_given(cms, &plugin.id) && !before.declares(served)?)
}

/// Plugins that were in service and whose folder is missing.
pub(super) async fn vanished(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    for (id, before) in installed::all(cms.db()).await? {
        if before.removed || !is_gone(cms, &id) {
            continue;
        }
        let folder = cms.settings().dirs.plugins.join(&id);
        let what = format!("the plugin {id} was in service, and {} is gone", folder.display());
        let remedy = format!(
            "put the folder back, then `cms plugins apply {id}`; if it is to go: `cms plugins \
             remove {id} --yes`"
        );
        found.error(what, remedy);
        found.about(id);
    }
    if found.findings.is_empty() {
        found.ok("all are there");
    }
    Ok(())
}

/// Whether a plugin is neither in the folder nor part of the program. A path that is not a folder
/// is reported elsewhere.
fn is_gone(cms: &Cms, id: &str) -> bool {
    let folder = &cms.settings().dirs.plugins;
    (folder.is_dir() || !folder.exists())
        && fs::symlink_metadata(folder.join(id).join("plugin.json")).is_err()
        && !is_given(cms, id)
}

/// Whether the plugin is part of the program.
fn is_given(cms: &Cms, id: &str) -> bool {
    cms.0.given.iter().any(|plugin| plugin.manifest().id == id)
}

pub(super) fn interpreter(asked: &CheckInput, found: &mut Findings) {
    let Some(cms) = asked.cms() else { return };
    let plugins = cms.plugins().with_scripts();
    if plugins.is_empty() {
        return;
    }
    let name = &cms.settings().scripts.interpreter;
    match cms.scripts().interpreter() {
        Some(path) => found.ok(path.display().to_string()),
        None => found.error(
            format!("{name} is not there, and these plugins have scripts: {}", plugins.join(", ")),
            format!("install {name}, or set scripts.interpreter to the path of one"),
        ),
    }
}
