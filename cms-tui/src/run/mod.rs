//! The loop: messages in, effects out, a drawing when something is different.
//!
//! ```text
//! terminal  enters and leaves the terminal, whatever ends the session
//! calls     makes calls at a pace that the limiter allows
//! live      follows events; polling is the fallback
//! files     keys.toml, and what is remembered of a site
//! copy      the clipboard of the terminal
//! ```

mod calls;
mod copy;
mod files;
mod live;
mod terminal;

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use cms_http::client::Client;
use crossterm::event::{Event, KeyCode, KeyEventKind};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{
    keys::Key,
    model::{Effect, Model, Msg, Start, update},
    theme::Theme,
    view,
};
use calls::Calls;
use terminal::Screen;

/// At most 60 drawings a second.
const FRAME: Duration = Duration::from_millis(16);

/// Keeps a session that a login began, and gives the client that speaks with it.
pub type KeepLogin = Arc<dyn Fn(&str, &str, &str) -> Result<Client, String> + Send + Sync>;

/// What a session of the interface needs to know.
pub struct Session {
    /// Speaks to the site.
    pub client: Client,
    /// The site's name in the head line.
    pub site: String,
    /// Whether the site is opened in this process.
    pub is_local: bool,
    /// Nothing can be changed.
    pub readonly: bool,
    /// The screen to begin with; the last one without it.
    pub screen: Option<String>,
    /// The folder of `keys.toml`.
    pub config: Option<PathBuf>,
    /// The file of what is remembered of this site.
    pub state: Option<PathBuf>,
    /// The time in milliseconds.
    pub clock: fn() -> i64,
    /// How a command line of `cms` is run for this site: program and its first arguments.
    pub program: Vec<String>,
    /// What happens after a login; None: there is none, because the site is local.
    pub login: Option<KeepLogin>,
}

/// What comes in.
enum Incoming {
    Msg(Msg),
    /// Ctrl-Z, or the signal.
    Suspend,
    /// Somebody stopped the process and it goes on.
    Continued,
    /// A task panicked; the terminal is restored.
    Broken,
}

/// Shows the interface until the user leaves.
///
/// # Errors
/// When the terminal cannot be drawn on, or `keys.toml` is wrong.
pub async fn run(session: Session) -> io::Result<()> {
    let keys = files::keys(session.config.as_deref()).map_err(io::Error::other)?;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let start = Start {
        site: session.site.clone(),
        target: target(&session.program),
        is_local: session.is_local,
        readonly: session.readonly,
        map: crate::actions::KeyMap::new(&keys).map_err(io::Error::other)?,
        theme: Theme::choose(keys.theme.as_deref(), no_color).map_err(io::Error::other)?,
        remembered: files::remembered(session.state.as_deref()),
        now: (session.clock)(),
        noun: session.screen.clone(),
    };
    let (mut model, effects) = Model::new(start);
    let (sender, incoming) = unbounded_channel();
    // Before the terminal is taken: a signal must not end the process on it.
    terminal::signals(sender.clone())?;
    let mut screen = Screen::enter(sender.clone())?;
    screen.draw(|frame| view::draw(frame, &model))?;
    model.is_dirty = false;
    read_keys(sender.clone());
    ticks(sender.clone(), session.clock);
    let mut hands = Hands {
        calls: Calls::new(session.client.clone(), session.is_local),
        live: live::follow(session.client.clone(), sender.clone()),
        sender,
        session,
    };
    hands.start(effects);
    let outcome = turn(&mut model, &mut screen, incoming, &mut hands).await;
    hands.live.abort();
    screen.leave();
    files::remember(hands.session.state.as_deref(), &model.remember());
    outcome
}

/// The words that name the site, as a shell takes them.
fn target(program: &[String]) -> String {
    let words = program.iter().skip(1).filter_map(|word| crate::actions::quoted(word));
    words.collect::<Vec<_>>().join(" ")
}

async fn turn(
    model: &mut Model,
    screen: &mut Screen,
    mut incoming: UnboundedReceiver<Incoming>,
    hands: &mut Hands,
) -> io::Result<()> {
    let mut drawn = Instant::now();
    loop {
        let Some(mut next) = incoming.recv().await else { return Ok(()) };
        // All that has come in shares one drawing.
        loop {
            match next {
                Incoming::Msg(msg) => {
                    let effects = update(model, msg);
                    if effects.iter().any(|effect| matches!(effect, Effect::Quit)) {
                        return Ok(());
                    }
                    hands.start(effects);
                }
                Incoming::Suspend => {
                    screen.suspend()?;
                    model.is_dirty = true;
                }
                Incoming::Continued => {
                    screen.resume()?;
                    model.is_dirty = true;
                }
                Incoming::Broken => return Err(io::Error::other("a task failed, see above")),
            }
            if let Some(wait) = FRAME.checked_sub(drawn.elapsed()).filter(|_| model.is_dirty) {
                tokio::time::sleep(wait).await;
            }
            match incoming.try_recv() {
                Ok(more) => next = more,
                Err(_) => break,
            }
        }
        if model.is_dirty {
            screen.draw(|frame| view::draw(frame, model))?;
            (model.is_dirty, drawn) = (false, Instant::now());
        }
    }
}

/// Does what the model asks for.
struct Hands {
    session: Session,
    calls: Calls,
    live: tokio::task::JoinHandle<()>,
    sender: UnboundedSender<Incoming>,
}

impl Hands {
    fn start(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Call { ticket, ask, read } => {
                    self.calls.start(ticket, ask, read, &self.sender);
                }
                Effect::Wake { token, after_ms } => {
                    let sender = self.sender.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(after_ms)).await;
                        let _ = sender.send(Incoming::Msg(Msg::Woke(token)));
                    });
                }
                Effect::Copy(text) => copy::copy(&text),
                Effect::Run(line) => self.run_line(line),
                Effect::Login { token, user, expires_at } => self.login(&token, &user, &expires_at),
                Effect::Quit => {}
            }
        }
    }

    /// Runs a command line of `cms`; what it prints is shown.
    fn run_line(&self, line: Vec<String>) {
        let (program, sender) = (self.session.program.clone(), self.sender.clone());
        tokio::spawn(async move {
            let Some((name, first)) = program.split_first() else { return };
            let mut command = tokio::process::Command::new(name);
            command.args(first).args(&line).stdin(std::process::Stdio::null());
            let output = match command.env("NO_COLOR", "1").output().await {
                Ok(output) => {
                    let text = [output.stdout, output.stderr].concat();
                    let mut text = String::from_utf8_lossy(&text).into_owned();
                    if !output.status.success() {
                        text.push_str(&format!("\n{}", output.status));
                    }
                    text
                }
                Err(error) => error.to_string(),
            };
            let line = format!("cms {}", line.join(" "));
            let _ = sender.send(Incoming::Msg(Msg::Ran(line, output)));
        });
    }

    /// Speaks as the new session from now on.
    fn login(&mut self, token: &str, user: &str, expires_at: &str) {
        let Some(keep) = &self.session.login else { return };
        if let Ok(client) = keep(token, user, expires_at) {
            self.calls.client = client.clone();
            self.live.abort();
            self.live = live::follow(client, self.sender.clone());
        }
    }
}

/// Reads keys in a thread of its own, because reading blocks. The thread ends with the process.
fn read_keys(sender: UnboundedSender<Incoming>) {
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            let incoming = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match Key::from(key) {
                    Key { code: KeyCode::Char('z'), ctrl: true, .. } => Incoming::Suspend,
                    key => Incoming::Msg(Msg::Key(key)),
                },
                Event::Paste(text) => Incoming::Msg(Msg::Paste(text)),
                Event::Resize(..) => Incoming::Msg(Msg::Resize),
                _ => continue,
            };
            if sender.send(incoming).is_err() {
                return;
            }
        }
        // The terminal is gone, so nobody can press q.
        let _ = sender.send(Incoming::Msg(Msg::Quit));
    });
}

fn ticks(sender: UnboundedSender<Incoming>, clock: fn() -> i64) {
    tokio::spawn(async move {
        let mut every = tokio::time::interval(Duration::from_secs(1));
        loop {
            every.tick().await;
            if sender.send(Incoming::Msg(Msg::Tick(clock()))).is_err() {
                return;
            }
        }
    });
}
