//! `cms plugins`: the plugins of a site, and help for those who write them. `cms plugins diff`,
//! `apply`, `remove` and `release`: what plugins change, from `/api/backend/plugins/`

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Subcommand;
use cms_core::{
    Cms,
    plugins::{LoadedPlugin, Manifest, Names, check_folder, full_path, load_folder, schema},
};
use cms_http::{
    client::Client,
    wire::{
        Data, NoBody,
        parameters::NoQuery,
        plugin_changes::{
            Applied, Apply, ChangeState, Diff, PluginChanges, Release, Released, Remove, Removed,
            WhichPlugin,
        },
        plugins::{Read, WhichPlugins},
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, record::text, table},
    prompt,
    reply::{self, Paging},
    site::Site,
    target::Target,
};

/// The manifest of a new plugin.
const BEGINNING: &str = r#"{
  "$schema": "../plugin.schema.json",
  "id": "NAME",
  "name": "NAME",
  "version": "0.1.0",
  "tables": [
    {
      "name": "NAME_items",
      "columns": [{"name": "title", "type": "text", "required": true}]
    }
  ],
  "content_button": [
    {
      "button_id": "edit",
      "type": "edit",
      "title": "Edit",
      "editable_rows": [{"column": "title", "type": "text", "placeholder": "Title"}]
    }
  ],
  "action_button": [
    {
      "button_id": "add",
      "type": "insert",
      "title": "Add",
      "editable_rows": [{"column": "title", "type": "text", "placeholder": "Title"}]
    }
  ]
}
"#;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginsCommand {
    /// List the plugins that the site found
    List(Paging),
    /// Show a plugin: its problems, tables, permissions and manifest
    #[command(after_help = "Example: cms plugins show blog")]
    Show {
        /// Its id
        id: String,
    },
    /// Check plugin.json in a folder, or in each folder of a folder; exits 1 for problems
    #[command(after_help = "Example: cms plugins check plugins/blog

Each problem is a line: file, line and column, JSON pointer, remedy.")]
    Check {
        /// Folder of a plugin, or of plugins
        folder: PathBuf,
    },
    /// Print the JSON Schema of plugin.json
    #[command(after_help = "Example: cms plugins schema > plugin.schema.json")]
    Schema,
    /// Make a plugin to begin with, and the schema by which editors check it
    #[command(after_help = "Example: cms plugins new shop")]
    New {
        /// Its id: lower-case letters, digits and _
        id: String,
    },
    #[command(flatten)]
    Changes(ChangesCommand),
}

impl PluginsCommand {
    /// Whether the verb works on files and the schema, where no user's rights count.
    pub(crate) fn ignores_rights(&self) -> bool {
        match self {
            Self::Check { .. } | Self::Schema | Self::New { .. } => true,
            Self::Changes(command) => matches!(command, ChangesCommand::Apply { .. }),
            Self::List(_) | Self::Show { .. } => false,
        }
    }
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: PluginsCommand) -> Done {
    match command {
        PluginsCommand::Check { folder } => check(flags, out, &folder).await,
        PluginsCommand::Schema => Ok(out.raw(&written_schema())?),
        PluginsCommand::New { id } => new(flags, out, &id),
        PluginsCommand::Changes(command) => change(flags, out, command).await,
        PluginsCommand::List(paging) => {
            let columns = ["id", "name", "version", "in_service", "earlier", "tables"];
            let query = |limit, cursor| WhichPlugins { limit, cursor, ..WhichPlugins::default() };
            let site = open(flags, out, false).await?;
            let listed = reply::list::<Read>(out, &site.client, &paging, &columns, query).await;
            listed.and(site.close().await)
        }
        PluginsCommand::Show { id } => {
            let asked = WhichPlugins { id: Some(id), ..WhichPlugins::default() };
            let site = open(flags, out, false).await?;
            let none = cms_http::wire::NoBody;
            let shown = reply::record::<Read>(out, &site.client, &asked, &none).await;
            shown.and(site.close().await)
        }
    }
}

/// The names of the plugins of the site that the flags name, and the manifests in service there;
/// both empty without a site.
async fn surroundings(flags: &Flags, out: &Output) -> (Names, Vec<Manifest>) {
    let Ok(Target::Folder(dir)) = Target::of(flags) else { return Default::default() };
    let Ok(loaded) = folder::existing(&dir, &[], out) else { return Default::default() };
    let names = Cms::builder(loaded.settings.clone()).plugin_names().await.unwrap_or_default();
    let Ok(builder) = folder::builder(loaded.settings) else { return (names, Vec::new()) };
    let Ok(cms) = builder.inspect().await else { return (names, Vec::new()) };
    let states = cms.plugins().states();
    let in_service = states.iter().filter_map(|state| state.manifest.as_deref().cloned()).collect();
    cms.close().await;
    (names, in_service)
}

/// The plugin of a folder, and those beside it.
fn with_neighbours(
    folder: &Path,
    in_service: &[Manifest],
) -> (Vec<LoadedPlugin>, Vec<LoadedPlugin>) {
    let full = full_path(folder);
    let all = full.parent().map(|around| load_folder(around, in_service)).unwrap_or_default();
    let (same, beside): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| one.folder() == full.as_path());
    // If the neighbours cannot be listed, the folder is checked alone.
    (if same.is_empty() { vec![check_folder(folder)] } else { same }, beside)
}

async fn check(flags: &Flags, out: &Output, folder: &Path) -> Done {
    if !folder.is_dir() {
        let what = format!("{} is no folder", folder.display());
        return Err(Failure::new(Exit::NotFound, what).hint("cms plugins check plugins/NAME"));
    }
    let single = fs::symlink_metadata(folder.join("plugin.json")).is_ok();
    let (names, in_service) = surroundings(flags, out).await;
    let (mut found, beside) = match single {
        true => with_neighbours(folder, &in_service),
        false => (load_folder(folder, &in_service), Vec::new()),
    };
    if found.is_empty() {
        let what = format!("{} has no plugin.json, nor has a folder in it", folder.display());
        return Err(Failure::new(Exit::NotFound, what).hint("cms plugins new NAME makes one"));
    }
    let neighbours = if single { &beside } else { &found };
    let shared: Vec<_> = found.iter().map(|plugin| names.problems_of(plugin, neighbours)).collect();
    for (plugin, problems) in found.iter_mut().zip(shared) {
        if !problems.is_empty() {
            plugin.outcome = Err(problems);
        }
    }
    let faulty = found.iter().filter(|plugin| plugin.outcome.is_err()).count();
    if out.json {
        let plugins = found.iter().map(|plugin| {
            let problems = plugin.outcome.as_ref().err();
            json!({"id": plugin.id, "problems": problems.cloned().unwrap_or_default()})
        });
        out.data(&plugins.collect())?;
    } else {
        for plugin in &found {
            let file = if single { folder.to_owned() } else { folder.join(&plugin.id) };
            print(out, plugin, &file.join("plugin.json"))?;
        }
    }
    if faulty == 0 { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
}

fn print(out: &Output, plugin: &LoadedPlugin, file: &Path) -> Done {
    let Err(problems) = &plugin.outcome else {
        out.note(&format!("{}: no problems", plugin.id));
        return Ok(());
    };
    for problem in problems {
        let place = match (problem.line, problem.column) {
            (Some(line), Some(column)) => format!(":{line}:{column}"),
            _ => String::new(),
        };
        let pointer = match problem.pointer.as_str() {
            "" => String::new(),
            pointer => format!("{pointer}: "),
        };
        out.line(&format!("{}{place}: {pointer}{}", file.display(), problem.remedy))?;
    }
    Ok(())
}

fn written_schema() -> String {
    format!("{:#}\n", schema().to_value())
}

fn new(flags: &Flags, out: &Output, id: &str) -> Done {
    let plugins = folder::settings(flags.dir(), &[], out)?.settings.dirs.plugins;
    let (folder, shared) = (plugins.join(id), plugins.join("plugin.schema.json"));
    let manifest = BEGINNING.replace("NAME", id);
    let named: Manifest =
        serde_json::from_str(&manifest).map_err(|_| Failure::usage(format!("{id:?} is no id")))?;
    if let Some(problem) = named.problems().first() {
        return Err(Failure::usage(format!("{id:?} cannot be an id: {}", problem.remedy)));
    }
    if fs::symlink_metadata(&folder).is_ok() {
        let what = format!("{} is there already", folder.display());
        return Err(Failure::new(Exit::Refused, what).hint("choose another id"));
    }
    fs::create_dir_all(&folder).map_err(|e| Failure::file(&folder, &e))?;
    let file = folder.join("plugin.json");
    for (file, text) in [(&shared, written_schema()), (&file, manifest)] {
        fs::write(file, text).map_err(|e| Failure::file(file, &e))?;
    }
    let done = format!(
        "{} is made; `cms plugins check {}` checks it, `cms serve` takes it into service",
        file.display(),
        folder.display()
    );
    out.done(&json!({"file": file.display().to_string()}), &done)
}

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

pub(crate) async fn change(flags: &Flags, out: &Output, command: ChangesCommand) -> Done {
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
async fn open(flags: &Flags, out: &Output, apply: bool) -> Done<Site> {
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
            reply::printed::<Diff>(out, client, &which, &NoBody, |found| {
                print_changes(out, &found.data)
            })
            .await
        }
        ChangesCommand::Apply { plugin, accept_loss } => {
            let body = Applied { plugin, accept_loss };
            let (answer, Data { data, .. }) =
                reply::call::<Apply>(client, &NoQuery {}, &body).await?;
            if out.json {
                out.line(&answer.body)?;
            } else {
                print_changes(out, &data)?;
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
fn print_changes(out: &Output, found: &[PluginChanges]) -> Done {
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
