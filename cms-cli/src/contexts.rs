//! Names for running sites, and the sessions there, kept in `$XDG_CONFIG_HOME/cms`
//! (`~/.config/cms`).

use std::{
    collections::BTreeMap,
    env,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
};

use cms_core::Secret;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::output::{Done, Exit, Failure};

const CONTEXTS_FILE: &str = "contexts.toml";

/// What `contexts.toml` holds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Contexts {
    /// The context for commands outside of a site's folder.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    contexts: BTreeMap<String, Context>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Context {
    url: String,
}

impl Contexts {
    pub(crate) fn load() -> Done<Self> {
        Ok(Store::find()?.map(|store| store.read(CONTEXTS_FILE)).transpose()?.unwrap_or_default())
    }

    /// Changes the stored contexts under a lock.
    pub(crate) fn change<T>(change: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        Store::make()?.change(CONTEXTS_FILE, change)
    }

    pub(crate) fn url(&self, name: &str) -> Option<&str> {
        self.contexts.get(name).map(|context| context.url.as_str())
    }

    /// The chosen context: name and address.
    pub(crate) fn used(&self) -> Option<(&str, &str)> {
        let name = self.chosen.as_deref()?;
        Some((name, self.url(name)?))
    }

    /// All contexts: name, address, and whether it is chosen.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str, bool)> {
        let chosen = self.chosen.as_deref();
        self.contexts
            .iter()
            .map(move |(name, context)| (name.as_str(), context.url.as_str(), chosen == Some(name)))
    }

    /// Names an address. An existing name gets the new address.
    pub(crate) fn add(&mut self, name: &str, url: String) -> Done {
        let fine = !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !fine {
            return Err(Failure::usage(
                "the name of a context has 1 to 64 letters, digits, dashes, underscores and dots",
            ));
        }
        self.contexts.insert(name.to_owned(), Context { url });
        Ok(())
    }

    /// Chooses a context; false when there is none of that name.
    pub(crate) fn choose(&mut self, name: &str) -> bool {
        let known = self.contexts.contains_key(name);
        if known {
            self.chosen = Some(name.to_owned());
        }
        known
    }

    /// Removes a context; false when there is none of that name.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        if self.chosen.as_deref() == Some(name) {
            self.chosen = None;
        }
        self.contexts.remove(name).is_some()
    }
}

const SESSIONS_FILE: &str = "sessions.toml";

/// What `sessions.toml` holds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Sessions {
    sessions: BTreeMap<String, Session>,
}

/// A session at one address.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Session {
    /// Kept in plain text: this file is where tokens are kept.
    #[serde(serialize_with = "Secret::send")]
    pub(crate) token: Secret,
    pub(crate) username: String,
    pub(crate) expires_at: String,
}

impl Sessions {
    /// The session at an address, if there is one.
    pub(crate) fn at(url: &str) -> Done<Option<Session>> {
        let Some(store) = Store::find()? else { return Ok(None) };
        Ok(store.read::<Self>(SESSIONS_FILE)?.sessions.remove(url))
    }

    /// Keeps a session, in place of an earlier one at the same address.
    pub(crate) fn keep(url: &str, session: Session) -> Done {
        Store::make()?.change(SESSIONS_FILE, |kept: &mut Self| {
            kept.sessions.insert(url.to_owned(), session);
            Ok(())
        })
    }

    pub(crate) fn forget(url: &str) -> Done {
        Store::make()?.change(SESSIONS_FILE, |kept: &mut Self| {
            kept.sessions.remove(url);
            Ok(())
        })
    }
}

/// The folder of the command line's own files. Only their owner can read them, and readers never
/// see a half-written file.
struct Store(PathBuf);

impl Store {
    /// The folder, if there is one.
    fn find() -> Done<Option<Self>> {
        Ok(config_folder().filter(|folder| folder.is_dir()).map(Self))
    }

    /// The folder, created when it is missing.
    fn make() -> Done<Self> {
        let folder = config_folder().ok_or_else(|| {
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
    fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Done<T> {
        let path = self.0.join(name);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            other => other.map_err(|e| Failure::file(&path, &e))?,
        };
        // Only the message: toml's full error quotes the line, which may hold a token.
        toml::from_str(&text).map_err(|e| {
            Failure::new(
                Exit::Failed,
                format!("{} cannot be read: {}", path.display(), e.message()),
            )
            .hint("correct or remove the file")
        })
    }

    /// Changes a file under the lock.
    fn change<T, R>(&self, name: &str, change: impl FnOnce(&mut T) -> Done<R>) -> Done<R>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        let _lock = self.lock()?;
        let mut content = self.read(name)?;
        let outcome = change(&mut content)?;
        let text =
            toml::to_string(&content).map_err(|e| Failure::new(Exit::Failed, e.to_string()))?;
        let (path, beside) = (self.0.join(name), self.0.join(format!("{name}.new")));
        // A crash may have left one.
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

/// An absolute folder from the environment, else one below HOME (XDG Base Directory
/// Specification).
pub(crate) fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)));
    base.map(|base| base.join("cms"))
}

/// The folder of names, sessions and `keys.toml`.
pub(crate) fn config_folder() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
}
