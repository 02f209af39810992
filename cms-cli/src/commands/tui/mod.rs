//! `cms tui`: the terminal interface

mod paths;
#[cfg(test)]
mod tests;

use std::{
    env,
    io::{self, IsTerminal},
    sync::Arc,
};

use clap::Args;
use cms_core::{Clock, Secret};
use cms_http::client::Credential;
use cms_tui::{KeepLogin, Session};

use crate::{
    contexts::{self, Sessions},
    flags::Flags,
    output::{Done, Failure, Output},
    site::{self, Site},
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms tui
  cms tui webhooks
  cms tui --context prod --readonly

? lists every key. keys.toml in the folder of cms context changes them.
For screen readers and plain terminals every action is a command: cms --help.")]
pub(crate) struct TuiArgs {
    /// Screen to begin with, such as webhooks, queue, keys or content; the last one without it
    screen: Option<String>,
    /// Change nothing
    #[arg(long)]
    readonly: bool,
}

/// Why the terminal cannot show it.
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

pub(crate) async fn run(flags: &Flags, out: &Output, args: TuiArgs) -> Done {
    if let Some(why) = unfit(out) {
        return Err(Failure::usage(why).hint(FORMS));
    }
    let target = Target::of(flags)?;
    let (site, login) = open(flags, &target, out).await?;
    let mut program: Vec<String> = vec![env::current_exe()?.to_string_lossy().into_owned()];
    program.extend(target.words());
    let session = Session {
        client: site.client.clone(),
        site: target.to_string(),
        is_local: site.cms.is_some(),
        readonly: args.readonly,
        screen: args.screen,
        config: paths::config(),
        state: paths::state(&target.to_string()),
        clock: || Clock::system().now(),
        program,
        login,
    };
    let ended = cms_tui::run(session).await;
    site.close().await;
    Ok(ended?)
}

/// The site. At an address without a session, the interface itself asks for the login.
async fn open(flags: &Flags, target: &Target, out: &Output) -> Done<(Site, Option<KeepLogin>)> {
    let Target::Address { url, .. } = target else {
        return Ok((Site::open(flags, target, out).await?, None));
    };
    let credential = match (site::api_key(flags)?, Sessions::at(url)?) {
        (Some(key), _) => Credential::Key(key),
        (None, Some(session)) => Credential::Session(session.token),
        (None, None) => Credential::None,
    };
    let client = site::client(url, &credential)?;
    let url = url.clone();
    let keep: KeepLogin = Arc::new(move |token: &str, user: &str, expires_at: &str| {
        let session = contexts::Session {
            token: Secret::new(token),
            username: user.to_owned(),
            expires_at: expires_at.to_owned(),
        };
        Sessions::keep(&url, session).map_err(|failure| failure.what)?;
        let credential = Credential::Session(Secret::new(token));
        site::client(&url, &credential).map_err(|failure| failure.what)
    });
    Ok((Site { client, cms: None }, Some(keep)))
}
