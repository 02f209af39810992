//! The terminal interface of the CMS: `cms tui`.
//!
//! Each floor imports only from those below it:
//!
//! ```text
//! run      the loop: terminal, calls, events, files
//! view     draws a model; pure
//! model    what the interface knows, and how messages change it; pure
//! screens  a folder or a file for each noun
//! widgets  list, form, menu, question, text
//! step     what an action or a reply leads to
//! calls    calls of the API, typed by operation
//! actions  every action with its keys and its command line
//! keys     keys as text; keys.toml
//! theme, moment, text
//! ```

mod actions;
mod calls;
#[cfg(test)]
mod driver;
mod keys;
mod model;
mod moment;
mod run;
mod screens;
mod step;
mod text;
mod theme;
mod view;
mod widgets;

pub use run::{ForgetLogin, KeepLogin, OpenContext, Session, Site, run};

/// Name and equal command lines (without `cms`) of every action. Words in braces or capitals stand
/// for values.
#[must_use]
pub fn actions() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = |one: &actions::Action| {
        let first = Some(one.cli).filter(|line| !line.is_empty());
        first.into_iter().chain(one.also.iter().copied()).collect()
    };
    actions::ACTIONS.iter().map(|one| (one.name, lines(one))).collect()
}
