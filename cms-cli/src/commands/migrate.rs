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
    let lacks = if open == 0 && !apply { folder::lacks(settings).await } else { None };
    let state = |step: &Migration| match (step.applied, apply) {
        (true, _) => "applied",
        (false, true) => "just applied",
        (false, false) => "pending",
    };
    if out.json {
        let steps = steps
            .iter()
            .map(|s| json!({"version": s.version, "name": s.name, "applied": s.applied || apply}));
        let tables = lacks.map(|what| json!({"version": null, "name": what, "applied": false}));
        return Ok(out.data(&steps.chain(tables).collect::<Vec<_>>().into())?);
    }
    let rows: Vec<_> = steps
        .iter()
        .map(|s| vec![s.version.to_string(), s.name.clone(), state(s).to_owned()])
        .collect();
    table::rows(out, &["version", "name", "state"], &rows)?;
    match (open, apply) {
        (0, false) if let Some(what) = lacks => {
            out.note(&format!("These are pending: {what}. Next: cms migrate up"))
        }
        (0, _) => out.note("The database is up to date."),
        (1, true) => out.note("1 step was applied."),
        (_, true) => out.note(&format!("{open} steps were applied.")),
        (1, false) => out.note("1 step is pending. Next: cms migrate up"),
        (_, false) => out.note(&format!("{open} steps are pending. Next: cms migrate up")),
    }
    Ok(())
}
