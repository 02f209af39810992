//! The site that the interface shows: a folder, a folder as one of its users, an address.

use std::{env, sync::Arc};

use cms_core::Secret;
use cms_http::client::{Credential, Wait};
use cms_tui::{ForgetLogin, KeepLogin, OpenContext, Site as Shown};

use super::paths;
use crate::{
    contexts::{self, Contexts, Sessions},
    environment,
    flags::Flags,
    output::{Done, Failure, Output},
    site::{self, Site},
    target::Target,
};

/// A site that is shown, and what is to be closed at the end.
pub(super) struct Opened {
    pub(super) shown: Shown,
    site: Option<Site>,
}

impl Opened {
    /// Opens what the flags name. At an address without a session, the interface asks for the
    /// login.
    pub(super) async fn new(flags: &Flags, out: &Output) -> Done<Self> {
        let target = Target::of(flags)?;
        let program = program(&target)?;
        if let Target::Address { url, .. } = &target {
            let shown = at_address(
                site::api_key(flags)?,
                site::wait(flags, None),
                url,
                target.to_string(),
                program,
            );
            return Ok(Self { shown: shown?, site: None });
        }
        let site = Site::open(flags, &target, out).await?;
        let shown = Shown {
            client: site.client.clone(),
            name: target.whole_name(),
            is_local: true,
            acts_as: site.acts_as(),
            state: paths::state(&target.whole_name()),
            program,
            secrets: environment::secrets(),
            login: None,
            logout: None,
        };
        Ok(Self { shown, site: Some(site) })
    }

    /// Ends the session of `--as` and closes the site.
    pub(super) async fn close(self) -> Done {
        match self.site {
            Some(site) => site.close().await,
            None => Ok(()),
        }
    }
}

/// How a command line of `cms` is run for this site: program and first arguments.
fn program(target: &Target) -> Done<Vec<String>> {
    let mut program = vec![env::current_exe()?.to_string_lossy().into_owned()];
    program.extend(target.words());
    Ok(program)
}

fn at_address(
    key: Option<Secret>,
    wait: Wait,
    url: &str,
    name: String,
    program: Vec<String>,
) -> Done<Shown> {
    let credential = match (key, Sessions::at(url)?) {
        (Some(key), _) => Credential::Key(key),
        (None, Some(session)) => Credential::Session(session.token),
        (None, None) => Credential::None,
    };
    let client = site::client(url, &credential, wait.clone())?;
    let (at, left, patience) = (url.to_owned(), url.to_owned(), wait.clone());
    let keep: KeepLogin = Arc::new(move |token: &str, user: &str, expires_at: &str| {
        let session = contexts::Session {
            token: Secret::new(token),
            username: user.to_owned(),
            expires_at: expires_at.to_owned(),
        };
        Sessions::keep(&at, session).map_err(|failure| failure.what)?;
        let credential = Credential::Session(Secret::new(token));
        site::client(&at, &credential, patience.clone()).map_err(|failure| failure.what)
    });
    let forget: ForgetLogin = Arc::new(move || {
        Sessions::forget(&left).map_err(|failure| failure.what)?;
        site::client(&left, &Credential::None, wait.clone()).map_err(|failure| failure.what)
    });
    Ok(Shown {
        client,
        state: paths::state(&name),
        name,
        is_local: false,
        acts_as: None,
        program,
        secrets: environment::secrets(),
        login: Some(keep),
        logout: Some(forget),
    })
}

/// The names of the running sites that the user knows.
pub(super) fn contexts() -> Vec<String> {
    let known = Contexts::load().unwrap_or_default();
    known.iter().map(|(name, ..)| name.to_owned()).collect()
}

/// How another of them is opened. An API key is for the site that the command line names.
pub(super) fn opener(flags: &Flags) -> OpenContext {
    let wait = site::wait(flags, None);
    Arc::new(move |name: &str| {
        let open = || {
            let target = Target::context(name)?;
            let Target::Address { url, .. } = &target else {
                return Err(Failure::usage(format!("{name} has no address")));
            };
            at_address(None, wait.clone(), url, target.to_string(), program(&target)?)
        };
        open().map_err(|failure: Failure| failure.what)
    })
}
