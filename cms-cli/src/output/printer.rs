//! The only place that prints: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use serde_json::Value as Json;

use super::{
    failure::{Done, Failure},
    style::{Color, Style, paint},
};

/// Flags about what is printed.
#[derive(Args, Clone, Debug)]
pub(crate) struct PrintFlags {
    /// Print the body of the REST API
    #[arg(long, global = true)]
    json: bool,
    /// Only data, no explanations
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say more, requests included
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Colours (NO_COLOR turns them off too)
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    color: Color,
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

    /// What a command without data did: the value with `--json`, else a sentence.
    pub(crate) fn done(&self, value: &Json, text: &str) -> Done {
        if self.json {
            return Ok(self.data(value)?);
        }
        self.note(text);
        Ok(())
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
