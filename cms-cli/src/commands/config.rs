//! `cms config`: the settings in force, with secrets masked

use clap::Subcommand;
use cms_core::settings::{Database, Entry};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, table},
    target::Target,
};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// All settings
    Show {
        /// Also where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// One setting
    Get {
        /// Such as listen or cache.ttl_s
        key: String,
    },
    /// The files and folders of the site
    Path,
    /// Whether the settings can be used
    Validate,
}

pub(crate) fn run(flags: &Flags, out: &Output, command: &ConfigCommand) -> Done {
    let dir = Target::folder_only(flags, "cms config")?;
    let loaded = folder::settings(&dir, &[], out)?;
    let shown = |entry: &Entry| json!({"key": entry.key, "value": entry.value, "origin": entry.origin.to_string()});
    match command {
        ConfigCommand::Show { .. } if out.json => {
            Ok(out.data(&loaded.origins.iter().map(shown).collect::<Vec<_>>().into())?)
        }
        ConfigCommand::Show { origin } => {
            let columns: &[&str] =
                if *origin { &["key", "value", "origin"] } else { &["key", "value"] };
            let row = |entry: &Entry| {
                [entry.key.clone(), entry.value.clone(), entry.origin.to_string()][..columns.len()]
                    .to_vec()
            };
            Ok(table::rows(out, columns, &loaded.origins.iter().map(row).collect::<Vec<_>>())?)
        }
        ConfigCommand::Get { key } => {
            let entry = loaded.origins.get(key).ok_or_else(|| {
                Failure::new(Exit::NotFound, format!("there is no setting {key:?}"))
                    .hint("cms config show lists all of them")
            })?;
            if out.json {
                return Ok(out.data(&shown(entry))?);
            }
            out.detail(&format!("from {}", entry.origin));
            Ok(out.line(&entry.value)?)
        }
        ConfigCommand::Path => {
            let dirs = &loaded.settings.dirs;
            let mut places = vec![
                ("cms.toml", dir.join("cms.toml")),
                ("cms.local.toml", dir.join("cms.local.toml")),
            ];
            if let Database::Sqlite { path } = loaded.settings.database()? {
                places.push(("database", path));
            }
            places.extend([
                ("data", dirs.data.clone()),
                ("plugins", dirs.plugins.clone()),
                ("media", dirs.media.clone()),
            ]);
            if out.json {
                let place = |(name, path): &(_, std::path::PathBuf)| json!({"name": name, "path": path.display().to_string(), "exists": path.exists()});
                return Ok(out.data(&places.iter().map(place).collect::<Vec<Json>>().into())?);
            }
            let state = |path: &std::path::Path| if path.exists() { "exists" } else { "missing" };
            let rows: Vec<_> = places
                .iter()
                .map(|(name, path)| {
                    vec![(*name).to_owned(), path.display().to_string(), state(path).to_owned()]
                })
                .collect();
            Ok(table::rows(out, &["name", "path", "state"], &rows)?)
        }
        ConfigCommand::Validate if out.json => {
            Ok(out.data(&json!({"valid": true, "warnings": loaded.warnings}))?)
        }
        ConfigCommand::Validate => {
            out.note("The settings are valid.");
            Ok(())
        }
    }
}
