//! The site that a command uses.
//!
//! The first of these that is given: `--url`, `--context` (or `CMS_CONTEXT`), `CMS_URL`, the
//! folder of `--dir` (or `CMS_DIR`), the current folder if it holds a site, the context chosen by
//! `cms context use`. A chosen context therefore never redirects a command in a site's folder, or
//! one with `--dir`.

use std::{fmt, path::PathBuf};

use cms_core::settings::Settings;

use crate::{
    contexts::Contexts,
    environment,
    flags::Flags,
    output::{Done, Exit, Failure},
};

/// A site that is not open yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A folder, to be opened in this process.
    Folder(PathBuf),
    /// An address, to be asked over HTTP.
    Address {
        /// The address in canonical form.
        url: String,
        /// The context that gave the address.
        context: Option<String>,
    },
}

impl Target {
    /// The site that flags, environment, folder or chosen context name. `--as` needs a folder.
    pub(crate) fn of(flags: &Flags) -> Done<Self> {
        match Self::chosen(flags)? {
            Self::Address { .. } if flags.acts_as.is_some() => {
                let why = "--as is for the site's own machine: over the network a user logs in";
                Err(Failure::usage(why)
                    .hint("leave out --as and use cms login, or name the folder: --dir"))
            }
            target => Ok(target),
        }
    }

    fn chosen(flags: &Flags) -> Done<Self> {
        if let Some(address) = Self::named(flags)? {
            return Ok(address);
        }
        let folder = Self::Folder(flags.dir().to_owned());
        // A folder with unreadable settings counts as a site.
        let holds_site = || {
            Settings::load(flags.dir(), environment::variables(), &[])
                .map_or(true, |loaded| loaded.is_site())
        };
        if flags.names_dir() || holds_site() {
            return Ok(folder);
        }
        let contexts = Contexts::load()?;
        match contexts.used() {
            Some((name, url)) => Self::address(url, Some(name)),
            None => Ok(folder),
        }
    }

    /// The address that the command line or the environment names.
    fn named(flags: &Flags) -> Done<Option<Self>> {
        if let Some(url) = &flags.url {
            return Self::address(url, None).map(Some);
        }
        if let Some(name) = &flags.context {
            return Self::context(name).map(Some);
        }
        let url = std::env::var("CMS_URL").ok().filter(|url| !url.trim().is_empty());
        url.map(|url| Self::address(&url, None)).transpose()
    }

    /// The address of a context.
    pub(crate) fn context(name: &str) -> Done<Self> {
        let contexts = Contexts::load()?;
        let url = contexts.url(name).ok_or_else(|| {
            Failure::new(Exit::NotFound, format!("there is no context {name:?}"))
                .hint(format!("cms context list, or cms context add {name} --url U"))
        })?;
        Self::address(url, Some(name))
    }

    fn address(url: &str, context: Option<&str>) -> Done<Self> {
        let url = cms_http::client::address(url).map_err(|e| Failure::usage(e.to_string()))?;
        Ok(Self::Address { url, context: context.map(str::to_owned) })
    }

    /// The folder for a command that works on folders only. It ignores a chosen context.
    pub(crate) fn folder_only(flags: &Flags, what: &str) -> Done<PathBuf> {
        match Self::named(flags)? {
            None => Ok(flags.dir().to_owned()),
            Some(_) => {
                let why = format!("{what} works on the site's folder, not on an address");
                Err(Failure::usage(why).hint(
                    "run it on the server with --dir, without --url, --context, CMS_URL and \
                     CMS_CONTEXT",
                ))
            }
        }
    }

    /// The address for a command that works on addresses only.
    pub(crate) fn address_only(flags: &Flags, what: &str) -> Done<String> {
        match Self::of(flags)? {
            Self::Address { url, .. } => Ok(url),
            Self::Folder(dir) => Err(Failure::usage(format!(
                "{what} is for a running site; the folder {} needs no login",
                dir.display()
            ))
            .hint("add --url URL or --context NAME")),
        }
    }

    /// The option that names this site, as words of a command line.
    pub(crate) fn words(&self) -> [String; 2] {
        match self {
            Self::Folder(dir) => ["--dir".to_owned(), dir.display().to_string()],
            Self::Address { context: Some(name), .. } => ["--context".to_owned(), name.clone()],
            Self::Address { url, .. } => ["--url".to_owned(), url.clone()],
        }
    }

    /// A name that no other site has, wherever the command was typed.
    #[cfg(feature = "tui")]
    pub(crate) fn whole_name(&self) -> String {
        match self {
            Self::Folder(dir) => std::fs::canonicalize(dir)
                .map_or_else(|_| dir.display().to_string(), |whole| whole.display().to_string()),
            Self::Address { .. } => self.to_string(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(dir) => write!(f, "{}", dir.display()),
            Self::Address { url, context: None } => f.write_str(url),
            Self::Address { url, context: Some(name) } => write!(f, "{url} (context {name})"),
        }
    }
}
