//! The flags that every command takes.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{input, output::PrintFlags};

/// The flags that every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Flags {
    /// Folder of the site, with cms.toml, cms.local.toml, data/ and plugins/ [default: .]
    #[arg(long, global = true, env = "CMS_DIR", value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Address of a running site, instead of a folder [env: CMS_URL=]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Name of a running site (cms context add), instead of its address
    #[arg(long, global = true, env = "CMS_CONTEXT", value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// File with the API key for a running site. Without it: CMS_API_KEY in the environment, else
    /// the session of cms login
    #[arg(long, global = true, env = "CMS_API_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Name or id of a user, on the site's own machine: see and do what that user may, and no more
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) acts_as: Option<String>,
    #[command(flatten)]
    pub(crate) print: PrintFlags,
    /// Answer yes to every question
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
    /// Longest wait for a reply of a running site, such as 10s or 2m [default: 60s]
    #[arg(long, global = true, value_name = "TIME", value_parser = waiting)]
    pub(crate) timeout: Option<i64>,
    /// Ask nothing; fail where an answer is needed
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
}

/// A time of at least a second.
fn waiting(text: &str) -> Result<i64, String> {
    match input::seconds(text)? {
        ..1 => Err("at least 1s".to_owned()),
        seconds => Ok(seconds),
    }
}

impl Flags {
    /// The named folder, else the current one.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new("."))
    }

    /// Whether a folder is named.
    pub(crate) fn names_dir(&self) -> bool {
        self.dir.is_some()
    }
}
