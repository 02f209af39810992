//! `cms config`: the settings in force, with secrets masked

use std::path::{Path, PathBuf};

use clap::Subcommand;
use cms_core::settings::{Database, Setting, starter_file, starter_local_file};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, table},
    target::Target,
};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List all settings
    Show {
        /// Also tell where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Print one setting
    Get {
        /// Name of the setting, such as listen or cache.ttl_s
        key: String,
    },
    /// List the files and folders of the site
    Path,
    /// Check the settings
    Validate,
}

pub(crate) fn run(flags: &Flags, out: &Output, command: &ConfigCommand) -> Done {
    let dir = Target::folder_only(flags, "cms config")?;
    let loaded = folder::settings(&dir, &[], out)?;
    let shown = |setting: &Setting| {
        let origin = setting.origin.to_string();
        json!({"key": setting.key, "value": value(setting), "origin": origin})
    };
    match command {
        ConfigCommand::Show { .. } if out.json => {
            Ok(out.data(&loaded.origins.iter().map(shown).collect::<Vec<_>>().into())?)
        }
        ConfigCommand::Show { origin } => {
            let columns: &[&str] =
                if *origin { &["key", "value", "origin"] } else { &["key", "value"] };
            let row = |setting: &Setting| {
                [setting.key.clone(), setting.value.clone(), setting.origin.to_string()]
                    [..columns.len()]
                    .to_vec()
            };
            Ok(table::rows(out, columns, &loaded.origins.iter().map(row).collect::<Vec<_>>())?)
        }
        ConfigCommand::Get { key } => {
            let setting = loaded.origins.get(key).ok_or_else(|| {
                Failure::new(Exit::NotFound, format!("there is no setting {key:?}"))
                    .hint("cms config show lists all of them")
            })?;
            if out.json {
                return Ok(out.data(&shown(setting))?);
            }
            out.detail(&format!("from {}", setting.origin));
            Ok(out.line(&setting.value)?)
        }
        ConfigCommand::Path => {
            let dirs = &loaded.settings.dirs;
            let mut paths = vec![
                ("cms.toml", dir.join("cms.toml")),
                ("cms.local.toml", dir.join("cms.local.toml")),
            ];
            if let Database::Sqlite { path, .. } = loaded.settings.database()? {
                paths.push(("database", path));
            }
            paths.extend([
                ("data", dirs.data.clone()),
                ("plugins", dirs.plugins.clone()),
                ("media", dirs.media.clone()),
            ]);
            if out.json {
                let shown = |(name, path): &(_, PathBuf)| {
                    let shown = path.display().to_string();
                    json!({"name": name, "path": shown, "exists": path.exists()})
                };
                return Ok(out.data(&paths.iter().map(shown).collect::<Vec<Json>>().into())?);
            }
            let state = |path: &Path| if path.exists() { "exists" } else { "missing" };
            let rows: Vec<_> = paths
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

/// The default of a setting as TOML. The two starter files together name every key in comments.
fn default(key: &str) -> Option<String> {
    let line = format!("#{key} = ");
    [starter_file(), starter_local_file(None, None)]
        .iter()
        .flat_map(|text| text.lines())
        .find_map(|text| text.strip_prefix(&line).map(str::to_owned))
}

/// The value of a setting, with the type of its default: a number, a boolean, a list or a text.
fn value(setting: &Setting) -> Json {
    let text = setting.value.as_str();
    match default(&setting.key).as_deref().and_then(|default| default.chars().next()) {
        Some('[') => text.split(',').filter(|part| !part.is_empty()).collect(),
        Some('"') | None => text.into(),
        Some(_) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

#[cfg(test)]
mod tests {
    use cms_core::settings::Settings;

    use super::*;

    #[test]
    fn values_have_the_types_of_their_defaults() {
        let old_key = format!("{}=", "A".repeat(43));
        let flags = [("languages", "en,de".to_owned()), ("old_encryption_keys", old_key)];
        let folder = Path::new("/no/such/site");
        let loaded = Settings::load(folder, std::iter::empty(), &flags).expect("settings");
        for setting in &loaded.origins {
            let default = default(&setting.key).expect(&setting.key);
            let is_as_declared = match value(setting) {
                Json::String(_) => default.starts_with('"'),
                Json::Array(_) => default.starts_with('['),
                Json::Bool(value) => default == value.to_string(),
                Json::Number(value) => default == value.to_string(),
                _ => false,
            };
            assert!(is_as_declared, "{}: {} of {default}", setting.key, value(setting));
        }
        for (key, expected) in [
            ("languages", json!(["en", "de"])),
            ("old_encryption_keys", json!(["***"])),
            ("allowed_hosts", json!([])),
            ("slow_ms", json!(500)),
            ("webhooks.allow_http", json!(false)),
            ("listen", json!("127.0.0.1:8080")),
            ("site_url", json!("")),
        ] {
            let setting = loaded.origins.get(key).expect(key);
            assert_eq!(value(setting), expected, "{key}");
        }
    }
}
