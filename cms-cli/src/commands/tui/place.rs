//! The site that the interface shows: a folder, a folder as one of its users, an address.

use std::{env, sync::Arc};

use cms_core::{Actor, Cms, Secret, accounts::Rights};
use cms_http::{
    Api,
    client::{Client, Credential},
};
use cms_tui::{ForgetLogin, KeepLogin, OpenContext, Site as Shown};

use super::paths;
use crate::{
    contexts::{self, Contexts, Sessions},
    flags::Flags,
    output::{Done, Exit, Failure, Output},
    site::{self, Site},
    target::Target,
};

/// A site that is shown, and what is to be closed at the end.
pub(super) struct Opened {
    pub(super) shown: Shown,
    pub(super) cms: Option<Cms>,
    /// The session of `--as`: user and session end with the interface.
    acting: Option<Acting>,
}

/// A session that no login began.
struct Acting {
    user: i64,
    session: i64,
}

impl Opened {
    /// Opens what the flags name. At an address without a session, the interface asks for the
    /// login.
    pub(super) async fn new(flags: &Flags, out: &Output, user: Option<&str>) -> Done<Self> {
        let target = Target::of(flags)?;
        let program = program(&target)?;
        if let Target::Address { url, .. } = &target {
            if user.is_some() {
                let why = "--as is for the site's own machine: over the network a user logs in";
                return Err(Failure::usage(why).hint("leave out --as, or name the folder: --dir"));
            }
            let shown = at_address(site::api_key(flags)?, url, target.to_string(), program);
            return Ok(Self { shown: shown?, cms: None, acting: None });
        }
        let Site { client, cms } = Site::open(flags, &target, out).await?;
        let shown = Shown {
            client,
            name: target.whole_name(),
            is_local: true,
            acts_as: None,
            state: paths::state(&target.whole_name()),
            program,
            login: None,
            logout: None,
        };
        let opened = Self { shown, cms, acting: None };
        match user {
            Some(user) => opened.acting_as(user).await,
            None => Ok(opened),
        }
    }

    /// The same site as this user sees it: with a session of that user, and with no more rights.
    async fn acting_as(mut self, user: &str) -> Done<Self> {
        let Some(cms) = &self.cms else { return Ok(self) };
        let found = cms.accounts().user_named(user).await?;
        if !found.active {
            let why = format!("{} is switched off and has no session", found.username);
            let hint = format!("cms users enable {}", found.username);
            return Err(Failure::new(Exit::Refused, why).hint(hint));
        }
        let mut change = cms.change(Actor::Operator).await?;
        let token = cms.accounts().act_as(&mut change, found.id).await?;
        change.commit().await?;
        let open = cms.accounts().identify(token.expose()).await?;
        self.acting = open.map(|open| Acting { user: found.id, session: open.session });
        self.shown.client = Client::local_as(Api::new(cms.clone())?, Secret::new(token.expose()));
        self.shown.acts_as = Some(found.username);
        Ok(self)
    }

    /// Ends the session of `--as` and closes the site.
    pub(super) async fn close(self) -> Done {
        let Some(cms) = self.cms else { return Ok(()) };
        let ended = match self.acting {
            Some(acting) => end(&cms, acting).await,
            None => Ok(()),
        };
        cms.close().await;
        ended
    }
}

async fn end(cms: &Cms, Acting { user, session }: Acting) -> Done {
    let mut change = cms.change(Actor::Operator).await?;
    let ended = cms.accounts().revoke_sessions(&mut change, &Rights::Admin, user, Some(session));
    match ended.await {
        Ok(()) => Ok(change.commit().await?),
        // An administrator has ended it already.
        Err(_) => Ok(()),
    }
}

/// How a command line of `cms` is run for this site: program and first arguments.
fn program(target: &Target) -> Done<Vec<String>> {
    let mut program = vec![env::current_exe()?.to_string_lossy().into_owned()];
    program.extend(target.words());
    Ok(program)
}

fn at_address(key: Option<Secret>, url: &str, name: String, program: Vec<String>) -> Done<Shown> {
    let credential = match (key, Sessions::at(url)?) {
        (Some(key), _) => Credential::Key(key),
        (None, Some(session)) => Credential::Session(session.token),
        (None, None) => Credential::None,
    };
    let client = site::client(url, &credential)?;
    let (at, left) = (url.to_owned(), url.to_owned());
    let keep: KeepLogin = Arc::new(move |token: &str, user: &str, expires_at: &str| {
        let session = contexts::Session {
            token: Secret::new(token),
            username: user.to_owned(),
            expires_at: expires_at.to_owned(),
        };
        Sessions::keep(&at, session).map_err(|failure| failure.what)?;
        let credential = Credential::Session(Secret::new(token));
        site::client(&at, &credential).map_err(|failure| failure.what)
    });
    let forget: ForgetLogin = Arc::new(move || {
        Sessions::forget(&left).map_err(|failure| failure.what)?;
        site::client(&left, &Credential::None).map_err(|failure| failure.what)
    });
    Ok(Shown {
        client,
        state: paths::state(&name),
        name,
        is_local: false,
        acts_as: None,
        program,
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
pub(super) fn opener() -> OpenContext {
    Arc::new(|name: &str| {
        let open = || {
            let target = Target::context(name)?;
            let Target::Address { url, .. } = &target else {
                return Err(Failure::usage(format!("{name} has no address")));
            };
            at_address(None, url, target.to_string(), program(&target)?)
        };
        open().map_err(|failure: Failure| failure.what)
    })
}
