//! What the interface knows, and how messages change it. Pure: no terminal, no network, no clock.
//!
//! ```text
//! typed    keys: overlays first, then what is typed on the screen, then actions
//! acts     runs an action
//! steps    takes the steps that screens return
//! answers  replies to calls; stale ones are dropped
//! places   screens on top of each other, those visited
//! over     what lies over the screen: palette, form, menu, question, text
//! ```

mod acts;
mod answers;
pub(crate) mod over;
mod places;
mod steps;
mod typed;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{
    actions::{KeyMap, Scene},
    calls::{Fault, Read, Reply},
    keys::Key,
    screens::Screen,
    step::{Place, Undo},
    theme::{Role, Theme},
};
use answers::{Pending, Running};
use cms_http::client::Ask;
use over::Over;

/// What happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    /// The terminal has another size.
    Resize,
    /// The time, in milliseconds; about once a second.
    Tick(i64),
    Answered(u64, Result<Reply, Fault>),
    /// A pause is over.
    Woke(u64),
    /// Whether events come in as they happen.
    Live(bool),
    /// Something happened at the site.
    Happened(String),
    /// A command line has ended: what it was, what it printed.
    Ran(String, String),
    Quit,
}

/// What the loop has to do.
pub(crate) enum Effect {
    Call {
        ticket: u64,
        ask: Ask,
        read: Read,
    },
    Wake {
        token: u64,
        after_ms: u64,
    },
    Copy(String),
    Run(Vec<String>),
    /// Speaks as this session from now on.
    Login {
        token: String,
        user: String,
        expires_at: String,
    },
    Quit,
}

/// Whether the site answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Link {
    #[default]
    Connecting,
    Up,
    /// Nobody answers, for this reason; what is shown may be old.
    Offline(String),
}

/// A screen, and how old what it shows is.
pub(crate) struct Shown {
    pub(crate) id: u64,
    pub(crate) screen: Box<dyn Screen>,
    asked_at: i64,
    pub(crate) answered_at: Option<i64>,
}

/// What is remembered of a site between two sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Remembered {
    /// The last screen.
    pub(crate) noun: String,
    /// Filters by screen.
    pub(crate) filters: BTreeMap<String, String>,
    /// Hints of the tour that were seen.
    pub(crate) hints: usize,
}

/// How a session begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    pub(crate) site: String,
    /// What names the site on a command line, such as `--context prod`.
    pub(crate) target: String,
    pub(crate) is_local: bool,
    pub(crate) readonly: bool,
    pub(crate) map: KeyMap,
    pub(crate) theme: Theme,
    pub(crate) remembered: Remembered,
    pub(crate) now: i64,
    /// The screen to begin with.
    pub(crate) noun: Option<String>,
}

/// All that the interface knows.
pub(crate) struct Model {
    pub(crate) site: String,
    /// What names the site on a command line, such as `--context prod`.
    pub(crate) target: String,
    pub(crate) is_local: bool,
    pub(crate) readonly: bool,
    pub(crate) map: KeyMap,
    pub(crate) theme: Theme,
    pub(crate) now: i64,
    /// Who the user is, once known.
    pub(crate) who: String,
    rights: Option<Vec<String>>,
    pub(crate) stack: Vec<Shown>,
    visited: Vec<Place>,
    visited_at: usize,
    pub(crate) over: Vec<Over>,
    /// What lay over the screen when a login was asked for.
    kept: Vec<Over>,
    /// The last result.
    pub(crate) told: Option<(Role, String)>,
    /// The command line equal to the last action.
    pub(crate) line: Option<String>,
    pub(crate) link: Link,
    pub(crate) is_live: bool,
    wants_reload: bool,
    tickets: u64,
    pending: BTreeMap<u64, Pending>,
    running: Option<Running>,
    undo: Vec<Undo>,
    pause: u64,
    pub(crate) remembered: Remembered,
    /// Something on the screen is different.
    pub(crate) is_dirty: bool,
}

impl Model {
    /// The first state, and the first calls.
    pub(crate) fn new(start: Start) -> (Self, Vec<Effect>) {
        let mut model = Self {
            site: start.site,
            target: start.target,
            is_local: start.is_local,
            readonly: start.readonly,
            map: start.map,
            theme: start.theme,
            now: start.now,
            who: String::new(),
            rights: None,
            stack: Vec::new(),
            visited: Vec::new(),
            visited_at: 0,
            over: Vec::new(),
            kept: Vec::new(),
            told: None,
            line: None,
            link: Link::Connecting,
            is_live: false,
            wants_reload: false,
            tickets: 0,
            pending: BTreeMap::new(),
            running: None,
            undo: Vec::new(),
            pause: 0,
            remembered: start.remembered,
            is_dirty: true,
        };
        let mut effects = model.ask_who();
        let noun = start.noun.unwrap_or_else(|| model.remembered.noun.clone());
        effects.extend(model.go_home());
        if let Some(noun) = places::noun(&noun).filter(|noun| *noun != "home") {
            effects.extend(model.go_to(noun));
        }
        (model, effects)
    }

    /// The screen on top. There is always one: home lies at the bottom.
    pub(crate) fn top(&mut self) -> Option<&mut Shown> {
        self.stack.last_mut()
    }

    pub(crate) fn screen(&self) -> Option<&dyn Screen> {
        self.stack.last().map(|shown| &*shown.screen)
    }

    pub(crate) fn tell(&mut self, role: Role, text: impl Into<String>) {
        self.told = Some((role, text.into()));
    }

    /// A picture of where the user is.
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
            rights: self.rights.clone(),
            site: self.target.clone(),
            filter: screen.map(|screen| screen.applied().to_owned()).unwrap_or_default(),
            is_local: self.is_local,
            readonly: self.readonly,
            now: self.now,
        }
    }

    /// How the data of this screen comes and how old it is.
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

    fn is_fed(&self, shown: &Shown) -> bool {
        let name = shown.screen.subject()["name"].as_str().unwrap_or_default();
        self.is_live && shown.screen.follows(&format!("item.{name}.updated"))
    }

    /// Seconds between two looks. A local site is asked more often: it costs no round trip.
    fn poll_s(&self, shown: &Shown) -> i64 {
        match (self.is_fed(shown), self.is_local) {
            (true, _) => 30,
            (_, true) => shown.screen.poll_s().min(1),
            _ => shown.screen.poll_s(),
        }
    }
}

/// A picture of where the user is, on what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    noun: &'static str,
    is_list: bool,
    subject: Json,
    row: Option<Json>,
    marks: Vec<Json>,
    rights: Option<Vec<String>>,
    site: String,
    filter: String,
    is_local: bool,
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
            rights: self.rights.as_deref(),
            site: &self.site,
            filter: &self.filter,
            is_local: self.is_local,
            readonly: self.readonly,
            now: self.now,
        }
    }
}

/// Changes the state, and returns what the loop has to do.
pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Tick(now) => return model.tick(now),
        Msg::Answered(ticket, outcome) => return model.answered(ticket, outcome),
        Msg::Happened(event) => return model.happened(&event),
        Msg::Woke(token) => return model.woke(token),
        _ => model.is_dirty = true,
    }
    match msg {
        Msg::Key(key) => model.key(key),
        Msg::Paste(text) => model.paste(&text),
        Msg::Live(is_live) => {
            model.is_live = is_live;
            model.wants_reload |= is_live;
            Vec::new()
        }
        Msg::Ran(line, output) => {
            model.over.push(Over::ran(&line, &output));
            model.reload()
        }
        Msg::Quit => vec![Effect::Quit],
        Msg::Resize | Msg::Tick(_) | Msg::Answered(..) | Msg::Happened(_) | Msg::Woke(_) => {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
