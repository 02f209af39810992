//! The log of this process, on standard error. A slow reader delays nothing: lines wait in a
//! bounded queue that one thread empties. A full disk and a slow or missing reader cost lines,
//! never work. Lost lines are counted, and the count is written with the next line.

use std::{
    backtrace::Backtrace,
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use clap::ValueEnum;
use cms_core::{Clock, rfc3339};
use serde_json::json;
use tracing_subscriber::{EnvFilter, filter::LevelFilter, fmt::MakeWriter};

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

/// Bytes that may wait; further lines are lost.
const ROOM: usize = 256 << 10;
/// Pause before the next attempt at a terminal or pipe that takes nothing now.
const PAUSE: Duration = Duration::from_millis(20);

/// The queue. Clones share it.
#[derive(Clone)]
struct Lines(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    lost: u64,
    /// Whether the last write failed.
    broken: bool,
    /// Whether lines were taken out and are not written yet.
    writing: bool,
}

impl Lines {
    /// Starts the thread. `confess` makes the line that says how many lines were lost.
    fn start(confess: impl Fn(u64) -> String + Send + 'static) -> Self {
        let lines = Self(Arc::default());
        let (own, error) = (lines.clone(), io::stderr());
        // A duplicate handle: a blocked writer may hold the lock of the usual one.
        let begun = error.as_fd().try_clone_to_owned().and_then(|fd| {
            let thread = std::thread::Builder::new().name("log".to_owned());
            thread.spawn(move || own.0.empty(&mut File::from(fd), confess))
        });
        if let Err(error) = begun {
            lines.send(format!("the log cannot be written: {error}\n").into_bytes());
        }
        lines
    }

    /// Queues a line, or loses it when there is no room.
    fn send(&self, line: Vec<u8>) {
        let mut state = self.0.lock();
        if state.bytes + line.len() > ROOM {
            state.lost += 1;
            return;
        }
        state.bytes += line.len();
        state.waiting.push_back(line);
        self.0.changed.notify_all();
    }

    /// Waits until everything is written, at most for `limit`.
    fn wait(&self, limit: Duration) {
        let state = self.0.lock();
        let busy = |state: &mut State| state.writing || state.has_news();
        drop(self.0.changed.wait_timeout_while(state, limit, busy));
    }
}

impl State {
    /// Whether there is something to write. After a failed write, lost lines alone are not enough.
    fn has_news(&self) -> bool {
        !self.waiting.is_empty() || (self.lost > 0 && !self.broken)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines for ever.
    fn empty(&self, out: &mut impl Write, confess: impl Fn(u64) -> String) {
        loop {
            let state = self.lock();
            let idle = |state: &mut State| !state.has_news();
            let mut state =
                self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            let (lines, lost) = (std::mem::take(&mut state.waiting), state.lost);
            (state.bytes, state.writing) = (0, true);
            drop(state);
            let mut text = Vec::new();
            if lost > 0 {
                text.extend_from_slice(format!("{}\n", confess(lost)).as_bytes());
            }
            lines.iter().for_each(|line| text.extend_from_slice(line));
            let written = write(out, &text);
            let mut state = self.lock();
            match written {
                Ok(()) => state.lost -= lost,
                Err(_) => state.lost += lines.len() as u64,
            }
            (state.writing, state.broken) = (false, written.is_err());
            self.changed.notify_all();
        }
    }
}

/// As `write_all`, but also for a descriptor that does not block.
fn write(out: &mut impl Write, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        match out.write(text) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => text = &text[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Takes what the subscriber has formatted: one call is one line.
struct Line(Lines);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(self.clone())
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

    /// Fails the first writes, then keeps what comes.
    struct Broken(u32, Arc<Mutex<Vec<u8>>>);

    impl Write for Broken {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            if self.0 > 0 {
                self.0 -= 1;
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.1.lock().expect("not poisoned").extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lost_lines_are_counted_and_told() {
        let (lines, kept) = (Lines(Arc::default()), Arc::default());
        // One too many for the room.
        for _ in 0..=ROOM / 1024 {
            lines.send(vec![b'x'; 1024]);
        }
        let (own, mut out) = (lines.clone(), Broken(1, Arc::clone(&kept)));
        std::thread::spawn(move || own.0.empty(&mut out, |lost| format!("{lost} lost")));
        lines.wait(Duration::from_secs(5));
        lines.send(b"here again\n".to_vec());
        lines.wait(Duration::from_secs(5));
        // A loss is reported even without a further line.
        lines.0.lock().lost = 7;
        lines.0.changed.notify_all();
        lines.wait(Duration::from_secs(5));
        let text = String::from_utf8(kept.lock().expect("not poisoned").clone()).expect("text");
        let expected = format!("{} lost\nhere again\n7 lost\n", ROOM / 1024 + 1);
        assert_eq!(text, expected);
    }
}
