//! `cms tui`: the terminal interface, and the site that it shows

#[cfg(test)]
mod tests;

use std::{
    env,
    io::{self, IsTerminal},
    path::PathBuf,
    sync::Arc,
};

use clap::{Args, builder::PossibleValuesParser};
use cms_core::{Clock, Secret};
use cms_http::client::{Credential, Wait};
use cms_tui::{ForgetLogin, KeepLogin, OpenContext, Session, Site as Shown};

use crate::{
    contexts::{self, Contexts, Sessions, config_folder},
    environment,
    flags::Flags,
    output::{Done, Failure, Output},
    site::{self, Site},
    target::Target,
};

#[derive(Args, Debug, Default)]
#[command(after_help = "Examples:
  cms tui
  cms tui webhooks
  cms tui inbox --where 'assigned:me state:new'
  cms tui --context prod --readonly
  cms tui --as ana

? lists every key. keys.toml in the folder of cms context changes them.
For screen readers and plain terminals every action is a command: cms --help.")]
pub(crate) struct TuiArgs {
    /// Screen to begin with; the last one without it
    #[arg(value_parser = PossibleValuesParser::new(screens()))]
    screen: Option<String>,
    /// Words that filter the list of the screen, as after / there
    #[arg(long = "where", value_name = "WORDS", requires = "screen")]
    filter: Option<String>,
    /// Change nothing
    #[arg(long)]
    readonly: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    no_mouse: bool,
}

/// The names of the screens.
fn screens() -> impl Iterator<Item = &'static str> {
    cms_tui::actions().into_iter().filter_map(|(name, _)| name.strip_prefix("go."))
}

/// Why the terminal cannot show the interface.
fn unfit(out: &Output) -> Option<&'static str> {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if out.json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        Some("cms tui needs a terminal")
    } else if is("TERM", "dumb") {
        Some("cms tui cannot draw on this terminal (TERM=dumb)")
    } else if is("ACCESSIBLE", "1") {
        Some("cms tui draws a whole screen, which ACCESSIBLE=1 asks not to")
    } else {
        None
    }
}

const FORMS: &str = "the same as commands: cms webhooks list, cms webhooks deliveries list, \
                     cms queue list, cms keys list, cms items list TABLE, cms users list; \
                     cms --help lists all";

/// `cms inbox` without a verb.
pub(crate) async fn inbox(flags: &Flags, out: &Output) -> Done {
    if let Some(why) = unfit(out) {
        let hint = "the same as commands: cms inbox list, show, set-status, assign, note, export; \
                    cms inbox --help lists all";
        return Err(Failure::usage(why.replacen("cms tui", "cms inbox", 1)).hint(hint));
    }
    run(flags, out, TuiArgs { screen: Some("inbox".to_owned()), ..TuiArgs::default() }).await
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: TuiArgs) -> Done {
    if let Some(why) = unfit(out) {
        return Err(Failure::usage(why).hint(FORMS));
    }
    let opened = Opened::new(flags, out).await?;
    let session = Session {
        site: opened.shown.clone(),
        readonly: args.readonly,
        has_mouse: !args.no_mouse,
        screen: args.screen,
        filter: args.filter,
        config: config_folder(),
        clock: || Clock::system().now(),
        contexts: contexts(),
        open_context: opener(flags),
    };
    let ended = cms_tui::run(session).await;
    let closed = opened.close().await;
    ended?;
    closed
}

/// A site that the interface shows, and what must be closed at the end.
struct Opened {
    shown: Shown,
    site: Option<Site>,
}

impl Opened {
    /// Opens the site that the flags name. Without a session at an address, the interface asks
    /// for the login.
    async fn new(flags: &Flags, out: &Output) -> Done<Self> {
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
            state: state_file(&target.whole_name()),
            program,
            secrets: environment::secrets(),
            login: None,
            logout: None,
        };
        Ok(Self { shown, site: Some(site) })
    }

    /// Ends the session of `--as` and closes the site.
    async fn close(self) -> Done {
        match self.site {
            Some(site) => site.close().await,
            None => Ok(()),
        }
    }
}

/// How to run a command line of `cms` for this site: the program and its first arguments.
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
        state: state_file(&name),
        name,
        is_local: false,
        acts_as: None,
        program,
        secrets: environment::secrets(),
        login: Some(keep),
        logout: Some(forget),
    })
}

/// The names of the running sites that this user has stored.
fn contexts() -> Vec<String> {
    let known = Contexts::load().unwrap_or_default();
    known.iter().map(|(name, ..)| name.to_owned()).collect()
}

/// Opens another of these sites. An API key is only for the site that the command line names.
fn opener(flags: &Flags) -> OpenContext {
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

/// The file of what the interface remembers about a site.
fn state_file(site: &str) -> Option<PathBuf> {
    let name: String =
        site.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(120).collect();
    let folder = contexts::folder("XDG_STATE_HOME", ".local/state")?;
    Some(folder.join("tui").join(format!("{name}.json")))
}
