//! `cms init`: makes a site in a folder, or completes one. What exists is never overwritten.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use clap::Args;
use cms_core::{
    Cms, Random,
    crypto::Vault,
    settings::{self, Loaded},
};
use serde_json::json;

use crate::{
    args::Global,
    failure::{Done, Failure},
    output::Output,
    site,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  cms init\n  cms init --dir /srv/shop")]
pub(crate) struct InitArgs {}

/// What `init` found and made.
#[derive(Debug, Default)]
pub(crate) struct Report {
    made: Vec<String>,
    kept: Vec<String>,
}

pub(crate) async fn run(global: &Global, out: &Output, _: &InitArgs) -> Done {
    let dir = site::local_only(global, "cms init")?;
    let report = make(&dir, &[], out).await?;
    if out.json {
        return Ok(out.data(&json!({"dir": dir.display().to_string(), "made": report.made, "kept": report.kept}))?);
    }
    for made in &report.made {
        out.note(&format!("made  {made}"));
    }
    for kept in &report.kept {
        out.note(&format!("kept  {kept}"));
    }
    let dir = if dir == Path::new(".") { String::new() } else { format!(" --dir {}", dir.display()) };
    out.note(&format!("\nNext:\n  cms doctor{dir}\n  cms keys create{dir} --name admin --right '*'\n  cms serve{dir}"));
    Ok(())
}

/// Writes what is missing: both files, the secrets, the folders, the schema.
pub(crate) async fn make(dir: &Path, languages: &[&str], out: &Output) -> Done<Report> {
    let mut report = Report::default();
    fs::create_dir_all(dir).map_err(|e| Failure::file(dir, &e))?;
    let shared = dir.join("cms.toml");
    if shared.exists() {
        report.kept.push("cms.toml".to_owned());
    } else {
        write_new(&shared, &starter(languages), 0o644)?;
        report.made.push("cms.toml".to_owned());
    }
    let local = dir.join("cms.local.toml");
    let random = Random::system();
    if local.exists() {
        report.kept.push("cms.local.toml".to_owned());
    } else {
        write_new(&local, &settings::starter_local_file(&salt(&random)?, &Vault::new_key(&random)?), 0o600)?;
        report.made.push("cms.local.toml with password_salt and encryption_key".to_owned());
    }
    let mut loaded = site::settings(dir, &[], out)?;
    if add_secrets(&local, &loaded, &random, &mut report)? {
        loaded = site::settings(dir, &[], out)?;
    }
    for (name, folder) in [("data", &loaded.settings.dirs.data), ("plugins", &loaded.settings.dirs.plugins)] {
        if !folder.is_dir() {
            fs::create_dir_all(folder).map_err(|e| Failure::file(folder, &e))?;
            report.made.push(format!("the folder {name}"));
        }
    }
    let steps = Cms::builder(loaded.settings).migrations(true).await?;
    match steps.iter().filter(|step| !step.applied).count() {
        0 => report.kept.push("the database".to_owned()),
        new => report.made.push(format!("the database's schema ({new} steps)")),
    }
    Ok(report)
}

fn starter(languages: &[&str]) -> String {
    let text = settings::starter_file();
    if languages.is_empty() {
        return text;
    }
    let wanted = format!("languages = {languages:?}");
    text.lines().map(|line| if line.starts_with("#languages = ") { format!("{wanted}\n") } else { format!("{line}\n") }).collect()
}

/// A local file that was there lacks secrets that no other layer gives: they go in front, above every table.
fn add_secrets(local: &Path, loaded: &Loaded, random: &Random, report: &mut Report) -> Done<bool> {
    let mut missing = String::new();
    if loaded.settings.password_salt.is_none() {
        missing += &format!("password_salt = \"{}\"\n", salt(random)?);
        report.made.push("password_salt".to_owned());
    }
    if loaded.settings.encryption_key.is_none() {
        missing += &format!("encryption_key = \"{}\"\n", Vault::new_key(random)?);
        report.made.push("encryption_key".to_owned());
    }
    if missing.is_empty() {
        return Ok(false);
    }
    let old = fs::read_to_string(local).map_err(|e| Failure::file(local, &e))?;
    let beside = local.with_extension("toml.new");
    write_new(&beside, &format!("{missing}{old}"), 0o600)?;
    fs::rename(&beside, local).map_err(|e| Failure::file(local, &e))?;
    Ok(true)
}

/// 256 random bits, as text.
fn salt(random: &Random) -> Done<String> {
    Ok(random.bytes::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file that must not exist yet, readable from its first byte on only for whom it is meant.
pub(crate) fn write_new(path: &Path, text: &str, mode: u32) -> Done {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(|e| Failure::file(path, &e))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|e| Failure::file(path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_speaks_two_languages() {
        let text = starter(&["en", "de"]);
        assert!(text.contains("\nlanguages = [\"en\", \"de\"]\n"), "{text}");
        assert_eq!(starter(&[]), settings::starter_file());
    }
}
