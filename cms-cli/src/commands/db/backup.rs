//! `cms db backup`

use std::{
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use cms_core::backup::{self, Object, SavedBackup, Saving, To};
use serde_json::json;

use super::{BackupProgress, mebibytes};
use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, counted},
    signals::Signals,
};

#[derive(Args, Debug)]
pub(crate) struct BackupArgs {
    /// New file, object of a bucket, or - for standard output
    #[arg(value_name = "FILE|s3://BUCKET/NAME|-")]
    file: PathBuf,
    /// Public key of age that may read it, beside those of backup.recipients; may be repeated
    #[arg(long, value_name = "KEY")]
    recipient: Vec<String>,
    /// Also save cms.local.toml, with the secrets of the site: keep the file like a password. An
    /// encrypted one has it anyway
    #[arg(long)]
    with_secrets: bool,
    /// Do not encrypt it, whatever backup.recipients says
    #[arg(long, conflicts_with = "recipient")]
    plain: bool,
    /// Restore the file beside the site, to try it, and remove that again
    #[arg(long)]
    verify: bool,
}

pub(super) async fn run(flags: &Flags, out: &Output, dir: &Path, args: BackupArgs) -> Done {
    let mut settings = folder::existing(dir, &[], out)?.settings;
    backup::expect_recipients(&args.recipient)
        .map_err(|error| Failure::usage(format!("--recipient: {}", error.detail())))?;
    settings.backup.recipients.extend(args.recipient);
    let is_stream = args.file.as_os_str() == "-";
    let to = match is_stream {
        true if args.verify => {
            return Err(Failure::usage("--verify needs a file: standard output is gone"));
        }
        true if out.table => {
            return Err(Failure::usage("a backup is no text for a terminal: name a file"));
        }
        true => To::Stream(Box::new(io::stdout())),
        false => {
            let object = Object::parse(&args.file.to_string_lossy())?;
            let is_there = match &object {
                Some(object) => object.exists(&settings).await?,
                None => args.file.exists(),
            };
            let to = object.map_or_else(|| To::File(args.file.clone()), To::Object);
            to.expect_outside(&settings)?;
            if is_there && !flags.yes {
                let what = format!("{} is there already", args.file.display());
                let hint = "another name, or the same with --yes to replace it";
                return Err(Failure::new(Exit::Refused, what).hint(hint));
            }
            to
        }
    };
    let progress = BackupProgress::new(out);
    let BackupArgs { with_secrets, plain, verify, .. } = args;
    let how = Saving { with_secrets, plain, verify };
    let mut signals = Signals::open()?;
    let mut is_stopped = false;
    let stop = async {
        signals.next().await;
        is_stopped = true;
    };
    let saved = backup::save_until(&settings, to, how, progress.on_progress(), stop).await;
    progress.clear();
    if is_stopped {
        return Err(Failure::silent(Exit::Interrupted));
    }
    let saved = saved?;
    for warning in &saved.warnings {
        out.note(&format!("warning: {warning}"));
    }
    match is_stream {
        // The archive itself goes to standard output.
        true => out.note(&sentence(&saved, "standard output")),
        false => out.done(&json!(saved), &sentence(&saved, &args.file.display().to_string()))?,
    }
    if !saved.with_secrets && dir.join("cms.local.toml").exists() {
        out.note("cms.local.toml is not in it: keep its secrets elsewhere.");
    }
    Ok(())
}

fn sentence(saved: &SavedBackup, file: &str) -> String {
    let encrypted = if saved.encrypted { ", encrypted" } else { "" };
    let verified = if saved.verified { ", tried by restoring it" } else { "" };
    format!(
        "Saved {} and {} of media as of {}: {} in {file}{encrypted}{verified}.",
        counted(saved.rows.unsigned_abs(), "row"),
        counted(saved.media, "file"),
        saved.made_at,
        mebibytes(saved.bytes),
    )
}
