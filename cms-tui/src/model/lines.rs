//! Command lines that run beside, and files that are written. Esc ends those of the screen, Ctrl-c
//! any.

use super::{Effect, Model, over::Over};
use crate::{
    step::Saving,
    text::{number, safe},
    theme::Role,
};

/// A command line under way, or a file.
pub(super) struct Line {
    text: String,
    /// The screen that asked for it.
    screen: u64,
}

impl Model {
    pub(super) fn run_line(&mut self, screen: u64, words: Vec<String>) -> Vec<Effect> {
        let text = format!("cms {}", words.join(" "));
        if self.acts_as.is_some() {
            let why = "commands act as operator, who may more: leave out --as";
            self.tell(Role::Warn, format!("{}: {why}", safe(&text)));
            return Vec::new();
        }
        self.tell(Role::Quiet, format!("{} … Esc ends it", safe(&text)));
        self.tickets += 1;
        self.lines.insert(self.tickets, Line { text, screen });
        vec![Effect::Run(self.tickets, words)]
    }

    pub(super) fn save(&mut self, screen: u64, saving: Saving) -> Vec<Effect> {
        let text = saving.path.display().to_string();
        self.tell(Role::Quiet, format!("Writing {} … Esc stops", safe(&text)));
        self.tickets += 1;
        self.lines.insert(self.tickets, Line { text, screen });
        vec![Effect::Save(self.tickets, saving)]
    }

    /// So many bytes of a file are written.
    pub(super) fn saving(&mut self, ticket: u64, bytes: u64) {
        if let Some(Line { text, .. }) = self.lines.get(&ticket) {
            let bytes = number(i64::try_from(bytes).unwrap_or(i64::MAX));
            let text = format!("Writing {}: {bytes} bytes … Esc stops", safe(text));
            self.tell(Role::Quiet, text);
        }
    }

    /// A file is written, of so many bytes, or not.
    pub(super) fn saved(&mut self, ticket: u64, outcome: Result<u64, String>) {
        let Some(Line { text, .. }) = self.lines.remove(&ticket) else { return };
        let text = safe(&text);
        match outcome {
            Ok(bytes) => {
                let bytes = number(i64::try_from(bytes).unwrap_or(i64::MAX));
                self.tell(Role::Good, format!("✓ {text} is written, {bytes} bytes"));
            }
            Err(why) => self.tell(Role::Bad, format!("✗ {text}: {}", safe(&why))),
        }
    }

    /// Shows what it printed where it was asked for; elsewhere its first line is told.
    pub(super) fn ran(&mut self, number: u64, output: &str) -> Vec<Effect> {
        let Some(Line { text, screen }) = self.lines.remove(&number) else { return Vec::new() };
        let is_here = self.stack.last().is_some_and(|shown| shown.id == screen);
        let is_shown = is_here && self.over.is_empty();
        let first = output.lines().find(|line| !is_shown && !line.trim().is_empty());
        let first = first.map(|line| format!(": {}", safe(line))).unwrap_or_default();
        self.tell(Role::Plain, format!("{} has ended{first}", safe(&text)));
        if is_shown {
            self.over.push(Over::ran(&text, output));
        }
        self.reload()
    }

    /// Ends the line that was begun last; on this screen only, or anywhere. None: none runs.
    pub(super) fn end_line(&mut self, is_anywhere: bool) -> Option<Vec<Effect>> {
        let top = self.stack.last().map(|shown| shown.id);
        let is_it = |line: &Line| is_anywhere || Some(line.screen) == top;
        let number = *self.lines.iter().rfind(|(_, line)| is_it(line))?.0;
        let Line { text, .. } = self.lines.remove(&number)?;
        self.tell(Role::Plain, format!("{} was ended.", safe(&text)));
        Some(vec![Effect::End(number)])
    }
}
