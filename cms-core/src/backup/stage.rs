//! Unpacks the files of an archive beside those of the site, on the same file system.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{journal::unmoved, manifest::refused, walk::Taker};
use crate::{
    Result,
    ground::private,
    media::{Files, Name},
};

/// The destination of media.
pub(super) enum Media {
    /// Nowhere: media are only read.
    Nowhere,
    /// A folder that replaces the site's folder.
    Folder(PathBuf),
    /// The media of the site. Added content stays, even if the restore fails.
    Added(Files),
}

/// The destination of the database.
pub(super) enum Target {
    /// A file.
    #[cfg(feature = "sqlite")]
    File(PathBuf),
    /// A schema, through a connection.
    #[cfg(feature = "postgres")]
    Schema(tokio::sync::mpsc::Sender<super::load::Piece>),
}

/// Takes the bytes of the current file.
enum Open {
    Nothing,
    File(PathBuf, File),
    /// A file that is added to the media when it is complete.
    Medium(tempfile::NamedTempFile, Name),
    #[cfg(feature = "postgres")]
    Rows,
}

/// Takes the files of an archive.
pub(super) struct Stage {
    pub(super) media: Media,
    /// `None`: plugins are only read.
    pub(super) plugins: Option<PathBuf>,
    pub(super) database: Target,
    open: Open,
    /// The folder of the last file, which exists already.
    folder: PathBuf,
}

impl Stage {
    pub(super) fn new(media: Media, plugins: Option<PathBuf>, database: Target) -> Self {
        Self { media, plugins, database, open: Open::Nothing, folder: PathBuf::new() }
    }

    fn create(&mut self, path: PathBuf) -> Result<Open> {
        let mut made = || {
            if let Some(folder) = path.parent().filter(|folder| **folder != self.folder) {
                private::create_folder(folder)?;
                self.folder = folder.to_owned();
            }
            File::options().write(true).create_new(true).mode(0o600).open(&path)
        };
        match made() {
            Ok(file) => Ok(Open::File(path, file)),
            Err(error) => Err(unmoved(&path, error)),
        }
    }

    fn opened(&mut self, name: &str) -> Result<Open> {
        let (folder, rest) = name.split_once('/').unwrap_or((name, ""));
        match (folder, &self.media, &self.plugins) {
            ("media", Media::Folder(media), _) => self.create(media.join(rest)),
            ("media", Media::Added(_), _) => {
                let name = Name::of_path(&format!("/{name}")).ok_or_else(|| refused(name))?;
                let made = tempfile::NamedTempFile::new_in(&self.folder);
                Ok(Open::Medium(made.map_err(|error| unmoved(&self.folder, error))?, name))
            }
            ("plugins", _, Some(plugins)) => self.create(plugins.join(rest)),
            ("database", ..) => match &self.database {
                #[cfg(feature = "sqlite")]
                Target::File(path) if rest == "cms.db" => self.create(path.clone()),
                #[cfg(feature = "postgres")]
                Target::Schema(pieces) => {
                    let begun = super::load::Piece::Begin(name.to_owned());
                    pieces.blocking_send(begun).map_err(|_| broken_off())?;
                    Ok(Open::Rows)
                }
                #[cfg(feature = "sqlite")]
                Target::File(_) => Err(refused(format!("{name} is not a database"))),
            },
            _ => Ok(Open::Nothing),
        }
    }

    /// Sets the folder for unfinished files, when media are added.
    pub(super) fn under_way(mut self, folder: PathBuf) -> Self {
        self.folder = folder;
        self
    }
}

/// The other side reports the reason.
#[cfg(feature = "postgres")]
fn broken_off() -> crate::Error {
    crate::Error::internal("the database takes no more")
}

impl Taker for Stage {
    fn begin(&mut self, name: &str, _: u64) -> Result<()> {
        self.open = self.opened(name)?;
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.open {
            Open::Nothing => Ok(()),
            Open::File(path, file) => file.write_all(bytes).map_err(|error| unmoved(path, error)),
            Open::Medium(file, _) => {
                file.write_all(bytes).map_err(|error| unmoved(file.path(), error))
            }
            #[cfg(feature = "postgres")]
            Open::Rows => {
                let part = bytes::Bytes::copy_from_slice(bytes);
                let part = super::load::Piece::Bytes(part);
                match &self.database {
                    Target::Schema(pieces) => pieces.blocking_send(part).map_err(|_| broken_off()),
                    #[cfg(feature = "sqlite")]
                    Target::File(_) => Ok(()),
                }
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        if let Open::Medium(file, name) = std::mem::replace(&mut self.open, Open::Nothing)
            && let Media::Added(files) = &self.media
        {
            let added = files.add(file.into_temp_path(), &name);
            tokio::runtime::Handle::current().block_on(added)?;
        }
        Ok(())
    }
}

/// Waits until all unpacked files are on disk.
pub(super) fn sync(path: &Path) -> Result<()> {
    let synced = || {
        let file = File::open(path)?;
        rustix::fs::syncfs(&file)?;
        Ok(())
    };
    match fs::symlink_metadata(path) {
        Ok(_) => synced().map_err(|error| unmoved(path, error)),
        Err(_) => Ok(()),
    }
}
