//! Opens the site that a command uses: a folder in this process, with `--as USER` as one of its
//! users, or an address with a key or a session.

use std::{sync::Arc, time::Duration};

use cms_core::{Actor, Cms, Secret, access::HeldPermissions};
use cms_http::{
    Api,
    client::{Client, Credential, Sign, Wait},
};
use indicatif::ProgressBar;

use crate::{
    contexts::Sessions,
    environment,
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output},
    target::Target,
};

/// An open site and its client.
pub(crate) struct Site {
    pub(crate) client: Client,
    /// The site itself, when it is open in this process.
    pub(crate) cms: Option<Cms>,
    /// The session of `--as`.
    acting: Option<Acting>,
}

impl Site {
    /// Opens the folder, or connects to the address with a key or a session.
    pub(crate) async fn open(flags: &Flags, target: &Target, out: &Output) -> Done<Self> {
        out.detail(&format!("site: {target}"));
        match target {
            Target::Address { url, .. } => {
                let client = client(url, &credential(flags, target, url)?, wait(flags, Some(out)))?;
                Ok(Self { client, cms: None, acting: None })
            }
            Target::Folder(dir) => {
                let cms = folder::as_is(folder::existing(dir, &[], out)?.settings).await?;
                Self::opened(flags, cms).await
            }
        }
    }

    /// A site that is open in this process: as operator, or with `--as` as a user.
    pub(crate) async fn opened(flags: &Flags, cms: Cms) -> Done<Self> {
        let Some(user) = &flags.acts_as else {
            let client = Client::local(Api::new(cms.clone())?);
            return Ok(Self { client, cms: Some(cms), acting: None });
        };
        match Acting::begin(&cms, user).await {
            Ok((acting, client)) => Ok(Self { client, cms: Some(cms), acting: Some(acting) }),
            Err(failure) => {
                cms.close().await;
                Err(failure)
            }
        }
    }

    /// Name of the user of `--as`.
    #[cfg(feature = "tui")]
    pub(crate) fn acts_as(&self) -> Option<String> {
        self.acting.as_ref().map(|acting| acting.username.clone())
    }

    /// Ends the session of `--as`, writes counters and closes the database.
    pub(crate) async fn close(self) -> Done {
        let Some(cms) = self.cms else { return Ok(()) };
        let ended = match self.acting {
            Some(acting) => acting.end(&cms).await,
            None => Ok(()),
        };
        cms.close().await;
        ended
    }
}

/// Opens the site that the flags name, runs, and closes it even after a failure.
pub(crate) async fn with(
    flags: &Flags,
    out: &Output,
    run: impl AsyncFnOnce(&Site) -> Done,
) -> Done {
    with_target(flags, out, &Target::of(flags)?, run).await
}

/// [`with`] for calls that anonymous callers may make too: needs no key or session.
pub(crate) async fn with_anybody(
    flags: &Flags,
    out: &Output,
    run: impl AsyncFnOnce(&Site) -> Done,
) -> Done {
    let target = Target::of(flags)?;
    let Target::Address { url, .. } = &target else {
        return with_target(flags, out, &target, run).await;
    };
    out.detail(&format!("site: {target}"));
    let credential = credential_if_any(flags, url)?.unwrap_or(Credential::None);
    let client = client(url, &credential, wait(flags, Some(out)))?;
    run(&Site { client, cms: None, acting: None }).await
}

/// [`with`] for a known target.
pub(crate) async fn with_target(
    flags: &Flags,
    out: &Output,
    target: &Target,
    run: impl AsyncFnOnce(&Site) -> Done,
) -> Done {
    let site = Site::open(flags, target, out).await?;
    let outcome = run(&site).await;
    let closed = site.close().await;
    outcome.and(closed)
}

/// A client for an address.
pub(crate) fn client(url: &str, credential: &Credential, wait: Wait) -> Done<Client> {
    Client::remote_within(url, credential, wait).map_err(|e| Failure::usage(e.to_string()))
}

/// How long to wait for an address, and the sign of waiting. None: the terminal is in other use.
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
fn credential(flags: &Flags, target: &Target, url: &str) -> Done<Credential> {
    credential_if_any(flags, url)?.ok_or_else(|| {
        let what = format!("you are not logged in at {url}, and no API key is given");
        Failure::new(Exit::NoRight, what).hint(format!(
            "cms login {}, or --key-file FILE, or CMS_API_KEY in the environment",
            target.words().join(" ")
        ))
    })
}

/// As [`credential`]; None: there is neither.
fn credential_if_any(flags: &Flags, url: &str) -> Done<Option<Credential>> {
    if let Some(key) = api_key(flags)? {
        return Ok(Some(Credential::Key(key)));
    }
    Ok(Sessions::at(url)?.map(|session| Credential::Session(session.token)))
}

/// The API key, from a file or the environment. No flag takes a key, because other users can see
/// the command line.
pub(crate) fn api_key(flags: &Flags) -> Done<Option<Secret>> {
    let text = match (&flags.key_file, environment::variable("CMS_API_KEY")) {
        (Some(path), _) => std::fs::read_to_string(path).map_err(|e| Failure::file(path, &e))?,
        (None, Some(key)) if !key.trim().is_empty() => key,
        _ => return Ok(None),
    };
    Ok(Some(Secret::new(text.trim())))
}

/// A session that was opened without a login. It ends with the command. After Ctrl-C it expires,
/// and nobody has its token.
struct Acting {
    #[cfg(feature = "tui")]
    username: String,
    user: i64,
    session: i64,
}

impl Acting {
    /// Opens a session of the user. Its client has no more rights than the user.
    async fn begin(cms: &Cms, user: &str) -> Done<(Self, Client)> {
        let accounts = cms.accounts();
        let found = accounts.user_named(user).await?;
        let off = || {
            let why = format!("{} is switched off and has no session", found.username);
            Failure::new(Exit::Refused, why).hint(format!("cms users enable {}", found.username))
        };
        if !found.active {
            return Err(off());
        }
        let mut change = cms.change(Actor::Operator).await?;
        let token = accounts.act_as(&mut change, found.id).await?;
        change.commit().await?;
        let open = accounts.identify(token.expose()).await?;
        let session = open.ok_or_else(off)?.session;
        let client = Client::local_as(Api::new(cms.clone())?, Secret::new(token.expose()));
        let acting = Self {
            #[cfg(feature = "tui")]
            username: found.username.clone(),
            user: found.id,
            session,
        };
        Ok((acting, client))
    }

    /// Ends the session.
    async fn end(self, cms: &Cms) -> Done {
        let mut change = cms.change(Actor::Operator).await?;
        let (accounts, session) = (cms.accounts(), Some(self.session));
        let ended =
            accounts.revoke_sessions(&mut change, &HeldPermissions::Admin, self.user, session);
        match ended.await {
            Ok(()) => Ok(change.commit().await?),
            // An administrator has already ended the session.
            Err(_) => Ok(()),
        }
    }
}
