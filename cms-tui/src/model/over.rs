//! Windows that lie over the screen.

use crate::{
    actions::{ACTIONS, Action, Scene},
    step::{Confirm, Form, Menu},
    theme::Role,
    widgets::{input::Input, viewer::Viewer},
};

use super::Origin;

/// Something over the screen.
pub(crate) enum Over {
    Palette(Palette),
    Form(Box<Form>),
    /// A question, and its origin.
    Confirm(Confirm, Origin),
    Menu(Menu, Origin),
    View(Viewer),
}

/// A list of all actions, filtered as the user types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    pub(crate) input: Input,
    pub(crate) at: usize,
    /// Opened by `:`, to type a command.
    pub(crate) is_command: bool,
}

impl Palette {
    /// The actions that fit the filter, those of this screen first. Actions that cannot be done
    /// now are there too.
    pub(crate) fn fitting(&self, scene: &Scene<'_>) -> Vec<&'static Action> {
        let typed = self.input.text().to_lowercase();
        let words: Vec<&str> = typed.split_whitespace().collect();
        let fits = |action: &&Action| {
            let text = format!("{} {} {}", action.name, action.help, action.cli).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let rank = |action: &&Action| {
            let named = words.first().is_some_and(|word| action.verb().starts_with(word));
            let noun = match action.noun() {
                "go" => 2,
                "list" => 3,
                "app" => 4,
                _ => 1,
            };
            (!named, noun)
        };
        let here = ACTIONS.iter().filter(|action| action.is_here(scene));
        let mut found: Vec<_> = here.filter(fits).collect();
        found.sort_by_key(rank);
        found
    }
}

impl Over {
    /// What a command line printed.
    pub(crate) fn ran(line: &str, output: &str) -> Self {
        let mut viewer = Viewer::text(line, output);
        if viewer.lines.is_empty() {
            viewer.lines.push((Role::Quiet, "It printed nothing.".to_owned()));
        }
        Self::View(viewer)
    }
}
