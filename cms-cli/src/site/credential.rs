//! Key or session: how the command line identifies itself at an address.

use std::{sync::Arc, time::Duration};

use cms_core::Secret;
use cms_http::client::{Client, Credential, Sign, Wait};
use indicatif::ProgressBar;

use crate::{
    contexts::Sessions,
    environment,
    flags::Flags,
    output::{Done, Exit, Failure, Output},
    target::Target,
};

/// A client for an address.
pub(crate) fn client(url: &str, credential: &Credential, wait: Wait) -> Done<Client> {
    Client::remote_within(url, credential, wait).map_err(|e| Failure::usage(e.to_string()))
}

/// How long an address is waited for, and the sign of it. None: somebody else has the terminal.
pub(crate) fn wait(flags: &Flags, out: Option<&Output>) -> Wait {
    let usual = Wait::default();
    let given = flags.timeout.and_then(|seconds| u64::try_from(seconds).ok());
    let timeout = given.map_or(usual.timeout, Duration::from_secs);
    let shows = out.is_some_and(|out| out.live && !out.quiet && !out.json);
    let sign: Sign = Arc::new(|url: &str| {
        let bar = ProgressBar::new_spinner().with_message(format!("waiting for {url}"));
        bar.enable_steady_tick(Duration::from_millis(120));
        Box::new(Waiting(bar))
    });
    Wait { timeout, sign: shows.then_some(sign) }
}

/// The sign that an address is waited for, until dropped.
struct Waiting(ProgressBar);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
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
