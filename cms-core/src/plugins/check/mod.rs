//! Checks a manifest whose form is right. Each problem has a pointer and a remedy.
//!
//! ```text
//! known      what a manifest is compared with: other tables, the files of its folder
//! names      forms of names, and of texts that people read
//! tables     tables and their columns
//! buttons    members of each type, ids, tables, what they lead to
//! fields     columns of forms, and where a select has its options from
//! widgets, endpoints
//! ```

mod buttons;
mod endpoints;
mod fields;
mod known;
mod names;
mod tables;
mod widgets;

use std::collections::BTreeSet;

use super::{Manifest, Problem};
use crate::{
    access::AREAS,
    content::core,
    events::{OWN, find_entry},
};

pub(crate) use self::known::CheckContext;

/// A check under way.
struct Check<'a> {
    manifest: &'a Manifest,
    known: &'a CheckContext,
    /// Pointers to faults of the form. Values there or below are not checked again.
    faulty: &'a BTreeSet<String>,
    problems: Vec<Problem>,
}

impl Manifest {
    /// All problems that the manifest alone shows, with JSON pointers (RFC 6901).
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        problems(self, &CheckContext::default(), &BTreeSet::new())
    }
}

/// All problems of a manifest, except at places that are already `faulty`.
pub(super) fn problems(
    manifest: &Manifest,
    known: &CheckContext,
    faulty: &BTreeSet<String>,
) -> Vec<Problem> {
    let mut check = Check { manifest, known, faulty, problems: Vec::new() };
    check.id();
    check.texts();
    check.tables();
    check.buttons();
    check.widgets();
    check.endpoints();
    check.events();
    check.tasks();
    check.problems
}

/// The problems of a manifest's widgets. Only the tables of the core count as known.
#[cfg(test)]
pub(crate) fn problems_of_widgets(manifest: &Manifest) -> Vec<Problem> {
    let (known, faulty) = (CheckContext::of([].into_iter()), BTreeSet::new());
    let mut check = Check { manifest, known: &known, faulty: &faulty, problems: Vec::new() };
    for (i, widget) in manifest.pagebuilder_widgets.iter().enumerate() {
        check.widget(widget, &format!("/{i}"));
    }
    check.problems
}

/// Whether nothing at this pointer or above has a faulty form.
pub(super) fn is_sound(faulty: &BTreeSet<String>, at: &str) -> bool {
    let ends = at.match_indices('/').map(|(end, _)| end).chain([at.len()]);
    faulty.is_empty() || !ends.into_iter().any(|end| faulty.contains(&at[..end]))
}

impl Check<'_> {
    /// Reports a problem, unless its place is already faulty.
    fn fault(&mut self, at: impl Into<String>, remedy: impl Into<String>) {
        let at = at.into();
        if self.is_sound(&at) {
            self.problems.push(Problem::new(at, remedy));
        }
    }

    fn is_sound(&self, at: &str) -> bool {
        is_sound(self.faulty, at)
    }

    /// Reports each value that occurs a second time, as `{value} {twice}`.
    fn doubles<'v>(&mut self, values: impl Iterator<Item = (String, &'v str)>, twice: &str) {
        let mut seen = BTreeSet::new();
        for (at, value) in values {
            if self.is_sound(&at) && !seen.insert(value) {
                self.fault(at, format!("{value:?} {twice}"));
            }
        }
    }

    fn id(&mut self) {
        let id = &self.manifest.id;
        if !names::is_identifier(id) {
            self.fault("/id", format!("{} are expected, such as \"shop\"", names::IDENTIFIER));
        } else if is_built_in(id) {
            self.fault("/id", format!("{id:?} is a part of the service: choose another id"));
        } else if self.known.folder_name().is_some_and(|name| name != id) {
            let name = self.known.folder_name().unwrap_or_default();
            self.fault("/id", format!("the id is {id:?}, but the folder is named {name:?}"));
        }
    }
}

/// Whether the service itself has an area or a content table of this id.
fn is_built_in(id: &str) -> bool {
    let belongs = |area: &&str| area.split_once('_').is_some_and(|(owner, _)| owner == id);
    id == core::ID || AREAS.contains(&id) || AREAS.iter().any(belongs)
}

impl Check<'_> {
    fn events(&mut self) {
        let events = &self.manifest.webhook_events;
        let names = events.iter().enumerate();
        self.doubles(
            names.map(|(i, event)| (format!("/webhook_events/{i}/name"), event.name.as_str())),
            "is declared twice",
        );
        for (i, event) in events.iter().enumerate() {
            let is_short = |kind: &String| names::is_word(kind) && kind.len() <= 40;
            if !event.event_type.iter().all(is_short) {
                let remedy = "a short word is expected, such as \"manual\"";
                self.fault(format!("/webhook_events/{i}/type"), remedy);
            }
            let (name, at) = (event.name.as_str(), format!("/webhook_events/{i}/name"));
            let is_name = (1..=200).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            if !is_name {
                let remedy = format!(
                    "letters, digits, `.`, `_` and `-` are expected, such as \"{}.paid\"",
                    self.manifest.id
                );
                self.fault(at, remedy);
            } else if let Some(own) = OWN.iter().find(|own| name.starts_with(**own)) {
                let remedy = format!(
                    "names that begin with {own} are the service's own: write \"{}.{}\"",
                    self.manifest.id,
                    name.rsplit('.').next().unwrap_or_default()
                );
                self.fault(at, remedy);
            } else if find_entry(name).is_some() {
                self.fault(at, format!("the service declares {name} already: leave it out"));
            }
        }
    }
}

impl Check<'_> {
    fn tasks(&mut self) {
        let tasks = &self.manifest.tasks;
        let all = tasks.iter().enumerate();
        self.doubles(
            all.map(|(i, task)| (format!("/tasks/{i}/name"), task.name.as_str())),
            "is the name of another task",
        );
        for (i, task) in tasks.iter().enumerate() {
            let at = format!("/tasks/{i}");
            if !names::is_identifier(&task.name) {
                let remedy = format!("{} are expected, such as \"tidy\"", names::IDENTIFIER);
                self.fault(format!("{at}/name"), remedy);
            }
            if !(1..=31_536_000).contains(&task.interval_s) {
                let remedy = "1 to 31536000 seconds are expected";
                self.fault(format!("{at}/interval_s"), remedy);
            }
            if task.timeout_s.is_some_and(|limit| !(1..=604_800).contains(&limit)) {
                self.fault(format!("{at}/timeout_s"), "1 to 604800 seconds are expected");
            }
            match (&task.script, &task.handler) {
                (None, None) => {
                    self.fault(format!("{at}/script"), "a task needs script or handler");
                }
                (Some(_), Some(_)) => {
                    let remedy = "a task runs one thing: remove script or handler";
                    self.fault(format!("{at}/handler"), remedy);
                }
                _ => {}
            }
            self.script(&format!("{at}/script"), task.script.as_deref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_built_in_areas_are_reserved() {
        let faulty = |id: &str| {
            let manifest: Manifest =
                serde_json::from_value(serde_json::json!({"id": id})).expect("manifest");
            manifest.problems().iter().any(|problem| problem.pointer == "/id")
        };
        let ids = ["core", "formfunnel", "webhooks", "keys", "pages", "media", "forms", "settings"];
        for id in ids.iter().chain(&AREAS) {
            assert!(faulty(id), "{id}");
        }
        for id in ["shop", "pages_shop", "key", "webhook"] {
            assert!(!faulty(id), "{id}");
        }
    }
}
