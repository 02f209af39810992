//! One file for each noun.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod exit_codes;
pub(crate) mod export;
pub(crate) mod groups;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod items;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod migrate;
pub(crate) mod origins;
pub(crate) mod process_webhooks;
pub(crate) mod queue;
pub(crate) mod serve;
pub(crate) mod start;
#[cfg(feature = "tui")]
pub(crate) mod tui;
pub(crate) mod users;
pub(crate) mod version;
pub(crate) mod webhooks;
pub(crate) mod whoami;

use crate::{
    args::{Cli, Command, Global},
    failure::Done,
    log::{self, LogFormat},
    output::Output,
    site::Site,
    target::Target,
};

/// Runs what was typed.
pub(crate) async fn run(cli: Cli, out: &Output) -> Done {
    let Cli { global, command } = cli;
    let Some(command) = command else { return start::run(&global, out) };
    match &command {
        Command::Serve(args) => log::start(out, args.log_format, "warn")?,
        // It reports by itself what the log would say.
        Command::Doctor(_) => log::start(out, LogFormat::Text, "off")?,
        #[cfg(feature = "tui")]
        Command::Tui(_) => log::start(out, LogFormat::Text, "off")?,
        _ => log::start(out, LogFormat::Text, "warn,cms_http=off")?,
    }
    match command {
        Command::Init(args) => init::run(&global, out, args).await,
        Command::Serve(args) => serve::run(&global, out, &args).await,
        Command::Items(command) => {
            with_site(&global, out, async |site| items::run(&global, out, site, command).await)
                .await
        }
        Command::Keys(command) => {
            with_site(&global, out, async |site| keys::run(&global, out, site, command).await).await
        }
        Command::Cache(command) => {
            with_site(&global, out, async |site| cache::run(out, site, command).await).await
        }
        Command::Limits(command) => {
            with_site(&global, out, async |site| limits::run(out, site, &command).await).await
        }
        Command::Origins(command) => {
            with_site(&global, out, async |site| origins::run(&global, out, site, command).await)
                .await
        }
        Command::Webhooks(command) => webhooks::run(&global, out, command).await,
        Command::Events(command) => {
            with_site(&global, out, async |site| events::run(out, site, command).await).await
        }
        Command::Queue(command) => {
            with_site(&global, out, async |site| queue::run(&global, out, site, command).await)
                .await
        }
        Command::ProcessWebhooks(args) => process_webhooks::run(&global, out, &args).await,
        Command::Audit(command) => {
            with_site(&global, out, async |site| audit::run(out, site, &command).await).await
        }
        Command::Users(command) => users::run(&global, out, command).await,
        Command::Groups(command) => {
            with_site(&global, out, async |site| groups::run(&global, out, site, command).await)
                .await
        }
        Command::Auth(command) => {
            with_site(&global, out, async |site| auth::run(out, site, command).await).await
        }
        Command::Login(args) => login::run(&global, out, args).await,
        Command::Logout => logout::run(&global, out).await,
        Command::Whoami => whoami::run(&global, out).await,
        Command::Context(command) => context::run(&global, out, command),
        Command::Config(command) => config::run(&global, out, &command),
        Command::Migrate(command) => migrate::run(&global, out, &command).await,
        Command::Doctor(_) => doctor::run(&global, out).await,
        #[cfg(feature = "tui")]
        Command::Tui(args) => tui::run(&global, out, args).await,
        Command::Version => version::run(out),
        Command::Completions(args) => completions::run(out, &args),
        Command::ExitCodes => exit_codes::run(out),
    }
}

/// Opens the site, runs, and closes it however the run ended.
async fn with_site(global: &Global, out: &Output, run: impl AsyncFnOnce(&Site) -> Done) -> Done {
    with_target(global, out, &Target::of(global)?, run).await
}

async fn with_target(
    global: &Global,
    out: &Output,
    target: &Target,
    run: impl AsyncFnOnce(&Site) -> Done,
) -> Done {
    let site = Site::open(global, target, out).await?;
    let outcome = run(&site).await;
    site.close().await;
    outcome
}
