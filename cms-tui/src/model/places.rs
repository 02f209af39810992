//! The stack of screens, and the history of visited ones. The user's position, whether the site
//! answers, and how fresh the data is.

use cms_http::wire::{auth::Logout, parameters::NoQuery};
use serde_json::Value as Json;

use super::{Effect, Model, OpenScreen, Origin};
use crate::{
    actions::{ACTIONS, Scene},
    screens::{self, Screen},
    step::{Place, Step, get},
    theme::Role,
    widgets::{list::List, shape::Shape},
};

/// The most visited screens that are remembered.
const VISITED: usize = 50;
/// The most screens on the stack.
const DEEPEST: usize = 12;

/// The noun by this name, if there is a screen for it.
pub(super) fn noun(name: &str) -> Option<&'static str> {
    ACTIONS.iter().find(|one| one.noun() == "go" && one.verb() == name).map(|one| one.verb())
}

/// The key of a list; each table of records has its own.
fn list_of(noun: &str, subject: &Json) -> String {
    match subject["name"].as_str() {
        Some(table) if noun == "records" => format!("{noun} {table}"),
        _ => noun.to_owned(),
    }
}

impl Model {
    pub(super) fn go_home(&mut self) -> Vec<Effect> {
        self.remember_filters();
        self.stack.clear();
        self.open(Place::of("home"))
    }

    /// Opens a screen of the tabs: the only one on top of home.
    pub(super) fn go_to(&mut self, noun: &'static str) -> Vec<Effect> {
        self.remember_filters();
        self.stack.truncate(1);
        if noun == "home" {
            self.visit(Place::of(noun));
            return self.reload();
        }
        let filter = self.remembered.filters.get(noun).cloned().unwrap_or_default();
        self.open(Place { filter, ..Place::of(noun) })
    }

    /// Opens a screen on top of this one.
    pub(super) fn open(&mut self, place: Place) -> Vec<Effect> {
        self.remember_filters();
        self.visit(place.clone());
        self.show(place)
    }

    /// Adds a screen to the history.
    pub(super) fn visit(&mut self, place: Place) {
        if self.visited.get(self.visited_at) == Some(&place) {
            return;
        }
        self.visited.truncate(self.visited_at + 1);
        self.visited.push(place);
        if self.visited.len() > VISITED {
            self.visited.remove(0);
        }
        self.visited_at = self.visited.len() - 1;
    }

    /// After a screen was closed, back and forward continue from the one below it.
    fn come_back(&mut self) {
        let noun = self.screen().map_or("home", Screen::noun);
        let before = self.visited_at.checked_sub(1);
        match before.filter(|at| self.visited.get(*at).is_some_and(|place| place.noun == noun)) {
            Some(at) => self.visited_at = at,
            None if noun == "home" => self.visit(Place::of(noun)),
            None => {}
        }
    }

    fn show(&mut self, mut place: Place) -> Vec<Effect> {
        let list = list_of(place.noun, &place.subject);
        place.shape = self.remembered.shapes.get(&list).cloned().unwrap_or_default();
        if self.stack.len() >= DEEPEST {
            self.stack.remove(1);
        }
        self.tickets += 1;
        let given = place.given.clone();
        let mut screen = screens::open(place);
        screen.tick(self.now);
        if self.is_met {
            screen.meet(&self.who, self.rights.as_deref());
        }
        let id = self.tickets;
        self.stack.push(OpenScreen { id, screen, given, asked_at: 0, answered_at: None });
        self.reload()
    }

    /// Moves back or forward through the history.
    pub(super) fn walk(&mut self, by: isize) -> Vec<Effect> {
        let to = self.visited_at.checked_add_signed(by).filter(|to| *to < self.visited.len());
        let Some(to) = to else { return Vec::new() };
        self.remember_filters();
        self.visited_at = to;
        let place = self.visited[to].clone();
        self.stack.truncate(1);
        if place.noun == "home" { self.reload() } else { self.show(place) }
    }

    /// Goes to the previous screen, and the next time back again.
    pub(super) fn swap(&mut self) -> Vec<Effect> {
        let Some(before) = self.visited_at.checked_sub(1) else { return Vec::new() };
        let place = self.visited[before].clone();
        self.remember_filters();
        self.stack.truncate(1);
        if place.noun == "home" {
            self.visit(place);
            return self.reload();
        }
        self.open(place)
    }

    /// Moves in the list below, and shows its row on this screen.
    pub(super) fn go_to_neighbour(&mut self, from: Origin, by: isize) -> Vec<Effect> {
        let [.., below, top] = &mut self.stack[..] else { return Vec::new() };
        if top.id != from.screen || below.screen.list().is_none() {
            return self.only_tell(Role::Plain, "There is no list below: Esc goes back.");
        }
        let before = below.screen.row().cloned();
        let step = below.screen.move_list(if by < 0 { "up" } else { "down" });
        let (id, row) = (below.id, below.screen.row().cloned());
        let shown = match row.filter(|row| before.as_ref() != Some(row)) {
            Some(row) => top.screen.show(row),
            None => {
                let end = if by < 0 { "first" } else { "last" };
                Step::Tell(format!("This is the {end} one that is there."))
            }
        };
        // What this step asks for belongs to the list below.
        let mut effects = self.step_of(Origin { screen: id, ..Origin::default() }, step);
        effects.extend(self.step_of(from, shown));
        effects
    }

    /// One step back: within the screen, then to the one below.
    pub(super) fn back(&mut self) -> Vec<Effect> {
        if self.stop(None) {
            return Vec::new();
        }
        if let Some(effects) = self.end_line(false) {
            return effects;
        }
        let Some(shown) = self.top() else { return Vec::new() };
        if let Some(step) = shown.screen.back() {
            return self.step(step);
        }
        self.told = None;
        if self.stack.len() > 1 {
            self.remember_filters();
            // The login is none of the screens visited.
            if self.stack.pop().is_some_and(|shown| shown.screen.noun() == "login") {
                self.over.append(&mut self.kept);
            } else {
                self.come_back();
            }
            return self.reload();
        }
        Vec::new()
    }

    pub(super) fn remember_filters(&mut self) {
        // Back and forward return to the filter as it was left. A login may lie over the screen.
        if let Some(visited) = self.visited.get_mut(self.visited_at)
            && let Some(shown) = self.stack.iter().rfind(|one| one.screen.noun() == visited.noun)
            && let Some(filter) = shown.screen.filter()
        {
            filter.clone_into(&mut visited.filter);
        }
        for (depth, shown) in self.stack.iter().enumerate() {
            let noun = shown.screen.noun();
            if let Some(shape) = shown.screen.shape() {
                let list = list_of(noun, shown.screen.subject());
                self.remembered.shapes.insert(list, shape);
                self.remembered.shapes.retain(|_, shape| *shape != Shape::default());
            }
            // A screen about one thing has no filter of its own to return to; neither has one
            // that another screen opened with a filter.
            let has_own = shown.screen.subject().is_null() && depth <= 1;
            let is_given = |filter: &&str| {
                let given = shown.given.as_deref();
                given.is_some_and(|given| filter.is_empty() || given == *filter)
            };
            let own = shown.screen.filter().filter(|filter| !is_given(filter));
            if let (Some(filter), true) = (own, has_own) {
                self.remembered.filters.insert(noun.to_owned(), filter.to_owned());
                self.remembered.filters.retain(|_, filter| !filter.is_empty());
            }
        }
    }

    /// What is remembered for the next session.
    pub(crate) fn remember(&mut self) -> super::Remembered {
        self.remember_filters();
        let noun = self.stack.get(1).map_or("home", |shown| shown.screen.noun());
        self.remembered.noun = noun.to_owned();
        self.remembered.clone()
    }

    /// Opens the login on top of the screen that needs it.
    pub(super) fn ask_login(&mut self) -> Vec<Effect> {
        if self.stack.iter().any(|shown| shown.screen.noun() == "login") {
            return Vec::new();
        }
        if self.is_local {
            return self.only_tell(Role::Plain, "A site that is opened here needs no login.");
        }
        // Windows with unsaved or secret text are kept until the login is over.
        self.kept.append(&mut self.over);
        let mut effects = self.show(Place::of("login"));
        effects.extend(self.step(screens::log_in()));
        effects
    }

    pub(super) fn log_out(&mut self) -> Vec<Effect> {
        if self.is_local {
            return self.only_tell(Role::Plain, "A site that is opened here has no session.");
        }
        let call = get::<Logout>(&NoQuery {}).map(|call| call.then(|_| Step::LoggedOut));
        self.step(call.into())
    }

    /// Forgets everything of the user: what was read, and what could be taken back.
    pub(super) fn logged_out(&mut self) -> Vec<Effect> {
        self.forget_user();
        (self.who, self.rights, self.line) = (String::new(), None, None);
        // Home reads its data again after the login.
        self.show(Place::of("home"));
        self.tell(Role::Good, "✓ The session is over.");
        let mut effects = vec![Effect::Logout];
        effects.extend(self.ask_login());
        effects
    }

    /// Forgets what was read, written, begun and done.
    fn forget_user(&mut self) {
        self.over.clear();
        self.kept.clear();
        self.undo.clear();
        self.redo.clear();
        self.stack.clear();
        self.forget(|_| true);
        self.running = None;
        self.type_ahead = None;
        self.guard = None;
        self.is_met = false;
    }

    pub(super) fn logged_in(
        &mut self,
        token: String,
        user: String,
        expires_at: String,
    ) -> Vec<Effect> {
        self.tell(Role::Good, format!("✓ Logged in as {user}"));
        self.stack.retain(|shown| shown.screen.noun() != "login");
        let mut effects = Vec::new();
        if !self.who.is_empty() && user != self.who {
            // The next user has other rights, and did not do the acts that could be taken back.
            self.forget_user();
            effects = self.show(Place::of("home"));
        }
        self.over.splice(..0, std::mem::take(&mut self.kept));
        effects.insert(0, Effect::Login { token, user, expires_at });
        effects.extend(self.ask_who());
        effects.extend(self.reload());
        effects
    }
}

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
