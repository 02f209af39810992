//! What the interface knows, and how messages change it. Pure: no terminal, no network, no clock.
//!
//! ```text
//! typed       keys: overlays first, then what is typed on the screen, then actions; the mouse
//! type_ahead  what is typed before what a key asked for is there
//! acts        runs an action
//! steps       takes the steps that screens return
//! answers     calls under way and their replies; stale ones are dropped
//! bulk        several calls as one act; acts taken back, and done again
//! lines       command lines that run beside, files that are written
//! places      screens on top of each other, those visited; where the user is, on what; whether
//!             the site answers, how old data is
//! ```

mod acts;
mod answers;
mod bulk;
mod lines;
mod places;
mod steps;
#[cfg(test)]
mod tests;
mod type_ahead;
mod typed;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use cms_http::client::Ask;
use ratatui::layout::Rect;
use serde::{Deserialize, Serialize};

pub(crate) use places::Link;
pub(crate) use typed::Mouse;

use crate::{
    actions::{ACTIONS, Action, KeyMap, Scene},
    calls::{Fault, Read, Reply},
    keys::Key,
    screens::Screen,
    step::{Confirm, Form, Menu, Place, Saving, Undo},
    theme::{Role, Theme},
    widgets::{input::Input, shape::Shape, viewer::Viewer},
};
use answers::Pending;
use bulk::Running;
use lines::Line;
use type_ahead::TypeAhead;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    /// The terminal has another size.
    Resize,
    /// The time, in milliseconds; about twice a second.
    Tick(i64),
    Answered(u64, Result<Reply, Fault>),
    /// A pause is over.
    Woke(u64),
    /// Whether the event stream is open.
    Live(bool),
    /// An event of the site.
    Happened(String),
    /// Some process has committed something at a site that reports its commits.
    Committed,
    /// A command line has ended: its number, and its output as a success or a failure.
    Ran(u64, Result<String, String>),
    /// So many bytes of a file are written.
    Saving(u64, u64),
    /// A file is written, of so many bytes, or why not.
    Saved(u64, Result<u64, String>),
    /// Something failed that was not a call to the site.
    Failed(String),
    Quit,
}

/// The origin of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The screen that it comes from.
    screen: u64,
    /// The act of a form that was sent; 0: none.
    act: u64,
    /// The step comes with a reply: the user may be elsewhere by then.
    is_late: bool,
    /// The call reads a row before an act.
    is_reread: bool,
    /// The call changes something.
    is_writing: bool,
}

/// Something for the loop to do.
pub(crate) enum Effect {
    Call {
        ticket: u64,
        ask: Ask,
        read: Read,
    },
    /// Nobody waits for the reply of this ticket.
    Forget(u64),
    Wake {
        token: u64,
        after_ms: u64,
    },
    Copy(String),
    /// Runs a command line under this number.
    Run(u64, Vec<String>),
    /// Writes a reply into a file under this number.
    Save(u64, Saving),
    /// Ends the command line or the file of this number.
    End(u64),
    /// Leaves this site for the site of another context.
    Context(String),
    /// Speaks with this session from now on.
    Login {
        token: String,
        user: String,
        expires_at: String,
    },
    /// Forgets the session that has ended.
    Logout,
    Quit,
}

/// A screen, and the age of its data.
pub(crate) struct OpenScreen {
    pub(crate) id: u64,
    pub(crate) screen: Box<dyn Screen>,
    /// The filter that another screen has chosen, not the user of this list.
    given: Option<String>,
    asked_at: i64,
    pub(crate) answered_at: Option<i64>,
}

/// What is remembered about a site between two sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Remembered {
    /// The last screen.
    pub(crate) noun: String,
    /// Filters by screen.
    pub(crate) filters: BTreeMap<String, String>,
    /// Columns and order of lists by screen; of records, by table.
    pub(crate) shapes: BTreeMap<String, Shape>,
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
    /// Tells this session from all others.
    pub(crate) seed: String,
    /// The screen to open first.
    pub(crate) noun: Option<String>,
    /// The filter of that screen.
    pub(crate) filter: Option<String>,
    /// The user that the operator acts as.
    pub(crate) acts_as: Option<String>,
    /// The names of other sites.
    pub(crate) contexts: Vec<String>,
    /// Tickets given out for an earlier site.
    pub(crate) tickets: u64,
    /// Whether the site reports its commits.
    pub(crate) is_watched: bool,
}

/// The whole state of the interface.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) site: String,
    /// What names the site on a command line, such as `--context prod`.
    pub(crate) target: String,
    pub(crate) is_local: bool,
    /// The user that the operator acts as.
    pub(crate) acts_as: Option<String>,
    /// The names of other sites.
    pub(crate) contexts: Vec<String>,
    pub(crate) readonly: bool,
    pub(crate) map: KeyMap,
    pub(crate) theme: Theme,
    pub(crate) now: i64,
    /// Who the user is, once known.
    pub(crate) who: String,
    pub(crate) rights: Option<Vec<String>>,
    /// Whether the user was asked for, and the answer is as complete as it can be.
    is_met: bool,
    /// When the user was last asked for.
    asked_who_at: i64,
    pub(crate) stack: Vec<OpenScreen>,
    visited: Vec<Place>,
    visited_at: usize,
    pub(crate) over: Vec<Over>,
    /// The windows that were open when a login was asked for.
    kept: Vec<Over>,
    /// The last message.
    pub(crate) told: Option<(Role, String)>,
    /// The command line that does the same as the last action.
    pub(crate) line: Option<String>,
    pub(crate) link: Link,
    pub(crate) is_live: bool,
    is_watched: bool,
    wants_reload: bool,
    /// When the screen was last read because of an event.
    followed_at: i64,
    tickets: u64,
    /// The beginning of the idempotency keys of this session.
    seed: String,
    pending: BTreeMap<u64, Pending>,
    /// What a key asked for, and the keys typed since.
    type_ahead: Option<TypeAhead>,
    /// When the changes under way were sent, by ticket.
    changing: BTreeMap<u64, i64>,
    /// Tickets whose replies nobody waits for.
    forgotten: Vec<u64>,
    running: Option<Running>,
    /// Command lines that run, by number.
    lines: BTreeMap<u64, Line>,
    undo: Vec<Undo>,
    /// Acts that were taken back.
    redo: Vec<Undo>,
    pause: u64,
    /// The token that ends the guard of a question that opened by itself: until then
    /// it takes no key.
    guard: Option<u64>,
    pub(crate) remembered: Remembered,
    /// Whether the screen must be drawn again.
    pub(crate) is_dirty: bool,
    /// Where the tabs were drawn, and their screens.
    pub(crate) tabs_at: RefCell<Vec<(Rect, &'static str)>>,
    /// Whether the terminal is too small to draw anything.
    pub(crate) is_too_small: Cell<bool>,
}

impl Model {
    /// The first state, and the first calls.
    pub(crate) fn new(start: Start) -> (Self, Vec<Effect>) {
        let mut model = Self {
            site: start.site,
            target: start.target,
            is_local: start.is_local,
            acts_as: start.acts_as,
            contexts: start.contexts,
            readonly: start.readonly,
            map: start.map,
            theme: start.theme,
            now: start.now,
            is_watched: start.is_watched,
            tickets: start.tickets,
            seed: start.seed,
            remembered: start.remembered,
            is_dirty: true,
            ..Self::default()
        };
        let mut effects = model.ask_who();
        let noun = start.noun.unwrap_or_else(|| model.remembered.noun.clone());
        effects.extend(model.go_home());
        if let Some(noun) = places::noun(&noun).filter(|noun| *noun != "home") {
            effects.extend(match start.filter {
                Some(filter) => model.open(Place::of(noun).filtered(filter)),
                None => model.go_to(noun),
            });
        }
        (model, effects)
    }

    /// The tickets given out so far.
    pub(crate) fn tickets(&self) -> u64 {
        self.tickets
    }

    /// The screen on top. There is always one: home lies at the bottom.
    pub(crate) fn top(&mut self) -> Option<&mut OpenScreen> {
        self.stack.last_mut()
    }

    pub(crate) fn screen(&self) -> Option<&dyn Screen> {
        self.stack.last().map(|shown| &*shown.screen)
    }

    pub(crate) fn tell(&mut self, role: Role, text: impl Into<String>) {
        self.told = Some((role, text.into()));
    }

    /// As [`Self::tell`], where nothing else is to be done.
    fn only_tell(&mut self, role: Role, text: impl Into<String>) -> Vec<Effect> {
        self.tell(role, text);
        Vec::new()
    }
}

/// Changes the state, and returns what the loop has to do.
pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let mut effects = take(model, msg);
    effects.extend(model.tell_forgotten());
    effects
}

fn take(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Tick(now) => return model.tick(now),
        Msg::Answered(ticket, outcome) => return model.answered(ticket, outcome),
        Msg::Happened(event) => return model.happened(&event),
        Msg::Woke(token) => return model.woke(token),
        Msg::Committed => {
            model.committed();
            return Vec::new();
        }
        _ => model.is_dirty = true,
    }
    match msg {
        Msg::Key(key) if model.is_too_small.get() => model.key_unseen(key),
        Msg::Paste(_) | Msg::Mouse(_) if model.is_too_small.get() => Vec::new(),
        Msg::Key(key) => model.key(key),
        Msg::Paste(text) => model.paste(&text),
        Msg::Mouse(mouse) => model.mouse(mouse),
        Msg::Live(is_live) => {
            model.is_live = is_live;
            // Events from before the stream was open are not known.
            if is_live {
                model.committed();
            }
            Vec::new()
        }
        Msg::Ran(number, outcome) => model.ran(number, &outcome),
        Msg::Saving(number, bytes) => {
            model.saving(number, bytes);
            Vec::new()
        }
        Msg::Saved(number, outcome) => {
            model.saved(number, outcome);
            Vec::new()
        }
        Msg::Failed(why) => model.only_tell(Role::Bad, format!("✗ {why}")),
        Msg::Quit => vec![Effect::Quit],
        Msg::Resize
        | Msg::Tick(_)
        | Msg::Answered(..)
        | Msg::Happened(_)
        | Msg::Committed
        | Msg::Woke(_) => Vec::new(),
    }
}

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
