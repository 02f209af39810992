//! The only place that prints: data to standard output, everything else to standard error.
//! Removes terminal control sequences, except for colours. A long task shows its progress: a bar
//! on a terminal, else a line every ten seconds.

use std::{
    io::{self, BufWriter, IsTerminal, Stdout, Write},
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use cms_core::plain::shown;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value as Json;

use super::failure::{Done, Failure};

/// Flags about what is printed.
#[derive(Args, Clone, Debug)]
pub(crate) struct PrintFlags {
    /// Print the body of the REST API
    #[arg(long, global = true)]
    json: bool,
    /// Print data only, no explanations
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print more: the site that is asked, and with `cms serve` its requests
    #[arg(short, long, global = true)]
    verbose: bool,
    /// When to use colours; NO_COLOR turns them off too
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    color: Color,
}

impl PrintFlags {
    /// The flags of an invalid command line that asks for JSON.
    pub(crate) fn json() -> Self {
        Self { json: true, quiet: false, verbose: false, color: Color::Never }
    }
}

/// A piece of what is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    Plain(&'a str),
    In(Style, &'a str),
}

/// The parts with colours, and without anything else that a terminal would obey, because texts
/// may come from strangers.
fn written(colored: bool, parts: &[Part<'_>]) -> String {
    let write = |part: &Part<'_>| match part {
        Part::Plain(text) => shown(text).into_owned(),
        Part::In(style, text) => paint(colored, *style, &shown(text)),
    };
    parts.iter().map(write).collect()
}

/// Prints what a command says, as its flags and its terminal allow.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// Prints bodies of the REST API instead of tables.
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    /// Standard output is a terminal.
    pub(crate) table: bool,
    /// Standard error is a terminal.
    pub(crate) live: bool,
    colored_data: bool,
    /// Standard error shows colours.
    pub(crate) colored_notes: bool,
}

impl Output {
    pub(crate) fn new(flags: &PrintFlags) -> Self {
        let (table, live) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self {
            json: flags.json,
            quiet: flags.quiet,
            verbose: flags.verbose,
            table,
            live,
            colored_data: flags.color.applies(table),
            colored_notes: flags.color.applies(live),
        }
    }

    /// Prints data. Of control characters, a terminal gets only line ends and tabs.
    pub(crate) fn raw(&self, text: &str) -> io::Result<()> {
        self.parts(&[Part::Plain(text)])
    }

    /// Prints data with coloured parts.
    pub(crate) fn parts(&self, parts: &[Part<'_>]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(written(self.colored_data, parts).as_bytes())?;
        out.flush()
    }

    /// Separates the columns of lines that are printed one at a time.
    pub(crate) fn gap(&self) -> &'static str {
        if self.table { "  " } else { "\t" }
    }

    /// Prints a line of data.
    pub(crate) fn line(&self, text: &str) -> io::Result<()> {
        self.raw(&format!("{text}\n"))
    }

    /// Prints a value made here, in the envelope of the API.
    pub(crate) fn data(&self, value: &Json) -> io::Result<()> {
        self.line(&serde_json::json!({"data": value}).to_string())
    }

    /// Reports what a command did: the value with `--json`, else a sentence.
    pub(crate) fn done(&self, value: &Json, text: &str) -> Done {
        self.told(&serde_json::json!({"data": value}).to_string(), text)
    }

    /// Reports a call: the body of its reply with `--json`, else a sentence.
    pub(crate) fn told(&self, body: &str, text: &str) -> Done {
        if self.json {
            return Ok(self.line(body)?);
        }
        self.note(text);
        Ok(())
    }

    /// Tells the person something, unless `--quiet` is given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.always(text);
        }
    }

    /// Prints more, with `--verbose`.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.always(text);
        }
    }

    /// Writes a line to standard error, whatever the flags. A failure to write is dropped: nobody
    /// could read it.
    pub(crate) fn always(&self, text: &str) {
        self.always_in(&[Part::Plain(text)]);
    }

    fn always_in(&self, parts: &[Part<'_>]) {
        let _ = writeln!(io::stderr().lock(), "{}", written(self.colored_notes, parts));
    }

    /// Prints why the command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        if failure.what.is_empty() {
            return;
        }
        if self.json {
            return self.always(&failure.document().to_string());
        }
        let what = format!(" {}", failure.what);
        self.always_in(&[Part::In(Style::Bad, "error:"), Part::Plain(&what)]);
        if let Some(hint) = &failure.hint {
            self.always_in(&[Part::In(Style::Bold, " next:"), Part::Plain(&format!(" {hint}"))]);
        }
    }

    /// Writes a line to standard error in light characters on dark blanks, whatever the theme. QR
    /// codes need that.
    pub(crate) fn white_on_black(&self, text: &str) {
        self.always_in(&[Part::In(Style::WhiteOnBlack, text)]);
    }

    /// Columns of the terminal.
    pub(crate) fn width(&self) -> usize {
        let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        given
            .or_else(|| crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)))
            .unwrap_or(100)
            .max(20)
    }
}

/// Standard output for long texts. A file or a pipe gets the bytes as they are; on a terminal,
/// control characters are shown instead of obeyed. Each text must be written whole.
pub(crate) struct Visible {
    to: BufWriter<Stdout>,
    is_terminal: bool,
}

impl Visible {
    pub(crate) fn stdout(out: &Output) -> Self {
        Self { to: BufWriter::new(io::stdout()), is_terminal: out.table }
    }
}

impl Write for Visible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_terminal {
            self.to.write_all(shown(&String::from_utf8_lossy(bytes)).as_bytes())?;
        } else {
            self.to.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// In pipes and files too
    Always,
    /// Not at all
    Never,
}

impl Color {
    /// Whether a stream gets colours. `NO_COLOR` and `TERM=dumb` turn the automatic ones off.
    fn applies(self, is_terminal: bool) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = || set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !plain(),
        }
    }
}

/// A colour by meaning. Only the terminal's sixteen colours, which suit light and dark themes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Good,
    Bad,
    Warn,
    Bold,
    /// Whatever the theme.
    WhiteOnBlack,
}

/// The text in the colour of `style`, or as it is.
fn paint(colored: bool, style: Style, text: &str) -> String {
    let code = match style {
        _ if !colored => return text.to_owned(),
        Style::Good => "32",
        Style::Bad => "31",
        Style::Warn => "33",
        Style::Bold => "1",
        Style::WhiteOnBlack => "97;40",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// `1 step`, `2 steps`.
pub(crate) fn counted(number: impl Into<u64>, thing: &str) -> String {
    match number.into() {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// The most names that [`listed`] shows.
const MAX_NAMES: usize = 5;

/// `ana, bo`; of many `ana, bo, cy, di, ed and 2 more`.
pub(crate) fn listed(names: &[String]) -> String {
    match names.split_at_checked(MAX_NAMES) {
        Some((first, more @ [_, ..])) => format!("{} and {} more", first.join(", "), more.len()),
        _ => names.join(", "),
    }
}

const LINE_EVERY: Duration = Duration::from_secs(10);

/// The progress of one task, counted in rows or bytes.
pub(crate) struct Progress {
    out: Output,
    bar: Option<ProgressBar>,
    total: Option<u64>,
    started: Instant,
    told: Instant,
    rows: u64,
    what: &'static str,
    shown: fn(u64) -> String,
}

impl Progress {
    /// Begins. `total` has the unit of [`Progress::at`]: bytes of a file, or rows.
    pub(crate) fn new(out: &Output, what: &'static str, total: Option<u64>) -> Self {
        Self::shown_as(out, what, total, |rows| format!("{rows} rows"))
    }

    /// As [`Progress::new`], counted in bytes.
    pub(crate) fn of_bytes(out: &Output, what: &'static str, total: Option<u64>) -> Self {
        let shown = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        Self::shown_as(out, what, total, shown)
    }

    fn shown_as(
        out: &Output,
        what: &'static str,
        total: Option<u64>,
        shown: fn(u64) -> String,
    ) -> Self {
        let now = Instant::now();
        let bar = (std::io::stderr().is_terminal() && !out.quiet && !out.json).then(|| bar(total));
        Self { out: out.clone(), bar, total, started: now, told: now, rows: 0, what, shown }
    }

    /// Reports the rows done so far, and the position within the total.
    pub(crate) fn at(&mut self, rows: u64, position: u64) {
        self.rows = rows;
        if let Some(bar) = &self.bar {
            bar.set_position(position);
            let left = self.left(position);
            bar.set_message(format!("{}, {}/s{left}", (self.shown)(rows), self.rate()));
        } else if self.told.elapsed() >= LINE_EVERY {
            self.told = Instant::now();
            let rows = (self.shown)(rows);
            let left = self.left(position);
            self.out.note(&format!("{}: {rows}, {}/s{left}", self.what, self.rate()));
        }
    }

    /// Replaces the bar by a summary.
    pub(crate) fn end(&self, target: &str) {
        self.clear();
        let seconds = self.started.elapsed().as_secs_f64();
        self.out.note(&format!(
            "{}: {} {target} in {seconds:.1} s ({}/s)",
            self.what,
            (self.shown)(self.rows),
            self.rate()
        ));
    }

    /// Removes the bar without a summary, before a failure is printed.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// How long the rest takes, if it goes on as before.
    fn left(&self, position: u64) -> String {
        let rest = self.total.and_then(|total| total.checked_sub(position));
        let (Some(rest), 1..) = (rest, position) else { return String::new() };
        let seconds = self.started.elapsed().as_secs_f64() / position as f64 * rest as f64;
        format!(", {seconds:.0} s left")
    }

    fn rate(&self) -> String {
        let rate = (self.rows as f64 / self.started.elapsed().as_secs_f64().max(0.001)) as u64;
        (self.shown)(rate)
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{bar:30} {percent:>3} %  {msg}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}"),
    };
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        for (number, text) in [(0_u64, "0 rows"), (1, "1 row"), (2, "2 rows")] {
            assert_eq!(counted(number, "row"), text);
        }
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let names: Vec<String> = (1..=500).map(|id| format!("n{id}")).collect();
        for (count, text) in [
            (0, ""),
            (1, "n1"),
            (5, "n1, n2, n3, n4, n5"),
            (6, "n1, n2, n3, n4, n5 and 1 more"),
            (500, "n1, n2, n3, n4, n5 and 495 more"),
        ] {
            assert_eq!(listed(&names[..count]), text);
        }
    }
}
