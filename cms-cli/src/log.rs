//! The log of this process, on standard error.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use crate::output::{Done, Failure, Output};

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Starts the log. `CMS_LOG` selects what is written (`warn,cms_http=debug`); without it, `usual`,
/// and with `-v` requests too.
pub(crate) fn start(out: &Output, format: LogFormat, usual: &str) -> Done {
    let given = std::env::var("CMS_LOG").ok().filter(|text| !text.trim().is_empty());
    let usual = if out.verbose { "warn,cms_core=info,cms_http=info" } else { usual };
    let filter = EnvFilter::try_new(given.as_deref().unwrap_or(usual)).map_err(|e| {
        Failure::usage(format!("CMS_LOG is not a list of log levels: {e}"))
            .hint("CMS_LOG=warn,cms_http=info")
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(out.colored_notes);
    let started = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    started.map_err(|e| Failure::new(crate::output::Exit::Failed, e.to_string()))
}
