//! The folder of the command line's own files. Only their owner can read them, and a reader never
//! sees half a file.

use std::{
    env,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::output::{Done, Exit, Failure};

pub(super) struct Store(PathBuf);

impl Store {
    /// The folder, if there is one.
    pub(super) fn find() -> Done<Option<Self>> {
        Ok(folder().filter(|folder| folder.is_dir()).map(Self))
    }

    /// The folder, created when it is missing.
    pub(super) fn make() -> Done<Self> {
        let folder = folder().ok_or_else(|| {
            Failure::new(Exit::Failed, "there is no folder for contexts and sessions")
                .hint("set HOME, or XDG_CONFIG_HOME")
        })?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|e| Failure::file(&folder, &e))?;
        Ok(Self(folder))
    }

    /// What a file holds; the default when there is no file.
    pub(super) fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Done<T> {
        let path = self.0.join(name);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            other => other.map_err(|e| Failure::file(&path, &e))?,
        };
        // Only the message: the rest of toml's error quotes the line, which may hold a token.
        toml::from_str(&text).map_err(|e| {
            Failure::new(
                Exit::Failed,
                format!("{} cannot be read: {}", path.display(), e.message()),
            )
            .hint("correct or remove the file")
        })
    }

    /// Changes a file under the lock.
    pub(super) fn change<T, R>(&self, name: &str, change: impl FnOnce(&mut T) -> Done<R>) -> Done<R>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        let _lock = self.lock()?;
        let mut content = self.read(name)?;
        let outcome = change(&mut content)?;
        let text =
            toml::to_string(&content).map_err(|e| Failure::new(Exit::Failed, e.to_string()))?;
        let (path, beside) = (self.0.join(name), self.0.join(format!("{name}.new")));
        // A crash may have left one behind.
        let _ = fs::remove_file(&beside);
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|e| Failure::file(&path, &e))?;
        Ok(outcome)
    }

    /// Waits for the lock, and holds it until it is dropped.
    fn lock(&self) -> Done<File> {
        let path = self.0.join("lock");
        let open = || {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(|e: io::Error| Failure::file(&path, &e))
    }
}

/// The XDG Base Directory Specification ignores relative paths.
fn folder() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .map(|base| base.join("cms"))
}
