//! The only place that prints: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde_json::Value as Json;

use crate::{args::Global, failure::Failure};

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    #[default]
    Auto,
    /// In pipes and files too
    Always,
    /// Not at all
    Never,
}

/// A colour by meaning; only the sixteen of the terminal, so that light and dark both work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Good,
    Bad,
    Warn,
    Bold,
}

/// What the command may print, and how.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// Print the REST body instead of tables.
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    /// Standard output is a terminal.
    pub(crate) table: bool,
    /// Standard error is a terminal.
    pub(crate) live: bool,
    colored_data: bool,
    /// Standard error takes colours.
    pub(crate) colored_notes: bool,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let (table, live) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colored = |terminal| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !plain,
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            table,
            live,
            colored_data: colored(table),
            colored_notes: colored(live),
        }
    }

    /// Data, as it is.
    pub(crate) fn raw(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// What stands between the columns of a line that is printed as soon as it is known.
    pub(crate) fn gap(&self) -> &'static str {
        if self.table { "  " } else { "\t" }
    }

    /// A line of data.
    pub(crate) fn line(&self, text: &str) -> io::Result<()> {
        self.raw(&format!("{text}\n"))
    }

    /// A value made here, in the envelope of the API.
    pub(crate) fn data(&self, value: &Json) -> io::Result<()> {
        self.line(&serde_json::json!({"data": value}).to_string())
    }

    /// Something for the person in front.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.always(text);
        }
    }

    /// Something that only matters when asked for.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.always(text);
        }
    }

    /// A line to standard error whatever the flags. There is nobody to tell when that fails.
    pub(crate) fn always(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Says why the command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        if failure.what.is_empty() {
            return;
        }
        if self.json {
            return self.always(&failure.document().to_string());
        }
        self.always(&format!("{} {}", self.styled_note(Style::Bad, "error:"), failure.what));
        if let Some(hint) = &failure.hint {
            self.always(&format!("{} {hint}", self.styled_note(Style::Bold, " next:")));
        }
    }

    /// Coloured text for standard output.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        paint(self.colored_data, style, text)
    }

    /// Coloured text for standard error.
    pub(crate) fn styled_note(&self, style: Style, text: &str) -> String {
        paint(self.colored_notes, style, text)
    }

    /// A line for standard error whose characters are light and whose blanks are dark, on every
    /// theme.
    pub(crate) fn white_on_black(&self, text: &str) -> String {
        if self.colored_notes { format!("\u{1b}[97;40m{text}\u{1b}[0m") } else { text.to_owned() }
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

fn paint(colored: bool, style: Style, text: &str) -> String {
    let code = match style {
        _ if !colored => return text.to_owned(),
        Style::Good => 32,
        Style::Bad => 31,
        Style::Warn => 33,
        Style::Bold => 1,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
