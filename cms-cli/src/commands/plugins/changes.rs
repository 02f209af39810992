//! `cms plugins diff`, `apply`, `remove` and `release`: what plugins change, from
//! `/api/backend/plugins/`

use clap::Subcommand;
use cms_core::Cms;
use cms_http::{
    client::Client,
    wire::{
        Data, NoBody,
        parameters::NoQuery,
        plugin_changes::{
            Applied, Apply, ChangeState, Diff, PluginChanges, Release, Released, Remove, Removed,
            WhichPlugin,
        },
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, record::text, table},
    prompt, reply,
    site::Site,
    target::Target,
};

#[derive(Debug, Subcommand)]
pub(crate) enum ChangesCommand {
    /// Show what applying the plugins of the folder would change
    Diff {
        /// Its id; all without it
        plugin: Option<String>,
    },
    /// Read the plugins of the folder again and give their tables the declared form
    #[command(after_help = "Example: cms plugins apply blog

A running site takes them up by itself. What would lose data is refused.")]
    Apply {
        /// Its id, also when it was removed; all others without it
        plugin: Option<String>,
        /// A column whose values may be lost
        #[arg(long, value_name = "TABLE.COLUMN")]
        accept_loss: Vec<String>,
    },
    /// Take a plugin out of service until it is applied by name; its tables stay
    Remove {
        /// Its id
        plugin: String,
    },
    /// Free names that a plugin owns but does not declare; all when it is out of service
    #[command(after_help = "Example: cms plugins release shop

The next plugin that declares a table of theirs gets it with its rows.")]
    Release {
        /// Its id
        plugin: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: ChangesCommand) -> Done {
    if let ChangesCommand::Remove { plugin } = &command {
        let question = format!("Take the plugin {plugin} out of service? Its tables stay.");
        prompt::confirm(flags, &question)?;
    }
    if let ChangesCommand::Release { plugin } = &command {
        let question = format!(
            "Give up the names that {plugin} does not declare? Others can take its tables then."
        );
        prompt::confirm(flags, &question)?;
    }
    let site = match &command {
        ChangesCommand::Remove { .. } | ChangesCommand::Release { .. } => {
            Site::open(flags, &Target::of(flags)?, out).await?
        }
        command => open(flags, out, matches!(command, ChangesCommand::Apply { .. })).await?,
    };
    let outcome = act(out, &site.client, command).await;
    outcome.and(site.close().await)
}

/// Opens a folder even if its plugins are not up to date. `apply` brings the schema up to date.
pub(super) async fn open(flags: &Flags, out: &Output, apply: bool) -> Done<Site> {
    let target = Target::of(flags)?;
    let Target::Folder(dir) = &target else { return Site::open(flags, &target, out).await };
    out.detail(&format!("site: {target}"));
    let settings = folder::existing(dir, &[], out)?.settings;
    if apply {
        Cms::builder(settings.clone()).migrations(true).await?;
    }
    let cms = folder::builder(settings)?.inspect().await?;
    Site::opened(flags, cms).await
}

async fn act(out: &Output, client: &Client, command: ChangesCommand) -> Done {
    match command {
        ChangesCommand::Diff { plugin } => {
            let which = WhichPlugin { plugin };
            reply::printed::<Diff>(out, client, &which, &NoBody, |found| print(out, &found.data))
                .await
        }
        ChangesCommand::Apply { plugin, accept_loss } => {
            let body = Applied { plugin, accept_loss };
            let (answer, Data { data }) = reply::call::<Apply>(client, &NoQuery {}, &body).await?;
            if out.json {
                out.line(&answer.body)?;
            } else {
                print(out, &data)?;
            }
            let refused = data.iter().filter(|one| one.state == ChangeState::Refused).count();
            match refused {
                0 => Ok(()),
                all if all == data.len() => Err(Failure::silent(Exit::Refused)),
                _ => Err(Failure::silent(Exit::Partly)),
            }
        }
        ChangesCommand::Remove { plugin } => {
            let body = Removed { plugin };
            client.call::<Remove>(&NoQuery {}, &body).await?;
            let told = format!("The plugin {} is out of service; its tables stay.", body.plugin);
            out.done(&json!({"removed": body.plugin}), &told)
        }
        ChangesCommand::Release { plugin } => {
            let body = Released { plugin };
            reply::printed::<Release>(out, client, &NoQuery {}, &body, |freed| {
                if freed.data.is_empty() {
                    out.note(&format!("{} declares all names that it owns.", body.plugin));
                }
                table::records(out, &["kind", "name"], &freed.data)
            })
            .await
        }
    }
}

/// Prints a line for each step. What prevents one goes to standard error.
fn print(out: &Output, found: &[PluginChanges]) -> Done {
    let mut rows = Vec::new();
    for one in found {
        let row = |action: &str, table: &str, columns: &str| {
            vec![
                one.plugin.clone(),
                text(&json!(one.state)),
                action.to_owned(),
                table.to_owned(),
                columns.to_owned(),
            ]
        };
        if one.changes.steps.is_empty() && one.events.is_empty() && one.widgets.is_empty() {
            rows.push(row("", "", ""));
        }
        for step in &one.changes.steps {
            rows.push(row(step.action.name(), &step.table, &step.columns.join(", ")));
        }
        for event in &one.events {
            rows.push(row("register_event", "", event));
        }
        for change in &one.widgets {
            rows.push(row(change.action.name(), "", &change.widget));
        }
        let problems = one.problems.iter().map(ToString::to_string);
        let reasons: Vec<_> = problems.chain(one.changes.refused.iter().cloned()).collect();
        for (i, reason) in reasons.iter().enumerate() {
            if !reasons[..i].contains(reason) {
                out.note(&format!("{}: {reason}", one.plugin));
            }
        }
    }
    Ok(table::rows(out, &["plugin", "state", "action", "table", "columns"], &rows)?)
}
