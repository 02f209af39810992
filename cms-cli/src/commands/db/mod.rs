//! `cms db`: the database and the files of a site, saved, brought back, checked, copied

mod backup;
mod copy;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use clap::Subcommand;
use cms_core::backup::OnProgress;
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, Progress, counted},
    target::Target,
};

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Save database, media, plugins and settings in one file, while the site is in use
    #[command(after_help = "Examples:
  cms db backup /mnt/backups/site-$(date +%F).cms --verify
  cms db backup site.cms --recipient age1qyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqs3290gq
  cms db backup s3://backups/site.cms
  cms db backup - | ssh backup@host 'cat > site.cms'

The file holds everything but cms.local.toml, which --with-secrets adds, and encryption too.")]
    Backup(backup::BackupArgs),
    /// Bring a saved site back; what it replaces is kept
    #[command(after_help = "Examples:
  cms db restore site.cms --dir /srv/new
  cms db restore site.cms --dir /srv/site --yes

Everything is checked before anything is replaced. End cms serve first.")]
    Restore(backup::RestoreArgs),
    /// Look for damage in the database, and for the files that it names
    Check {
        /// Also read every file and compare its content; takes long
        #[arg(long)]
        deep: bool,
    },
    /// Give the room of removed rows back to the system
    Shrink,
    /// Copy every row to an empty database of the other engine: SQLite to PostgreSQL, or back
    Copy(copy::CopyArgs),
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: DbCommand) -> Done {
    let dir = Target::folder_only(flags, "cms db")?;
    match command {
        DbCommand::Backup(args) => backup::save(flags, out, &dir, args).await,
        DbCommand::Restore(args) => backup::restore(flags, out, &dir, args).await,
        DbCommand::Check { deep } => check(out, &dir, deep).await,
        DbCommand::Shrink => shrink(out, &dir).await,
        DbCommand::Copy(args) => copy::run(flags, out, args).await,
    }
}

async fn check(out: &Output, dir: &Path, deep: bool) -> Done {
    let loaded = folder::existing(dir, &[], out)?;
    let progress = BackupProgress::new(out);
    let checked = cms_core::backup::check(&loaded.settings, deep, progress.on_progress()).await;
    progress.clear();
    let checked = checked?;
    if out.json {
        out.data(&json!(checked))?;
    } else {
        for problem in &checked.problems {
            out.line(problem)?;
        }
        let files = counted(checked.files, "file");
        match checked.problems.len() as u64 {
            0 => out.note(&format!("The database and {files} of media are whole.")),
            n => out.note(&format!("{} found.", counted(n, "problem"))),
        }
    }
    match checked.problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::silent(Exit::Failed)),
    }
}

async fn shrink(out: &Output, dir: &Path) -> Done {
    let loaded = folder::existing(dir, &[], out)?;
    let (before, after) = cms_core::backup::shrink(&loaded.settings).await?;
    out.done(
        &json!({"bytes_before": before, "bytes_after": after}),
        &format!("The database had {}, and has {}.", mebibytes(before), mebibytes(after)),
    )
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Shows how far a backup or a restore is.
struct BackupProgress {
    out: Output,
    bar: Arc<Mutex<Option<(&'static str, Progress)>>>,
}

impl BackupProgress {
    fn new(out: &Output) -> Self {
        Self { out: out.clone(), bar: Arc::default() }
    }

    fn on_progress(&self) -> OnProgress {
        let (out, bar) = (self.out.clone(), self.bar.clone());
        Arc::new(move |cms_core::backup::Progress { step, done, total, .. }| {
            if total == 0 {
                return;
            }
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            match bar.as_mut().filter(|(shown, _)| *shown == step) {
                Some((_, progress)) => progress.at(done, done),
                None => {
                    if let Some((_, before)) = bar.take() {
                        before.clear();
                    }
                    *bar = Some((step, Progress::of_bytes(&out, step, Some(total))));
                }
            }
        })
    }

    fn clear(&self) {
        if let Some((_, bar)) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.clear();
        }
    }
}
