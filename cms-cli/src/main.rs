//! The `cms` command: serve, administer and fill a site.
//!
//! Each floor imports only from those below it:
//!
//! ```text
//! main      parses the command line and runs the noun
//! args      the command tree
//! commands  a file or a folder for each noun
//! reply     asks the site and prints what it answers
//! site      the site, opened in this process or connected to
//! target    which site a command is about: a folder or an address
//! prompt    questions
//! loopback  a port of this machine that a command listens on
//! flags     the flags that every command takes
//! contexts  names for addresses, and the sessions there
//! folder    the folder of a site
//! log       the log of this process
//! input     files, standard input, durations
//! output    what is printed, and how a command ends
//! shop      a plugin in Rust, part of the sites of the demo
//! environment  the second start: without secrets, with an option of the allocator
//! ```

mod args;
mod commands;
mod contexts;
mod environment;
mod flags;
mod folder;
mod input;
mod log;
mod loopback;
mod output;
mod prompt;
mod reply;
mod shop;
mod signals;
mod site;
mod target;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, error::ErrorKind};

#[cfg(feature = "tui")]
use crate::commands::tui;
use crate::{
    args::{Cli, Command},
    commands::{
        api, audit, auth, cache, config, context, db, events, forms, funnels, groups, inbox, init,
        items, keys, limits, login, mail, media, migrate, origins, pages, plugins,
        process_webhooks, program, queue, serve, status, tables, tasks, theme, types, update,
        users, webhooks, whoami, widgets,
    },
    flags::Flags,
    log::LogFormat,
    output::{Done, Exit, Failure, Output, PrintFlags},
    site::Site,
};

/// Returns memory after a burst, while the C library would keep it in the arenas of its threads.
/// SQLite uses it too: each arena would take 64 MiB of address space.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(first) if first == folder::SCRIPT => return cms_core::scripts::launch(args),
        Some(first) if first == update::LAUNCH => return update::launch(args),
        _ => {}
    }
    // A thread often needs only a few KiB of a huge page of 2 MiB: with them, the process at rest
    // takes 84 MiB instead of 43.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    environment::clean();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    let out = Output::new(&cli.flags.print);
    let runtime = match threads(&cli).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            out.failure(&Failure::new(Exit::Failed, format!("no threads can be started: {error}")));
            return Exit::Failed.into();
        }
    };
    let outcome = runtime.block_on(run(cli, &out));
    // A blocked read of standard input must not delay the end.
    runtime.shutdown_background();
    log::finish();
    match outcome {
        Ok(()) => Exit::Ok.into(),
        Err(failure) => {
            out.failure(&failure);
            failure.exit.into()
        }
    }
}

/// A command line that is wrong: as a document where it asks for one, else as clap writes it.
fn refused(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if !wants_json || !error.use_stderr() {
        error.exit()
    }
    let text = error.render().to_string();
    let what = text.split("\n\nUsage:").next().unwrap_or_default();
    let what = what.split("\n\nFor more").next().unwrap_or_default();
    let failure = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::usage("a command is missing").hint("the same with --help")
        }
        _ => Failure::usage(what.trim_start_matches("error: ").trim_end()),
    };
    Output::new(&PrintFlags::json()).failure(&failure);
    failure.exit.into()
}

/// Threads that may wait for disks at the same time; each takes about 400 KiB once it has run.
/// Tokio would start up to 512.
const WAITING_THREADS: usize = 64;

/// The threads that a command needs.
fn threads(cli: &Cli) -> tokio::runtime::Builder {
    // On one core a second worker would only alternate with the first.
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1) {
        return tokio::runtime::Builder::new_current_thread();
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.max_blocking_threads(WAITING_THREADS);
    // The interface draws in the main thread. A second worker would take 6 MiB, and wake at each
    // tick of the clock.
    if cli.command.as_ref().is_some_and(Command::is_interface) {
        builder.worker_threads(1);
    }
    builder
}

/// Runs a noun at the site that the flags name.
async fn at_site<C>(
    flags: &Flags,
    out: &Output,
    command: C,
    run: impl AsyncFnOnce(&Flags, &Output, &Site, C) -> Done,
) -> Done {
    site::with(flags, out, async |site| run(flags, out, site, command).await).await
}

/// Runs what was typed.
async fn run(cli: Cli, out: &Output) -> Done {
    let Cli { flags, command } = cli;
    let flags = &flags;
    let Some(command) = command else { return program::start(flags, out) };
    if flags.acts_as.is_some() && command.ignores_rights() {
        let why = "--as works only with commands that a user's rights allow or refuse; this one \
                   ignores rights";
        return Err(Failure::usage(why).hint("leave out --as"));
    }
    match &command {
        Command::Serve(args) => {
            log::start(out, args.log_format, "warn,cms_core::site::building=info")?;
            log::catch_panics(args.log_format);
        }
        // These commands report by themselves what the log would say.
        Command::Doctor(_) | Command::Status(_) => log::start(out, LogFormat::Text, "off")?,
        command if command.is_interface() => log::start(out, LogFormat::Text, "off")?,
        Command::ProcessWebhooks(_) => {
            log::start(out, LogFormat::Text, "warn,cms_http=off")?;
            log::catch_panics(LogFormat::Text);
        }
        _ => log::start(out, LogFormat::Text, "warn,cms_http=off")?,
    }
    match command {
        Command::Init(args) => init::run(flags, out, args).await,
        Command::Serve(args) => {
            if let Err(failure) = update::resume(out).await {
                tracing::warn!("an update that broke off: {}", failure.what);
            }
            serve::run(flags, out, &args).await
        }
        Command::Items(command) => at_site(flags, out, command, items::run).await,
        Command::Resource(command) => at_site(flags, out, command, items::resources::run).await,
        Command::Keys(command) => at_site(flags, out, command, keys::run).await,
        Command::Webhooks(command) => webhooks::run(flags, out, command).await,
        Command::Events(command) => at_site(flags, out, command, events::run).await,
        Command::Queue(command) => at_site(flags, out, command, queue::run).await,
        Command::Mail(command) => mail::run(flags, out, command).await,
        Command::Tasks(command) => at_site(flags, out, command, tasks::run).await,
        Command::ProcessWebhooks(args) => process_webhooks::run(flags, out, &args).await,
        Command::Plugins(command) => plugins::run(flags, out, command).await,
        Command::Forms(command) => at_site(flags, out, command, forms::run).await,
        Command::Pages(command) => at_site(flags, out, command, pages::run).await,
        Command::Widgets(command) => at_site(flags, out, command, widgets::run).await,
        Command::Media(command) => at_site(flags, out, command, media::run).await,
        Command::Funnels(command) => at_site(flags, out, command, funnels::run).await,
        #[cfg(feature = "tui")]
        Command::Inbox(args) if args.is_interface() => tui::inbox(flags, out).await,
        Command::Inbox(args) => inbox::run(flags, out, args).await,
        Command::Origins(command) => at_site(flags, out, command, origins::run).await,
        Command::Users(command) => users::run(flags, out, command).await,
        Command::Groups(command) => at_site(flags, out, command, groups::run).await,
        Command::Auth(command) => auth::run(flags, out, command).await,
        Command::Login(args) => login::run(flags, out, args).await,
        Command::Logout => login::logout(flags, out).await,
        Command::Whoami => whoami::run(flags, out).await,
        Command::Api(args) => api::run(flags, out, args).await,
        Command::Context(command) => context::run(flags, out, command),
        Command::Audit(command) => at_site(flags, out, command, audit::run).await,
        Command::Cache(command) => at_site(flags, out, command, cache::run).await,
        Command::Tables(command) => at_site(flags, out, command, tables::run).await,
        Command::Theme(command) => theme::run(flags, out, command).await,
        Command::Types(command) => at_site(flags, out, command, types::run).await,
        Command::Limits(command) => at_site(flags, out, command, limits::run).await,
        Command::Config(command) => config::run(flags, out, &command),
        Command::Update(command) => update::run(flags, out, command).await,
        Command::Migrate(command) => migrate::run(flags, out, &command).await,
        Command::Db(command) => db::run(flags, out, command).await,
        Command::Status(_) => status::run(flags, out).await,
        Command::Doctor(_) => status::doctor(flags, out).await,
        #[cfg(feature = "tui")]
        Command::Tui(args) => tui::run(flags, out, args).await,
        Command::Version => program::version(out),
        Command::Completions(args) => program::completions(out, &args, Cli::command()),
        Command::ExitCodes => program::exit_codes(out),
    }
}
