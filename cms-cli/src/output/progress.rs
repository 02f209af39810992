//! Progress of a long task: a bar on a terminal, else a line every ten seconds.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::printer::Output;

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
