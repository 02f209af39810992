//! `cms init`: makes a site in a folder, or completes one. What exists is never overwritten.

mod admin;
mod secrets;

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use clap::Args;
use cms_core::{Cms, settings};
use serde_json::json;

use crate::{
    args::Global,
    failure::{Done, Failure},
    output::Output,
    prompt,
    site::{self, Site},
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms init
  cms init --admin ana
  pass show cms/ana | cms init --dir /srv/shop --admin ana --password-stdin")]
pub(crate) struct InitArgs {
    /// Also make this first administrator; one who is there is kept as he is
    #[arg(long, value_name = "NAME")]
    admin: Option<String>,
    /// Read the administrator's password from the first line of standard input instead of asking
    #[arg(long, requires = "admin")]
    password_stdin: bool,
}

/// What `init` found and made.
#[derive(Debug, Default)]
pub(crate) struct Report {
    made: Vec<String>,
    kept: Vec<String>,
}

pub(crate) async fn run(global: &Global, out: &Output, args: InitArgs) -> Done {
    let dir = Target::folder_only(global, "cms init")?;
    if args.admin.is_some() && !args.password_stdin {
        prompt::expect_somebody(global, "the password of the administrator", "--password-stdin")?;
    }
    let mut report = make(&dir, &[], out).await?;
    if let Some(name) = &args.admin {
        let site = Site::open(global, &Target::Folder(dir.clone()), out).await?;
        let outcome = prompt::interruptible(admin::ensure(
            global,
            &site,
            name,
            args.password_stdin,
            &mut report,
        ))
        .await;
        site.close().await;
        outcome?;
    }
    if out.json {
        return Ok(out.data(
            &json!({"dir": dir.display().to_string(), "made": report.made, "kept": report.kept}),
        )?);
    }
    for made in &report.made {
        out.note(&format!("made  {made}"));
    }
    for kept in &report.kept {
        out.note(&format!("kept  {kept}"));
    }
    let at =
        if dir == Path::new(".") { String::new() } else { format!(" --dir {}", dir.display()) };
    let listen = site::settings(&dir, &[], out)?.settings.listen;
    let people = match &args.admin {
        Some(name) => format!("cms login --url http://{listen} --username {name}"),
        None => format!("cms init{at} --admin NAME, for people who log in"),
    };
    out.note(&format!(
        "\nNext:\n  cms doctor{at}\n  cms serve{at}\n  {people}\n  cms keys create{at} --name shop --right 'GET /api/pages'"
    ));
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
    let loaded = site::settings(dir, &[], out)?;
    secrets::complete(&dir.join("cms.local.toml"), &loaded, &mut report).await?;
    let loaded = site::settings(dir, &[], out)?;
    for (name, folder) in
        [("data", &loaded.settings.dirs.data), ("plugins", &loaded.settings.dirs.plugins)]
    {
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
    text.lines()
        .map(|line| {
            if line.starts_with("#languages = ") {
                format!("{wanted}\n")
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

/// Writes a file that must not exist yet, readable from its first byte on only for whom it is
/// meant.
pub(crate) fn write_new(path: &Path, text: &str, mode: u32) -> Done {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(|e| Failure::file(path, &e))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|e| Failure::file(path, &e))
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
