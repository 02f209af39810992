//! `cms tui`: the terminal interface

mod paths;
mod place;
#[cfg(test)]
mod tests;

use std::{
    env,
    io::{self, IsTerminal},
};

use clap::Args;
use cms_core::Clock;
use cms_tui::Session;

use self::place::Opened;
use crate::{
    flags::Flags,
    output::{Done, Failure, Output},
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
    /// Screen to begin with, such as webhooks, queue, keys or content; the last one without it
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
        config: paths::config(),
        clock: || Clock::system().now(),
        contexts: place::contexts(),
        open_context: place::opener(flags),
    };
    let ended = cms_tui::run(session).await;
    let closed = opened.close().await;
    ended?;
    closed
}
