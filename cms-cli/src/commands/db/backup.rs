//! `cms db backup` and `cms db restore`

use std::{
    cmp::Reverse,
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use cms_core::{
    backup::{self, Ended, Identities, JudgedArchive, Object, Obstacle, SavedBackup, Saving, To},
    settings::{Loaded, Settings},
};
use serde_json::json;

use super::{BackupProgress, mebibytes};
use crate::{
    environment,
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, counted},
    prompt,
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

pub(super) async fn save(flags: &Flags, out: &Output, dir: &Path, args: BackupArgs) -> Done {
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
            to.expect_outside(&settings).map_err(|error| Failure::usage(error.detail()))?;
            if is_there && !flags.yes {
                let what = format!("{} is there already", args.file.display());
                let hint = "another name, or the same with --yes to replace it";
                return Err(Failure::new(Exit::Refused, what).hint(hint));
            }
            to
        }
    };
    let progress = BackupProgress::new(out);
    let mut how = Saving::default();
    (how.with_secrets, how.plain, how.verify) = (args.with_secrets, args.plain, args.verify);
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

pub(super) async fn restore(flags: &Flags, out: &Output, dir: &Path, args: RestoreArgs) -> Done {
    let loaded = folder::settings(dir, &[], out)?;
    let progress = BackupProgress::new(out);
    let Some(file) = args.file else {
        return match backup::finish(&loaded.settings, progress.on_progress()).await? {
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
    // Declared before the fetched archive, so that it is dropped after it.
    let mut new = (!loaded.is_site()).then(|| NewFolder::of(dir, &loaded.settings));
    let identities = args.identity.as_deref().map(Identities::read).transpose()?;
    let fetched = match Object::parse(&file.to_string_lossy())? {
        Some(object) => Some(object.fetch(&loaded.settings, &progress.on_progress()).await?),
        None => None,
    };
    let path = fetched.as_deref().unwrap_or(&file);
    let identities = identities.unwrap_or_default();
    let judged = backup::judge(path, &loaded.settings, &identities, progress.on_progress()).await;
    progress.clear();
    let judged = judged?;
    let question = format!(
        "{} is whole, and holds the site as of {}. Put it in place of what is in {}?",
        file.display(),
        judged.made_at(),
        dir.display()
    );
    let mut replace = flags.yes;
    if !replace && new.is_none() && prompt::can_ask(flags) {
        prompt::confirm(flags, &question)?;
        replace = true;
    }
    let (settings, are_archived) = match &mut new {
        Some(new) => {
            let are_archived = new.place_settings(&judged, &loaded, out)?;
            (new.settings.clone(), are_archived)
        }
        None => (loaded.settings, false),
    };
    // Nobody has chosen the paths of the archive's own settings, so nothing there is replaced.
    let replace = replace && !are_archived;
    expect_fit(&judged, &settings, dir, replace, are_archived).await?;
    let restored = judged.restore(&settings, replace, progress.on_progress()).await;
    progress.clear();
    if let Some(new) = &mut new {
        // A restore that has been decided is finished with these settings.
        new.is_kept = backup::is_pending(&settings);
    }
    let restored = restored?;
    let placed = match new {
        Some(new) => new.keep(),
        None => judged.place_settings(dir)?,
    };
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

/// Refuses what the restore would refuse, with a hint what to type. `are_archived`: the settings
/// come from the archive.
async fn expect_fit(
    judged: &JudgedArchive,
    settings: &Settings,
    dir: &Path,
    replace: bool,
    are_archived: bool,
) -> Done {
    let Some(obstacle) = judged.obstacle(settings).await? else { return Ok(()) };
    let dir = dir.display();
    let (error, hint) = match obstacle {
        Obstacle::OtherEngine(error) => {
            let engine = judged.engine().name();
            (error, format!("write a database_url of {engine} into {dir}/cms.local.toml first"))
        }
        Obstacle::Database(_) | Obstacle::Folder(_) if replace => return Ok(()),
        Obstacle::Database(error) if are_archived => {
            (error, format!("write a cms.local.toml with another database_url into {dir} first"))
        }
        Obstacle::Folder(error) if are_archived => {
            (error, format!("write a cms.toml with other folders, as dirs.media, into {dir} first"))
        }
        Obstacle::Database(error) | Obstacle::Folder(error) => {
            let hint = "the same with --yes, which keeps what it replaces";
            let mut failure = Failure::from(error).hint(hint);
            // The exit code of every question that cannot be asked.
            failure.exit = Exit::Usage;
            return Err(failure);
        }
    };
    Err(Failure::from(error).hint(hint))
}

/// A folder without settings. Unless it is kept, dropping it restores its former state.
struct NewFolder {
    dir: PathBuf,
    /// The settings in force; once the settings of the archive are placed, those.
    settings: Settings,
    /// Files of settings that may have been written.
    placed: Vec<String>,
    /// Folders that did not exist before.
    missing: Vec<PathBuf>,
    is_kept: bool,
}

impl NewFolder {
    fn of(dir: &Path, settings: &Settings) -> Self {
        let mut new = Self {
            dir: dir.to_owned(),
            settings: settings.clone(),
            placed: Vec::new(),
            missing: Vec::new(),
            is_kept: false,
        };
        new.note_missing();
        new
    }

    fn note_missing(&mut self) {
        let dirs = &self.settings.dirs;
        let all = [&self.dir, &dirs.data, &dirs.media, &dirs.plugins];
        let folders = all.into_iter().flat_map(|folder| folder.ancestors());
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        self.missing.extend(folders.filter(is_missing).map(Path::to_owned));
    }

    /// Writes the settings of the archive into the folder, because they decide where the rest
    /// goes. Returns whether the archive has any.
    fn place_settings(
        &mut self,
        judged: &JudgedArchive,
        before: &Loaded,
        out: &Output,
    ) -> Done<bool> {
        // Neither of the two files was there.
        self.placed = ["cms.toml", "cms.local.toml"].map(str::to_owned).to_vec();
        self.placed = judged.place_settings(&self.dir)?;
        let loaded = Settings::load(&self.dir, environment::variables(), &[]).map_err(|error| {
            let hint = format!("write a cms.toml into {} first", self.dir.display());
            Failure::from(error).hint(hint)
        })?;
        for warning in loaded.warnings.iter().filter(|warning| !before.warnings.contains(warning)) {
            out.note(&format!("warning: {warning}"));
        }
        self.settings = loaded.settings;
        self.note_missing();
        Ok(!self.placed.is_empty())
    }

    /// Keeps the folder. Returns the names of the written files of settings.
    fn keep(mut self) -> Vec<String> {
        self.is_kept = true;
        std::mem::take(&mut self.placed)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        for name in &self.placed {
            let _ = std::fs::remove_file(self.dir.join(name));
        }
        self.missing.sort_by_key(|folder| Reverse(folder.components().count()));
        for folder in &self.missing {
            // A folder that is not empty stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn tell_kept(out: &Output, kept: &[String]) {
    for place in kept {
        out.note(&format!("kept: {place}"));
    }
}
