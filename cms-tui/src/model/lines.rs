//! Command lines that run in the background, and files that are being written. Esc ends those of
//! the screen, Ctrl-c those of any screen.

use super::{Effect, Model, Origin, Over};
use crate::{
    calls::Fault,
    step::{Form, Saving},
    text::{number, safe},
    theme::Role,
};

/// A command line under way, or a file.
pub(super) struct Line {
    text: String,
    /// The screen that asked for it.
    screen: u64,
    /// The form that asked for the line. It opens again if the line fails.
    form: Option<Box<Form>>,
}

impl Model {
    pub(super) fn run_line(&mut self, from: Origin, words: Vec<String>) -> Vec<Effect> {
        let text = format!("cms {}", words.join(" "));
        if self.acts_as.is_some() {
            let why = "commands act as operator, who may more: leave out --as";
            let why = format!("{}: {why}", safe(&text));
            match self.form_of(from) {
                Some(form) => form.fail(&Fault::new(why)),
                None => self.tell(Role::Warn, why),
            }
            return Vec::new();
        }
        self.tell(Role::Quiet, format!("{} … Esc ends it", safe(&text)));
        let number = self.begin_line(from, text);
        vec![Effect::Run(number, words)]
    }

    pub(super) fn save(&mut self, from: Origin, saving: Saving) -> Vec<Effect> {
        let text = saving.path.display().to_string();
        self.tell(Role::Quiet, format!("Writing {} … Esc stops", safe(&text)));
        let number = self.begin_line(from, text);
        vec![Effect::Save(number, saving)]
    }

    /// Begins a line, and puts its form aside: the screen is free meanwhile.
    fn begin_line(&mut self, from: Origin, text: String) -> u64 {
        let is_its = |over: &Over| matches!(over, Over::Form(form) if form.sent == from.act);
        let at = self.over.iter().position(is_its).filter(|_| from.act != 0);
        let form = at.and_then(|at| match self.over.remove(at) {
            Over::Form(form) => Some(form),
            _ => None,
        });
        self.tickets += 1;
        self.lines.insert(self.tickets, Line { text, screen: from.screen, form });
        self.tickets
    }

    /// Whether nothing lies over the screen that asked for it.
    fn is_free(&self, line: &Line) -> bool {
        self.over.is_empty() && self.stack.last().is_some_and(|shown| shown.id == line.screen)
    }

    /// Opens the form again with the failure; if that is not possible, only shows the failure.
    fn line_failed(&mut self, line: Line, why: &str) {
        let is_free = self.is_free(&line);
        match line.form.filter(|_| is_free) {
            Some(mut form) => {
                form.fail(&Fault::new(why));
                // The file stands first.
                form.at = 0;
                self.told = None;
                self.over.push(Over::Form(form));
            }
            None => {
                let say = format!("✗ {}: {}", safe(&line.text), safe(why));
                self.tell(Role::Bad, say);
            }
        }
    }

    /// Shows how many bytes of a file are written so far.
    pub(super) fn saving(&mut self, ticket: u64, bytes: u64) {
        if let Some(Line { text, .. }) = self.lines.get(&ticket) {
            let bytes = number(i64::try_from(bytes).unwrap_or(i64::MAX));
            let text = format!("Writing {}: {bytes} bytes … Esc stops", safe(text));
            self.tell(Role::Quiet, text);
        }
    }

    /// Ends the writing of a file: shows its size, or why it failed.
    pub(super) fn saved(&mut self, ticket: u64, outcome: Result<u64, String>) {
        let Some(line) = self.lines.remove(&ticket) else { return };
        match outcome {
            Ok(bytes) => {
                let (text, bytes) = (safe(&line.text), i64::try_from(bytes).unwrap_or(i64::MAX));
                let bytes = number(bytes);
                self.tell(Role::Good, format!("✓ {text} is written, {bytes} bytes"));
            }
            Err(why) => self.line_failed(line, &why),
        }
    }

    /// Shows the output on the screen that asked for it; on another screen, only its first line.
    pub(super) fn ran(&mut self, number: u64, outcome: &Result<String, String>) -> Vec<Effect> {
        let Some(line) = self.lines.remove(&number) else { return Vec::new() };
        let is_shown = self.is_free(&line);
        let (Ok(output) | Err(output)) = outcome;
        if outcome.is_err() && line.form.is_some() && is_shown {
            self.line_failed(line, output.trim());
            return self.reload();
        }
        let text = line.text;
        let first = output.lines().find(|line| !is_shown && !line.trim().is_empty());
        let first = first.map(|line| format!(": {}", safe(line))).unwrap_or_default();
        self.tell(Role::Plain, format!("{} has ended{first}", safe(&text)));
        if is_shown {
            self.over.push(Over::ran(&text, output));
        }
        self.reload()
    }

    /// Ends the line that was begun last, on this screen or on any. None: no line runs.
    pub(super) fn end_line(&mut self, is_anywhere: bool) -> Option<Vec<Effect>> {
        let top = self.stack.last().map(|shown| shown.id);
        let is_it = |line: &Line| is_anywhere || Some(line.screen) == top;
        let number = *self.lines.iter().rfind(|(_, line)| is_it(line))?.0;
        let Line { text, .. } = self.lines.remove(&number)?;
        self.tell(Role::Plain, format!("{} was ended.", safe(&text)));
        Some(vec![Effect::End(number)])
    }
}
