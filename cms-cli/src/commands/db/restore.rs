//! `cms db restore`

use std::path::{Path, PathBuf};

use clap::Args;
use cms_core::backup::{self, Ended, Identities, Object};
use serde_json::json;

use super::Heard;
use crate::{
    flags::Flags,
    folder,
    output::{Done, Failure, Output, counted},
    prompt,
};

#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// What cms db backup wrote
    #[arg(value_name = "FILE|s3://BUCKET/NAME", required_unless_present = "finish")]
    file: Option<PathBuf>,
    /// File of the private key that opens an encrypted backup, as age-keygen writes it
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// End a restore that was broken off: undo what was only prepared, else finish it
    #[arg(long, conflicts_with = "file")]
    finish: bool,
}

pub(super) async fn run(flags: &Flags, out: &Output, dir: &Path, args: RestoreArgs) -> Done {
    let loaded = folder::settings(dir, &[], out)?;
    let heard = Heard::new(out);
    let Some(file) = args.file else {
        return match backup::finish(&loaded.settings, heard.told()).await? {
            Ended::Nothing => out.done(&json!({"ended": "nothing"}), "Nothing was broken off."),
            Ended::Undone => {
                out.done(&json!({"ended": "undone"}), "Undone: the site is as it was.")
            }
            Ended::Finished(kept) => {
                out.done(&json!({"ended": "finished", "kept": kept}), "Finished.")?;
                tell_kept(out, &kept);
                Ok(())
            }
        };
    };
    let identities = args.identity.as_deref().map(Identities::read).transpose()?;
    let fetched = match Object::parse(&file.to_string_lossy())? {
        Some(object) => Some(object.fetch(&loaded.settings, &heard.told()).await?),
        None => None,
    };
    let path = fetched.as_deref().unwrap_or(&file);
    let identities = identities.unwrap_or_default();
    let judged = backup::judge(path, &loaded.settings, &identities, heard.told()).await;
    heard.clear();
    let judged = judged?;
    let question = format!(
        "{} is whole, and holds the site as of {}. Put it in place of what is in {}?",
        file.display(),
        judged.made_at(),
        dir.display()
    );
    let mut replace = flags.yes;
    if !replace && loaded.is_site() && prompt::can_ask(flags) {
        prompt::confirm(flags, &question)?;
        replace = true;
    }
    // The files of settings decide where the rest goes.
    let is_new = !loaded.is_site();
    let mut placed = if is_new { judged.place_settings(dir)? } else { Vec::new() };
    let settings = match is_new {
        true => folder::settings(dir, &[], out)?.settings,
        false => loaded.settings,
    };
    let restored = judged.restore(&settings, replace, heard.told()).await;
    heard.clear();
    if restored.is_err() && is_new && !backup::is_pending(&settings) {
        // Nothing was decided: the folder is as it was.
        for name in &placed {
            let _ = std::fs::remove_file(dir.join(name));
        }
    }
    let restored = restored.map_err(|error| match (error.code(), replace) {
        (cms_core::Code::Conflict, false) => {
            Failure::from(error).hint("the same with --yes, which keeps what it replaces")
        }
        _ => Failure::from(error),
    })?;
    if !is_new {
        placed = judged.place_settings(dir)?;
    }
    for warning in &restored.warnings {
        out.note(&format!("warning: {warning}"));
    }
    out.done(
        &json!(restored),
        &format!(
            "Restored {} and {} of media as of {}.",
            counted(restored.rows.unsigned_abs(), "row"),
            counted(restored.media, "file"),
            restored.made_at
        ),
    )?;
    tell_kept(out, &restored.kept);
    for name in placed.iter().filter(|name| name.ends_with(".restored")) {
        out.note(&format!("{name} is the saved one: compare it with the one in force."));
    }
    if !dir.join("cms.local.toml").exists() {
        out.note("cms.local.toml is not there: put the secrets of the saved site back.");
    }
    Ok(())
}

fn tell_kept(out: &Output, kept: &[String]) {
    for place in kept {
        out.note(&format!("kept: {place}"));
    }
}
