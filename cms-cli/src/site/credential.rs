//! Key or session: how the command line identifies itself at an address.

use cms_core::settings::Secret;
use cms_http::client::{Client, Credential};

use crate::{
    contexts::Sessions,
    environment,
    flags::Flags,
    output::{Done, Exit, Failure},
    target::Target,
};

/// A client for an address.
pub(crate) fn client(url: &str, credential: &Credential) -> Done<Client> {
    Client::remote(url, credential).map_err(|e| Failure::usage(e.to_string()))
}

/// The credential for an address: a key, else the session there.
pub(super) fn credential(flags: &Flags, target: &Target, url: &str) -> Done<Credential> {
    if let Some(key) = api_key(flags)? {
        return Ok(Credential::Key(key));
    }
    match Sessions::at(url)? {
        Some(session) => Ok(Credential::Session(session.token)),
        None => Err(Failure::new(
            Exit::NoRight,
            format!("you are not logged in at {url}, and no API key is given"),
        )
        .hint(format!(
            "cms login {}, or --key-file FILE, or CMS_API_KEY in the environment",
            target.option()
        ))),
    }
}

/// The API key, from a file or the environment. Other users can see the command line, so no flag
/// takes a key.
pub(crate) fn api_key(flags: &Flags) -> Done<Option<Secret>> {
    let text = match (&flags.key_file, environment::variable("CMS_API_KEY")) {
        (Some(path), _) => std::fs::read_to_string(path).map_err(|e| Failure::file(path, &e))?,
        (None, Some(key)) if !key.trim().is_empty() => key,
        _ => return Ok(None),
    };
    Ok(Some(Secret::new(text.trim())))
}
