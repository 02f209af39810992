//! `cms update`: checks, downloads, applies and takes back releases of the update server
//!
//! ```text
//! apply    the steps of an update, forward and back, noted on disk; what an interrupted one left
//! trial    the old version tries the new one: does it run, does it serve the site
//! program  the file of this program, replaced by rename; package managers that own it
//! publish  a folder served as an update server
//! ```

mod apply;
mod program;
mod publish;
mod trial;

use std::{
    fs::{self, DirBuilder, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Subcommand;
use cms_core::{
    Clock,
    settings::Loaded,
    update::{HighestOffer, Release, UpdateServer, Version, digest},
};
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, Progress, WholeFile},
    target::Target,
};

pub(crate) use self::{
    apply::resume,
    trial::{LAUNCH, launch},
};

#[derive(Debug, Subcommand)]
#[command(
    after_help = "Settings, in cms.local.toml: update_base_url, update_user, update_password.
In cms.toml: update.public_key. docs/updates.md shows how to publish releases."
)]
pub(crate) enum UpdateCommand {
    /// Ask the update server whether there is a newer version
    Check,
    /// Download the newer version and check it, without using it
    Download,
    /// Replace this program by the newer version, once that has shown that it serves the site
    #[command(after_help = "Examples:
  cms update apply
  cms update apply --yes            also when the new version changes the database

A backup comes first. A running `cms serve` keeps its version until it is started again.")]
    Apply {
        /// Make no backup. Refused when the new version changes the database
        #[arg(long)]
        without_backup: bool,
    },
    /// Go back to the version before the last update
    Rollback,
    /// Serve a folder with latest.json and archives, on this machine
    #[command(after_help = "Example:
  cms update serve ./releases --port 9100

With update_user and update_password set, requests need them.
The line `ready http://127.0.0.1:PORT` on standard error tells that it accepts requests.")]
    Serve {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Port of 127.0.0.1; 0 takes a free one
        #[arg(long, default_value_t = 9100)]
        port: u16,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: UpdateCommand) -> Done {
    if let UpdateCommand::Serve { folder, port } = command {
        return publish::run(flags, out, &folder, port).await;
    }
    let dir = Target::folder_only(flags, "cms update")?;
    let loaded = folder::existing(&dir, &[], out)?;
    match command {
        UpdateCommand::Apply { without_backup } => {
            apply::apply(flags, out, loaded, !without_backup).await
        }
        UpdateCommand::Rollback => apply::rollback(out, loaded).await,
        UpdateCommand::Check => check(out, &Updates::new(flags, out, loaded)?).await,
        _ => {
            let updates = Updates::new(flags, out, loaded)?;
            let release = updates.latest().await?;
            let archive = updates.archive(&release).await?;
            let value = json!({"version": release.version.to_string(), "file": archive});
            let text = format!("{} is checked. Next: cms update apply", archive.display());
            out.done(&value, &text)
        }
    }
}

/// The version of this program.
fn installed() -> Done<Version> {
    Ok(cms_core::VERSION.parse::<Version>()?)
}

async fn check(out: &Output, updates: &Updates<'_>) -> Done {
    let (release, installed) = (updates.latest().await?, installed()?);
    let newer = release.version > installed;
    let can_apply = updates.server.has_credentials();
    if out.json {
        let value = json!({
            "installed": installed.to_string(),
            "offered": release.version.to_string(),
            "newer": newer,
            "can_apply": can_apply,
            "size": release.size,
            "notes": release.notes,
        });
        return Ok(out.data(&value)?);
    }
    let gap = out.gap();
    out.line(&format!("installed{gap}{installed}"))?;
    out.line(&format!("offered{gap}{}", release.version))?;
    if !newer {
        out.note("There is nothing newer.");
        return Ok(());
    }
    if !release.notes.trim().is_empty() {
        out.note(release.notes.trim());
    }
    match can_apply {
        true => out.note("Next: cms update apply"),
        false => out.note(&format!("{WITHOUT_CREDENTIALS}. Next: cms update download")),
    }
    Ok(())
}

const WITHOUT_CREDENTIALS: &str =
    "cms update apply is off: update_user and update_password are not both set";

/// The update server of a site, and the downloads kept in `data/updates`.
struct Updates<'a> {
    out: &'a Output,
    loaded: Loaded,
    server: UpdateServer,
    folder: PathBuf,
}

impl<'a> Updates<'a> {
    fn new(flags: &Flags, out: &'a Output, loaded: Loaded) -> Done<Self> {
        let missing = |key: &str, hint: &str| {
            Err(Failure::new(Exit::Refused, format!("{key} is not set")).hint(hint))
        };
        let settings = &loaded.settings;
        if settings.update_base_url.is_none() {
            return missing(
                "update_base_url",
                "write the update server's address into cms.local.toml",
            );
        }
        if settings.update.public_key.is_empty() {
            let hint = "write the key of those who make the releases into cms.toml";
            return missing("update.public_key", hint);
        }
        let mut server = UpdateServer::new(settings)?;
        if let Some(seconds) = flags.timeout {
            server = server.waiting(Duration::from_secs(seconds.unsigned_abs()));
        }
        let is_open = settings.update_base_url.as_deref().is_some_and(|url| {
            let host = url.strip_prefix("http://").map(|rest| rest.split(['/', ':']).next());
            host.is_some_and(|host| !matches!(host, Some("127.0.0.1" | "localhost" | "[")))
        });
        if is_open && server.has_credentials() {
            out.note("warning: update_base_url is http, so the password can be read on the way");
        }
        let folder = settings.dirs.data.join("updates");
        Ok(Self { out, loaded, server, folder })
    }

    /// The latest release of the server. Compares it with the one that the server offered before.
    async fn latest(&self) -> Done<Release> {
        let latest = self.server.latest(&self.loaded.settings.update.public_key).await?;
        let path = self.folder.join("seen.json");
        let mut seen = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                let what = format!("{} cannot be read: {error}", path.display());
                Failure::new(Exit::Failed, what)
                    .hint("remove the file; it holds the highest version that was offered")
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => HighestOffer::default(),
            Err(error) => return Err(Failure::file(&path, &error)),
        };
        let before = seen.clone();
        let doubt = seen.note(&latest.release, latest.modified, Clock::system().now())?;
        if let Some(doubt) = doubt {
            self.out.note(&format!("warning: {doubt}"));
        }
        if seen != before {
            self.make_folder()?;
            let mut file = WholeFile::create(&path)?;
            serde_json::to_writer(&mut file, &seen).map_err(Failure::unexpected)?;
            file.done()?;
        }
        Ok(latest.release)
    }

    /// The archive of a release on this machine; downloads it if it is missing.
    async fn archive(&self, release: &Release) -> Done<PathBuf> {
        self.make_folder()?;
        let path = self.folder.join(&release.file);
        let is_there = |path: &Path| {
            let file = File::open(path).ok().filter(|f| f.metadata().is_ok_and(|m| m.is_file()));
            file.is_some_and(|file| digest(file).is_ok_and(|found| found == release.sha256))
        };
        let folder = File::open(&self.folder).map_err(|e| Failure::file(&self.folder, &e))?;
        if folder.try_lock().is_err_and(|e| matches!(e, fs::TryLockError::WouldBlock)) {
            let what = "another process downloads a release";
            return Err(Failure::new(Exit::Refused, what).hint("wait until it has ended"));
        }
        if is_there(&path) {
            return Ok(path);
        }
        self.remove_archives();
        let part = self.folder.join(format!("{}.part", release.file));
        let fetched = self.fetch(release, &part).await;
        if let Err(failure) = fetched {
            let _ = fs::remove_file(&part);
            return Err(failure);
        }
        fs::rename(&part, &path).map_err(|e| Failure::file(&path, &e))?;
        Ok(path)
    }

    async fn fetch(&self, release: &Release, part: &Path) -> Done {
        let file = tokio::fs::OpenOptions::new().write(true).create_new(true).open(part).await;
        let mut file = file.map_err(|e| Failure::file(part, &e))?;
        let mut progress = Progress::of_bytes(self.out, "download", Some(release.size));
        let fetched = self
            .server
            .download(release, &mut file, |bytes| {
                progress.at(bytes, bytes);
                program::reached("downloading");
            })
            .await;
        match fetched {
            Ok(()) => progress.end(&format!("of {}", release.file)),
            Err(_) => progress.clear(),
        }
        fetched?;
        file.sync_all().await.map_err(|e| Failure::file(part, &e))
    }

    fn make_folder(&self) -> Done {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|e| Failure::file(&self.folder, &e))
    }

    /// Removes earlier archives, and the rest of a download that broke off.
    fn remove_archives(&self) {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for path in names.map(|entry| entry.path()) {
            if path.extension().is_some_and(|ending| ending == "zip" || ending == "part") {
                let _ = fs::remove_file(path);
            }
        }
    }
}
