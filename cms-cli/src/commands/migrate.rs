//! `cms migrate`: the schema of the database

use clap::Subcommand;
use cms_core::{Cms, db::Migration};
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Output, table},
    target::Target,
};

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// List the steps, and which are applied
    Status,
    /// Apply the pending steps, and make the tables of plugins
    Up,
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: &MigrateCommand) -> Done {
    let dir = Target::folder_only(flags, "cms migrate")?;
    let settings = folder::existing(&dir, &[], out)?.settings;
    let apply = matches!(command, MigrateCommand::Up);
    let steps = if apply {
        folder::bring_up_to_date(settings.clone()).await?
    } else {
        Cms::builder(settings.clone()).migrations(false).await?
    };
    let open = steps.iter().filter(|step| !step.applied).count();
    // Tables of plugins come after the steps.
    let plugins = match (open, apply) {
        (0, false) => folder::pending_plugins(settings).await?,
        _ => Vec::new(),
    };
    let tables = |id: &String| format!("tables of the plugin {id}");
    let state = |step: &Migration| match (step.applied, apply) {
        (true, _) => "applied",
        (false, true) => "just applied",
        (false, false) => "pending",
    };
    if out.json {
        let steps = steps
            .iter()
            .map(|s| json!({"version": s.version, "name": s.name, "applied": s.applied || apply}));
        let plugins =
            plugins.iter().map(|id| json!({"version": null, "name": tables(id), "applied": false}));
        return Ok(out.data(&steps.chain(plugins).collect::<Vec<_>>().into())?);
    }
    let steps = steps.iter().map(|s| [s.version.to_string(), s.name.clone(), state(s).to_owned()]);
    let pending = plugins.iter().map(|id| [String::new(), tables(id), "pending".to_owned()]);
    let rows: Vec<_> = steps.chain(pending).map(Vec::from).collect();
    table::rows(out, &["version", "name", "state"], &rows)?;
    match (open, apply) {
        (0, _) if !plugins.is_empty() => {
            out.note("Tables of plugins are pending. Next: cms migrate up");
        }
        (0, _) => out.note("The database is up to date."),
        (1, true) => out.note("1 step was applied."),
        (_, true) => out.note(&format!("{open} steps were applied.")),
        (1, false) => out.note("1 step is pending. Next: cms migrate up"),
        (_, false) => out.note(&format!("{open} steps are pending. Next: cms migrate up")),
    }
    Ok(())
}
