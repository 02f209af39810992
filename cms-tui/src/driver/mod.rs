//! Plays an operator against a real service in this process: keys in, screens out.
//!
//! ```text
//! site     the service, its clock, its worker; a receiver of webhooks
//! seed     a site with a little of everything
//! day      what an operator does all day, also as a user
//! together two people at one thing
//! support  the day of somebody who answers leads
//! editor   the day of somebody who edits pages, alone and with others
//! hostile  stored text that would break a screen
//! golden   golden screens, and the pictures of the docs
//! paint    a screen as text with its styles, and as SVG
//! ```

mod day;
mod editor;
mod golden;
mod hostile;
mod paint;
mod seed;
pub(crate) mod site;
mod support;
mod together;

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering},
};

use cms_http::client::Client;
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};

use crate::{
    actions::KeyMap,
    calls::{Fault, Reply},
    keys::{Key, KeysFile},
    model::{Effect, Model, Msg, Remembered, Start, update},
    run::files::save,
    theme::Theme,
    view,
};
use seed::seeded;
use serde_json::Value as Json;
use site::TestSite;

/// Operators so far.
static SEATS: AtomicUsize = AtomicUsize::new(0);

/// An operator at a terminal.
struct Operator {
    model: Model,
    client: Client,
    now: i64,
    size: (u16, u16),
    copied: Vec<String>,
    /// The command lines that were run.
    ran: Vec<String>,
    /// The calls that were made.
    asked: Vec<String>,
    has_left: bool,
    /// Answers to calls whose line holds this.
    canned: Vec<(&'static str, Result<Json, Fault>)>,
    /// No call is answered.
    holds_calls: bool,
}

impl Operator {
    async fn sits_down(site: &TestSite) -> Self {
        let map = KeyMap::new(&KeysFile::default()).expect("the usual keys");
        let (model, effects) = Model::new(Start {
            site: "shop.example.org".to_owned(),
            is_local: true,
            map,
            theme: Theme::Ansi,
            // Hints were seen.
            remembered: Remembered { hints: 9, ..Remembered::default() },
            now: site.clock.now(),
            seed: format!("operator {}", SEATS.fetch_add(1, Ordering::Relaxed)),
            ..Start::default()
        });
        let mut operator = Self {
            model,
            client: site.client(),
            now: site.clock.now(),
            size: (100, 30),
            copied: Vec::new(),
            ran: Vec::new(),
            asked: Vec::new(),
            has_left: false,
            canned: Vec::new(),
            holds_calls: false,
        };
        operator.work(effects).await;
        operator
    }

    /// Does what the model asks for, until it asks for nothing more.
    async fn work(&mut self, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            let msg = match effect {
                Effect::Call { .. } if self.holds_calls => continue,
                Effect::Call { ticket, ask, read } => {
                    let line = ask.line();
                    self.asked.push(line.clone());
                    let canned = self.canned.iter().find(|(part, _)| line.contains(part));
                    let outcome = match canned {
                        Some((_, outcome)) => {
                            outcome.clone().map(|data| Reply { data, ..Reply::default() })
                        }
                        None => match self.client.send(ask).await {
                            Ok(answer) => read(&answer).map(steady),
                            Err(error) => Err(error.into()),
                        },
                    };
                    Msg::Answered(ticket, outcome)
                }
                Effect::Wake { token, .. } => Msg::Woke(token),
                Effect::Copy(text) => {
                    self.copied.push(text);
                    continue;
                }
                Effect::Quit => {
                    self.has_left = true;
                    continue;
                }
                Effect::Save(number, saving) => {
                    Msg::Saved(number, save(&self.client, &saving, |_| ()).await)
                }
                Effect::Run(number, words) => {
                    self.ran.push(words.join(" "));
                    Msg::Ran(number, Ok("done".to_owned()))
                }
                Effect::Forget(_)
                | Effect::End(_)
                | Effect::Login { .. }
                | Effect::Logout
                | Effect::Context(_) => continue,
            };
            waiting.extend(update(&mut self.model, msg));
        }
    }

    /// Presses keys: `press("j j Enter")`.
    async fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.split(' ') {
            let key: Key = key.parse().expect("a key");
            let effects = update(&mut self.model, Msg::Key(key));
            self.work(effects).await;
        }
        self
    }

    /// Types a text.
    async fn types(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            let key = if c == ' ' { "Space".to_owned() } else { c.to_string() };
            self.press(&key).await;
        }
        self
    }

    /// Time passes.
    async fn waits(&mut self, site: &TestSite, seconds: i64) -> &mut Self {
        site.clock.advance(seconds * 1000);
        self.now = site.clock.now();
        let effects = update(&mut self.model, Msg::Tick(self.now));
        self.work(effects).await;
        self
    }

    fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.size = (width, height);
        self
    }

    fn buffer(&self) -> Buffer {
        let backend = TestBackend::new(self.size.0, self.size.1);
        let mut terminal = Terminal::new(backend).expect("a terminal");
        terminal.draw(|frame| view::draw(frame, &self.model)).expect("drawn");
        terminal.backend().buffer().clone()
    }

    fn screen(&self) -> String {
        paint::text(&self.buffer())
    }

    /// The screen shows this.
    #[track_caller]
    fn sees(&self, text: &str) -> &Self {
        let screen = self.screen();
        assert!(screen.contains(text), "{text:?} is not on the screen:\n{screen}");
        self
    }

    #[track_caller]
    fn sees_no(&self, text: &str) -> &Self {
        let screen = self.screen();
        assert!(!screen.contains(text), "{text:?} is on the screen:\n{screen}");
        self
    }
}

/// Milliseconds that attempts took differ from run to run.
fn steady(mut reply: Reply) -> Reply {
    fn walk(json: &mut Json) {
        match json {
            Json::Array(items) => items.iter_mut().for_each(walk),
            Json::Object(members) => {
                if let Some(duration) = members.get_mut("duration_ms") {
                    *duration = 7.into();
                }
                members.values_mut().for_each(walk);
            }
            _ => {}
        }
    }
    walk(&mut reply.data);
    reply
}
