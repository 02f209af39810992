//! Plays an operator against a real service in this process: keys in, screens out.
//!
//! ```text
//! site     the service, its clock, its worker
//! receiver a receiver of webhooks whose answer a test chooses
//! day      what an operator does all day
//! screens  golden screens, and those of the docs
//! paint    a screen as text with its styles, and as SVG
//! ```

mod day;
mod paint;
mod receiver;
mod screens;
mod site;

use std::collections::VecDeque;

use cms_http::client::Client;
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};

use crate::{
    actions::KeyMap,
    keys::{Key, KeysFile},
    model::{Effect, Model, Msg, Remembered, Start, update},
    theme::Theme,
    view,
};
use site::TestSite;

/// An operator at a terminal.
struct Operator {
    model: Model,
    client: Client,
    now: i64,
    size: (u16, u16),
    copied: Vec<String>,
    has_left: bool,
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
            ..Start::default()
        });
        let mut operator = Self {
            model,
            client: site.client(),
            now: site.clock.now(),
            size: (100, 30),
            copied: Vec::new(),
            has_left: false,
        };
        operator.work(effects).await;
        operator
    }

    /// Does what the model asks for, until it asks for nothing more.
    async fn work(&mut self, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            let msg = match effect {
                Effect::Call { ticket, ask, read } => {
                    let outcome = match self.client.send(ask).await {
                        Ok(answer) => read(&answer),
                        Err(error) => Err(error.into()),
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
                Effect::Run(_) | Effect::Login { .. } => continue,
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
