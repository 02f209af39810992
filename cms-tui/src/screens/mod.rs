//! One folder or file for each noun. A screen holds what it shows; it asks by returning steps.
//!
//! ```text
//! browser  a list with a preview, made from a declaration; most nouns need no more
//! prelude  the words that screens are written with
//! ```

mod acts;
mod analytics;
mod attempts;
mod audit;
mod browser;
mod cache;
mod cells;
mod content;
mod deliveries;
mod delivery;
mod events;
mod filter_words;
mod forms;
mod funnels;
mod groups;
mod home;
mod inbox;
mod keys;
mod limits;
mod login;
mod mail;
mod media;
mod origins;
mod pages;
mod plugins;
mod prelude;
mod queue;
mod records;
mod submission;
mod system;
mod tasks;
mod users;
mod webhooks;
mod widgets;

use ratatui::{
    Frame,
    layout::{Position, Rect},
};
use serde_json::Value as Json;

pub(crate) use login::password as log_in;

use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    keys::Key,
    step::{Place, Step},
    theme::Theme,
    widgets::{list::List, shape::Shape},
};
use analytics::Analytics;
use browser::Browser;
use delivery::Delivery;
use home::Home;
use login::SignIn;
use submission::Submission;

/// What drawing needs to know beside the screen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub(crate) theme: Theme,
    pub(crate) now: i64,
}

/// What a click on a screen did.
#[derive(Default)]
pub(crate) enum Clicked {
    #[default]
    Nothing,
    Moved(Box<Step>),
    /// The row under the cursor was clicked: it is to be opened.
    Again,
}

/// A screen.
pub(crate) trait Screen: Send {
    fn noun(&self) -> &'static str;

    fn title(&self) -> String;

    /// What it is about, such as the table of its records.
    fn subject(&self) -> &Json {
        &Json::Null
    }

    /// Asks for what it shows, at first and again.
    fn load(&mut self) -> Step;

    /// Something was written, by this session or by another: details that were read may be old,
    /// even of a row that looks the same.
    fn outdate(&mut self, _is_own: bool) {}

    /// The user did something, here or on a screen above, and it went well.
    fn acted(&mut self) {}

    /// Who the user is, with which rights; None: everything, or not known.
    fn meet(&mut self, _who: &str, _rights: Option<&[String]>) {}

    /// Whether leaving it would lose what the user did.
    fn is_unsaved(&self) -> bool {
        false
    }

    /// Takes a reply to a call of its own. False: nothing is different.
    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool);

    /// Whether the good reply just taken brought what is seen up to date.
    fn is_read(&mut self, _slot: u8) -> bool {
        true
    }

    /// Does an action of its noun.
    fn act(&mut self, _verb: &str, _scene: &Scene<'_>) -> Step {
        Step::None
    }

    /// The row under the cursor.
    fn row(&self) -> Option<&Json> {
        self.list()?.row().map(|row| &row.json)
    }

    fn list(&self) -> Option<&List> {
        None
    }

    /// Does an action of lists.
    fn move_list(&mut self, _verb: &str) -> Step {
        Step::None
    }

    /// Shows another row of the list that it was opened from.
    fn show(&mut self, _row: Json) -> Step {
        Step::None
    }

    /// A value chosen in a menu.
    fn set(&mut self, _what: &str, _value: &str) -> Step {
        Step::None
    }

    /// A key while something is being typed on the screen itself. None: it is not.
    fn key(&mut self, _key: Key) -> Option<Step> {
        None
    }

    fn paste(&mut self, _text: &str) -> Step {
        Step::None
    }

    /// The left button of the mouse, at a cell.
    fn click(&mut self, _at: Position) -> Clicked {
        Clicked::Nothing
    }

    /// Time passed since something was typed or the cursor moved. False: nothing is different.
    fn pause(&mut self) -> (Step, bool) {
        (Step::None, false)
    }

    /// One step back within the screen. None: the screen is to be left.
    fn back(&mut self) -> Option<Step> {
        None
    }

    /// The time, in milliseconds.
    fn tick(&mut self, _now: i64) {}

    /// Seconds between two looks when nothing tells of changes.
    fn poll_s(&self) -> i64 {
        5
    }

    /// Whether an event may have changed what it shows.
    fn follows(&self, _event: &str) -> bool {
        false
    }

    /// The filter to remember.
    fn filter(&self) -> Option<&str> {
        None
    }

    /// Columns and order of its list, to remember.
    fn shape(&self) -> Option<Shape> {
        None
    }

    /// The filter in force at the service.
    fn applied(&self) -> &str {
        ""
    }

    /// Bytes of what it holds about the row under the cursor.
    #[cfg(test)]
    fn held(&self) -> usize {
        0
    }

    /// Whether it needs the lines of head, tabs and keys too.
    fn is_whole(&self) -> bool {
        false
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look);
}

/// Makes the screen; home for a noun that there is not.
pub(crate) fn open(place: Place) -> Box<dyn Screen> {
    let spec = match place.noun {
        "webhooks" => &webhooks::SPEC,
        "deliveries" => &deliveries::SPEC,
        "queue" => &queue::SPEC,
        "keys" => &keys::SPEC,
        "content" => &content::SPEC,
        "plugins" => &plugins::SPEC,
        "records" => &records::SPEC,
        "users" => &users::SPEC,
        "groups" => &groups::SPEC,
        "origins" => &origins::SPEC,
        "cache" => &cache::SPEC,
        "limits" => &limits::SPEC,
        "attempts" => &attempts::SPEC,
        "audit" => &audit::SPEC,
        "events" => &events::KNOWN,
        "messages" => &events::HAPPENED,
        "forms" => &forms::SPEC,
        "funnels" => &funnels::SPEC,
        "submissions" => &forms::SUBMISSIONS,
        "inbox" => &inbox::SPEC,
        "mail" => &mail::SPEC,
        "media" => &media::SPEC,
        "pages" => &pages::SPEC,
        "revisions" => &pages::REVISIONS,
        "links" => &pages::LINKS,
        "widgets" => &widgets::SPEC,
        "tasks" => &tasks::TASKS,
        "runs" => &tasks::RUNS,
        "system" => &system::SPEC,
        "submission" => return Box::new(Submission::new(place.subject)),
        "funnel" => return Box::new(funnels::Graph::new(place.subject)),
        "analytics" => return Box::new(Analytics::new(place.subject)),
        "page" => return Box::new(pages::PageTree::new(place.subject)),
        "delivery" => return Box::new(Delivery::new(place.subject)),
        "login" => return Box::new(SignIn::default()),
        "rights" => return Box::new(keys::Matrix::new(place.subject)),
        _ => return Box::new(Home::default()),
    };
    Box::new(Browser::new(spec, place))
}
