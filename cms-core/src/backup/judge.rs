//! Reads an archive to its end before anything is done with it.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    OnProgress,
    cipher::Identities,
    journal::{sync_folder_of, unmoved},
    manifest::{Engine, Manifest, refused},
    place::present,
    walk::{Taker, Walk},
};
use crate::{Error, Result, ground::private, settings::Settings};

/// Maximum size of a settings file in bytes.
const LARGEST: u64 = 1 << 20;

/// An archive that was read to its end and is intact.
pub struct JudgedArchive {
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
    pub(super) manifest: Arc<Manifest>,
    /// Its files of settings: name and content.
    settings: Vec<(String, Vec<u8>)>,
    pub(super) identities: Identities,
}

/// Collects the settings files.
#[derive(Default)]
struct Texts {
    found: Vec<(String, Vec<u8>)>,
    is_open: bool,
}

impl Taker for Texts {
    fn begin(&mut self, name: &str, size: u64) -> Result<()> {
        let file = name.strip_prefix("settings/");
        self.is_open = file.is_some();
        if let Some(file) = file {
            if size > LARGEST {
                return Err(refused(format!("{name} is too large")));
            }
            self.found.push((file.to_owned(), Vec::new()));
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some((_, text)) = self.found.last_mut().filter(|_| self.is_open) {
            text.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Free bytes on the disk of the site.
pub(super) fn room(settings: &Settings) -> u64 {
    let dirs = [&settings.dirs.data, &settings.dirs.media, &settings.dirs.plugins];
    let free = |folder: &PathBuf| {
        let about = rustix::fs::statvfs(present(folder)).ok()?;
        Some(about.f_bavail.saturating_mul(about.f_frsize))
    };
    dirs.into_iter().filter_map(free).min().unwrap_or(u64::MAX)
}

/// Reads an archive to its end, and changes nothing.
///
/// # Errors
/// `not_found` when there is no file, `validation_failed` for any fault of the archive, and for an
/// encrypted archive that none of the keys opens.
pub async fn judge(
    path: &Path,
    settings: &Settings,
    identities: &Identities,
    told: OnProgress,
) -> Result<JudgedArchive> {
    let (path, room, identities) = (path.to_owned(), room(settings), identities.clone());
    let judged = move || {
        let file = File::open(&path).map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => crate::Code::NotFound,
                _ => crate::Code::ValidationFailed,
            };
            let what = format!("{} cannot be read.", path.display());
            Error::new(code, what).caused_by(error)
        })?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            let what = format!("{} is a folder: name the file of a backup.", path.display());
            return Err(Error::new(crate::Code::ValidationFailed, what));
        }
        let mut texts = Texts::default();
        let walk = Walk { step: "judge", told: &told, room, known: None, identities: &identities };
        let manifest = walk.read(&file, &mut texts)?;
        let settings = texts.found;
        let (file, manifest) = (Arc::new(file), Arc::new(manifest));
        Ok(JudgedArchive { file, path, manifest, settings, identities })
    };
    tokio::task::spawn_blocking(judged).await.map_err(Error::internal)?
}

impl JudgedArchive {
    /// The moment at which its state was taken.
    #[must_use]
    pub fn made_at(&self) -> &str {
        &self.manifest.made_at
    }

    /// The kind of database that it was made from.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.manifest.engine
    }

    /// Writes its settings files into a folder. Existing files stay; a file with another text is
    /// written beside them. Returns the names of the written files.
    ///
    /// # Errors
    /// `validation_failed` when they cannot be written.
    pub fn place_settings(&self, dir: &Path) -> Result<Vec<String>> {
        let mut written = Vec::new();
        for (name, text) in &self.settings {
            let mut name = name.clone();
            match fs::read(dir.join(&name)) {
                Ok(there) if there == *text => continue,
                Ok(_) => name.push_str(".restored"),
                Err(_) => {}
            }
            let path = dir.join(&name);
            let mode = if name.contains("local") { 0o600 } else { 0o644 };
            let place = || {
                private::create_folder(dir)?;
                let _ = fs::remove_file(&path);
                let mut options = File::options();
                let mut file = options.write(true).create_new(true).mode(mode).open(&path)?;
                file.write_all(text).and_then(|()| file.sync_all())?;
                sync_folder_of(&path)
            };
            place().map_err(|error| unmoved(&path, error))?;
            written.push(name);
        }
        Ok(written)
    }
}
