//! The site a command is about: a folder opened in this process, or an address.

use std::path::Path;

use cms_core::{
    Cms,
    settings::{Loaded, Origin, Secret, Settings, environment},
};
use cms_http::{
    Api,
    client::{Client, Credential},
};

use crate::{
    args::Global,
    contexts::Sessions,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    target::Target,
};

/// An open site and the client to speak to it with.
pub(crate) struct Site {
    pub(crate) client: Client,
    /// The site itself, when it is open in this process.
    pub(crate) cms: Option<Cms>,
}

impl Site {
    /// Opens the folder, or connects to the address as whoever has a key or a session there.
    pub(crate) async fn open(global: &Global, target: &Target, out: &Output) -> Done<Self> {
        out.detail(&format!("site: {target}"));
        match target {
            Target::Address { url, .. } => {
                let client = client(url, &credential(global, target, url)?)?;
                Ok(Self { client, cms: None })
            }
            Target::Folder(dir) => {
                let loaded = existing(dir, &[], out)?;
                let cms = Cms::open(loaded.settings).await?;
                Ok(Self { client: Client::local(Api::new(cms.clone())?), cms: Some(cms) })
            }
        }
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

/// The settings of a folder that holds a site. Without this check a command in the wrong folder
/// would make a database.
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
    let named = |key| {
        loaded
            .origins
            .get(key)
            .is_some_and(|entry| entry.origin != Origin::Default && !entry.value.is_empty())
    };
    file("cms.toml") || file("cms.local.toml") || named("database_url") || named("db_host")
}

/// A client of an address.
pub(crate) fn client(url: &str, credential: &Credential) -> Done<Client> {
    Client::remote(url, credential).map_err(|e| Failure::usage(e.to_string()))
}

/// What to show at an address: a key, else the session there.
fn credential(global: &Global, target: &Target, url: &str) -> Done<Credential> {
    if let Some(key) = api_key(global)? {
        return Ok(Credential::Key(key));
    }
    match Sessions::at(url)? {
        Some(session) => Ok(Credential::Session(session.token)),
        None => Err(Failure::new(
            Exit::NoRight,
            format!("nobody is logged in at {url}, and there is no API key"),
        )
        .hint(format!(
            "cms login {}, or --key-file FILE, or CMS_API_KEY in the environment",
            target.option()
        ))),
    }
}

/// The API key: from a file or the environment, never from the command line, which others can see.
pub(crate) fn api_key(global: &Global) -> Done<Option<Secret>> {
    let text = match (&global.key_file, std::env::var("CMS_API_KEY")) {
        (Some(path), _) => std::fs::read_to_string(path).map_err(|e| Failure::file(path, &e))?,
        (None, Ok(key)) if !key.trim().is_empty() => key,
        _ => return Ok(None),
    };
    Ok(Some(Secret::new(text.trim())))
}
