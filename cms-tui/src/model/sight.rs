//! The user's position, whether the site answers, and how fresh the data is.

use serde_json::Value as Json;

use super::{Model, OpenScreen};
use crate::{actions::Scene, screens::Screen, theme::Role, widgets::list::List};

/// An owned copy of the user's position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    noun: &'static str,
    is_list: bool,
    subject: Json,
    row: Option<Json>,
    marks: Vec<Json>,
    is_all: bool,
    rights: Option<Vec<String>>,
    site: String,
    filter: String,
    sort: Option<(String, bool)>,
    who: String,
    is_operator: bool,
    readonly: bool,
    now: i64,
}

impl Sight {
    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            noun: self.noun,
            is_list: self.is_list,
            subject: self.subject.clone(),
            row: self.row.as_ref(),
            marks: self.marks.iter().collect(),
            is_all: self.is_all,
            rights: self.rights.as_deref(),
            site: &self.site,
            filter: &self.filter,
            sort: self.sort.as_ref().map(|(column, down)| (column.as_str(), *down)),
            who: &self.who,
            is_operator: self.is_operator,
            readonly: self.readonly,
            now: self.now,
        }
    }
}

impl Model {
    /// The screen, its rows and rights, for actions.
    pub(crate) fn scene(&self) -> Scene<'_> {
        let screen = self.screen();
        let list = screen.and_then(Screen::list);
        Scene {
            noun: screen.map_or("", Screen::noun),
            is_list: list.is_some(),
            subject: screen.map(|screen| screen.subject().clone()).unwrap_or_default(),
            row: screen.and_then(Screen::row),
            marks: list.map(List::marked).unwrap_or_default(),
            is_all: list.is_some_and(|list| list.is_all),
            rights: self.rights.as_deref(),
            site: &self.target,
            filter: screen.map(Screen::applied).unwrap_or_default(),
            sort: list.and_then(List::order),
            who: &self.who,
            is_operator: self.is_local && self.acts_as.is_none(),
            readonly: self.readonly,
            now: self.now,
        }
    }

    /// An owned copy of the scene, for code that changes the model.
    pub(crate) fn sight(&self) -> Sight {
        let screen = self.screen();
        let list = screen.and_then(Screen::list);
        Sight {
            noun: screen.map_or("", Screen::noun),
            is_list: list.is_some(),
            subject: screen.map(|screen| screen.subject().clone()).unwrap_or_default(),
            row: screen.and_then(Screen::row).cloned(),
            marks: list
                .map(|list| list.marked().into_iter().cloned().collect())
                .unwrap_or_default(),
            is_all: list.is_some_and(|list| list.is_all),
            rights: self.rights.clone(),
            site: self.target.clone(),
            filter: screen.map(|screen| screen.applied().to_owned()).unwrap_or_default(),
            sort: list.and_then(|list| list.sort.clone()),
            who: self.who.clone(),
            is_operator: self.is_local && self.acts_as.is_none(),
            readonly: self.readonly,
            now: self.now,
        }
    }
}

/// Screens whose data changes without a commit.
const UNSTORED: [&str; 3] = ["limits", "login", "system"];
/// Seconds between two reads of a screen that is also read when something happens: time changes
/// data too, for example when keys expire.
const FED_S: i64 = 30;

/// Whether the site answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Link {
    #[default]
    Connecting,
    Up,
    /// Nobody answers, for this reason: the data may be old.
    Offline(String),
}

impl Model {
    /// Where the data of this screen comes from, and how old it is.
    pub(crate) fn freshness(&self) -> (Role, String) {
        let Some(shown) = self.stack.last() else { return (Role::Quiet, String::new()) };
        let age = shown.answered_at.map(|at| (self.now - at) / 1000);
        let poll = self.poll_s(shown);
        match (&self.link, age) {
            (Link::Offline(_), Some(age)) => {
                (Role::Bad, format!("✗ offline, {} old", crate::moment::span(age)))
            }
            (Link::Offline(_), None) => (Role::Bad, "✗ offline".to_owned()),
            (Link::Connecting, _) | (_, None) => (Role::Quiet, "○ loading".to_owned()),
            (_, Some(age)) if age > 3 * poll.max(2) => {
                (Role::Warn, format!("◐ stale {}", crate::moment::span(age)))
            }
            _ if self.is_fed(shown) => (Role::Good, "● live".to_owned()),
            _ => (Role::Quiet, format!("◌ polled {poll}s")),
        }
    }

    fn is_fed(&self, shown: &OpenScreen) -> bool {
        let name = shown.screen.subject()["name"].as_str().unwrap_or_default();
        let is_stored = !UNSTORED.contains(&shown.screen.noun());
        (self.is_watched && is_stored)
            || (self.is_live && shown.screen.follows(&format!("item.{name}.updated")))
    }

    /// Seconds between two reads. A local site is read more often: it costs no round trip.
    pub(super) fn poll_s(&self, shown: &OpenScreen) -> i64 {
        match (self.is_fed(shown), self.is_local) {
            (true, _) => shown.screen.poll_s().max(FED_S),
            (_, true) => shown.screen.poll_s().min(1),
            _ => shown.screen.poll_s(),
        }
    }
}
