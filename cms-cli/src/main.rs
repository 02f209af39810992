//! The `cms` command: serve, administer and fill a site.
//!
//! ```text
//! args      what can be typed
//! target    the site it is about: a folder or an address
//! contexts  names for addresses, and the sessions there
//! site      the site, opened in this process or connected to
//! commands  one file for each noun
//! output    the only place that prints
//! failure   why a command ends with something other than 0
//! ```

mod args;
mod commands;
mod contexts;
mod csv_text;
mod exit;
mod failure;
mod input;
mod log;
mod output;
mod paging;
mod progress;
mod prompt;
mod record;
mod secret_file;
mod site;
mod table;
mod target;

use std::process::ExitCode;

use clap::Parser;

use crate::{args::Cli, exit::Exit, failure::Failure, output::Output};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let out = Output::new(&cli.global);
    // On one core a second worker would only take turns with the first.
    let one_core = std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1);
    let mut builder = if one_core {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            out.failure(&Failure::new(Exit::Failed, format!("no threads can be started: {error}")));
            return Exit::Failed.into();
        }
    };
    let outcome = runtime.block_on(commands::run(cli, &out));
    // A reader that still waits for standard input must not hold up the end.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => Exit::Ok.into(),
        Err(failure) => {
            out.failure(&failure);
            failure.exit.into()
        }
    }
}
