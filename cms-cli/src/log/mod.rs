//! The log of this process, on standard error. A slow reader delays nothing: see `lines`.

mod lines;

use std::{backtrace::Backtrace, sync::OnceLock, time::Duration};

use clap::ValueEnum;
use cms_core::{Clock, rfc3339};
use serde_json::json;
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

use self::lines::Lines;
use crate::output::{Done, Exit, Failure, Output};

/// How long the process waits at its end until the last lines are read.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

static LINES: OnceLock<Lines> = OnceLock::new();
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Crates whose names `CMS_LOG` may give without a level, beside our own.
const LOGGED: [&str; 7] = ["h2", "hyper", "hyper_util", "reqwest", "rustls", "sqlx", "tokio"];

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
    let filter = filter(given.as_deref().unwrap_or(usual)).map_err(|why| {
        Failure::usage(format!("CMS_LOG is not a list of log levels: {why}"))
            .hint("CMS_LOG=warn,cms_http=info")
    })?;
    let _ = FORMAT.set(format);
    let lines = Lines::start(move |lost| {
        let why = "its reader is slow or away, or its disk is full";
        format.error(&format!("{lost} lines of this log were lost: {why}"))
    });
    let lines = LINES.get_or_init(|| lines).clone();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(lines)
        // It would write to standard error directly, and panic if that fails.
        .log_internal_errors(false)
        .with_ansi(out.colored_notes);
    let started = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    started.map_err(|e| Failure::new(Exit::Failed, e.to_string()))
}

/// Whether the log is JSON; then other output among its lines must be JSON too.
pub(crate) fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

/// Parses a list of levels. `EnvFilter` would read a mistyped level as a target, and then write
/// only that target.
fn filter(text: &str) -> Result<EnvFilter, String> {
    // `EnvFilter` reads a space as part of the target.
    let directives: Vec<&str> = text.split(',').map(str::trim).collect();
    for word in &directives {
        let is_target = word.contains(['=', '[']) || word.contains("::");
        let is_ours = word.starts_with("cms") || LOGGED.contains(word);
        if !(is_target || is_ours || word.parse::<LevelFilter>().is_ok()) {
            let levels = "off, error, warn, info, debug or trace";
            return Err(format!("{word} is not {levels}; a level of one target is {word}=LEVEL"));
        }
    }
    EnvFilter::try_new(directives.join(",")).map_err(|e| e.to_string())
}

/// Sends panics through the log: the default hook blocks on the reader of standard error.
pub(crate) fn catch_panics(format: LogFormat) {
    std::panic::set_hook(Box::new(move |panic| {
        line(&format.error(&format!("{panic}\n{}", Backtrace::capture())));
        // A panic of this thread ends the process.
        if std::thread::current().name() == Some("main") {
            finish();
        }
    }));
}

/// Writes a line as it is.
pub(crate) fn line(text: &str) {
    if let Some(lines) = LINES.get() {
        lines.send(format!("{text}\n").into_bytes());
    }
}

/// Waits a moment until everything is written.
pub(crate) fn finish() {
    if let Some(lines) = LINES.get() {
        lines.wait(SHUTDOWN_TIMEOUT);
    }
}

impl LogFormat {
    /// A line that no subscriber has formatted.
    fn error(self, message: &str) -> String {
        let now = rfc3339(Clock::system().now());
        match self {
            Self::Text => format!("{now} ERROR cms: {}", message.trim_end()),
            Self::Json => json!({
                "timestamp": now,
                "level": "ERROR",
                "fields": {"message": message.trim_end()},
                "target": "cms",
            })
            .to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_level_is_refused() {
        for fine in [
            "warn", "OFF", "warn,cms_http=debug", "warn, cms_http=debug", "info,", "cms_core",
            "sqlx", "warn,sqlx::query", "cms_http[request]=info",
        ] {
            assert!(filter(fine).is_ok(), "{fine}");
        }
        for wrong in ["warning", "debugg", "warn,inf", "cms_http=warning", "warn debug"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
        let spaced = filter("warn, cms_http=debug").expect("a filter").to_string();
        assert!(spaced.contains("cms_http=debug"), "{spaced}");
    }
}
