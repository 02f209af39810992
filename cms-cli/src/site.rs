//! The site a command is about: a folder opened in this process, or an address.

use std::path::{Path, PathBuf};

use cms_core::{
    Cms,
    settings::{Loaded, Origin, Secret, Settings, environment},
};
use cms_http::{Api, client::Client};

use crate::{
    args::Global,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
};

/// An open site and the client to speak to it with.
pub(crate) struct Site {
    pub(crate) client: Client,
    /// The site itself, when it is open in this process.
    pub(crate) cms: Option<Cms>,
}

impl Site {
    /// Connects to `--url`, else opens the folder.
    pub(crate) async fn open(global: &Global, out: &Output) -> Done<Self> {
        if let Some(url) = &global.url {
            let client = Client::remote(url, &api_key(global)?).map_err(|e| Failure::usage(e.to_string()))?;
            return Ok(Self { client, cms: None });
        }
        let loaded = existing(&global.dir, &[], out)?;
        let cms = Cms::open(loaded.settings).await?;
        Ok(Self { client: Client::local(Api::new(cms.clone())?), cms: Some(cms) })
    }

    /// Writes counters and closes the database.
    pub(crate) async fn close(self) {
        if let Some(cms) = self.cms {
            cms.close().await;
        }
    }
}

/// The settings of the folder; warnings are printed.
pub(crate) fn settings(dir: &Path, flags: &[(&str, String)], out: &Output) -> Done<Loaded> {
    let loaded = Settings::load(dir, environment(), flags)?;
    for warning in &loaded.warnings {
        out.note(&format!("warning: {warning}"));
    }
    Ok(loaded)
}

/// The settings of a folder that holds a site. Without this check a command in the wrong folder would make a database.
pub(crate) fn existing(dir: &Path, flags: &[(&str, String)], out: &Output) -> Done<Loaded> {
    let loaded = settings(dir, flags, out)?;
    if is_site(&loaded) {
        return Ok(loaded);
    }
    let shown = dir.display();
    Err(Failure::new(Exit::NotFound, format!("there is no site in {shown}: it has no cms.toml"))
        .hint(format!("cms init --dir {shown}, or name the site's folder with --dir, or its address with --url")))
}

/// Whether the folder holds a site, or the environment names its database.
pub(crate) fn is_site(loaded: &Loaded) -> bool {
    let file = |name| loaded.dir.join(name).is_file();
    let named = |key| loaded.origins.get(key).is_some_and(|entry| entry.origin != Origin::Default && !entry.value.is_empty());
    file("cms.toml") || file("cms.local.toml") || named("database_url") || named("db_host")
}

/// A command that works on the folder itself, and never on `--url`.
pub(crate) fn local_only(global: &Global, what: &str) -> Done<PathBuf> {
    match &global.url {
        None => Ok(global.dir.clone()),
        Some(_) => Err(Failure::usage(format!("{what} works on the site's folder, not on an address"))
            .hint("run it on the server with --dir, without --url and CMS_URL")),
    }
}

/// The API key for `--url`: from a file or the environment, never from the command line, which others can see.
fn api_key(global: &Global) -> Done<Secret> {
    let text = match (&global.key_file, std::env::var("CMS_API_KEY")) {
        (Some(path), _) => std::fs::read_to_string(path).map_err(|e| Failure::file(path, &e))?,
        (None, Ok(key)) if !key.trim().is_empty() => key,
        _ => {
            return Err(Failure::new(Exit::NoRight, "there is no API key for --url")
                .hint("--key-file FILE, or CMS_API_KEY in the environment; `cms keys create` on the server makes one"));
        }
    };
    Ok(Secret::new(text.trim()))
}
