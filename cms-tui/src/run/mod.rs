//! The loop: takes messages, runs effects, and draws when something has changed.
//!
//! ```text
//! terminal  enters and leaves the terminal, whatever ends the session; its clipboard; keys, the
//!           mouse and the time as messages
//! calls     makes calls, each in a task of its own
//! pace      how fast: as the limiter of a remote site allows
//! lines     runs command lines of cms
//! live      follows events; polling is the fallback
//! files     keys.toml, what is remembered of a site, replies written into files
//! ```

mod calls;
pub(crate) mod files;
mod lines;
mod live;
mod pace;
mod terminal;

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use cms_http::{Secret, client::Client};
use tokio::{
    sync::{
        OwnedSemaphorePermit,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    task::JoinHandle,
};

use crate::{
    model::{Effect, Model, Msg, Start, update},
    theme::{Role, Theme},
    view,
};
use calls::Calls;
use lines::Lines;
use terminal::Screen;

/// Messages cause at most 60 drawings a second; keys are drawn at once.
const FRAME: Duration = Duration::from_millis(16);
/// Minimum time between drawings for keys that are held down.
const AFTER_INPUT: Duration = Duration::from_millis(4);

/// How long Ctrl-Z waits for changes under way.
const SUSPEND_TIMEOUT: Duration = Duration::from_secs(3);

/// Stores the session of a login, and returns a client that speaks with it.
pub type KeepLogin = Arc<dyn Fn(&str, &str, &str) -> Result<Client, String> + Send + Sync>;

/// Forgets the ended session, and returns an anonymous client.
pub type ForgetLogin = Arc<dyn Fn() -> Result<Client, String> + Send + Sync>;
/// Opens the site of a context.
pub type OpenContext = Arc<dyn Fn(&str) -> Result<Site, String> + Send + Sync>;

/// A site to work on.
#[derive(Clone)]
pub struct Site {
    /// Speaks to the site.
    pub client: Client,
    /// Its name in the first line.
    pub name: String,
    /// Whether it is opened in this process.
    pub is_local: bool,
    /// The user that the operator acts as.
    pub acts_as: Option<String>,
    /// The file of what is remembered about it.
    pub state: Option<PathBuf>,
    /// How to run a command line of `cms` for it: the program and its first arguments.
    pub program: Vec<String>,
    /// Variables for this command line that are not in the environment of this process.
    pub secrets: Vec<(String, Secret)>,
    /// Called after a login; None: a local site has no login.
    pub login: Option<KeepLogin>,
    /// Called after the session has ended.
    pub logout: Option<ForgetLogin>,
}

/// What a session of the interface needs to know.
pub struct Session {
    /// The site to begin with.
    pub site: Site,
    /// Nothing can be changed.
    pub readonly: bool,
    /// Whether clicks and the wheel are for the interface.
    pub has_mouse: bool,
    /// The screen to open first; None: the last one.
    pub screen: Option<String>,
    /// The filter of that screen at the start.
    pub filter: Option<String>,
    /// The folder of `keys.toml`.
    pub config: Option<PathBuf>,
    /// The time in milliseconds.
    pub clock: fn() -> i64,
    /// The names of other sites that can be opened.
    pub contexts: Vec<String>,
    /// Opens such a site.
    pub open_context: OpenContext,
}

/// What comes in.
enum Incoming {
    Msg(Msg),
    /// An event of the site, with its place among those that wait.
    Happened(String, OwnedSemaphorePermit),
    /// Ctrl-Z, or the signal.
    Suspend,
    /// Ctrl-Z must wait: a change takes long.
    Busy,
    /// The process goes on after it was stopped.
    Continued,
    /// A task panicked; the terminal is restored.
    Broken,
}

impl Incoming {
    /// The user did it.
    fn is_input(&self) -> bool {
        matches!(self, Self::Msg(Msg::Key(_) | Msg::Mouse(_) | Msg::Paste(_) | Msg::Resize))
    }
}

/// Shows the interface until the user leaves.
///
/// # Errors
/// When the terminal cannot be drawn on, or `keys.toml` is wrong.
pub async fn run(session: Session) -> io::Result<()> {
    let keys = files::keys(session.config.as_deref()).map_err(io::Error::other)?;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let map = crate::actions::KeyMap::new(&keys).map_err(io::Error::other)?;
    let theme = Theme::choose(keys.theme.as_deref(), no_color).map_err(io::Error::other)?;
    let (noun, filter) = (session.screen.clone(), session.filter.clone());
    let start = Start { map, theme, noun, filter, ..start(&session, &session.site) };
    let (mut model, effects) = Model::new(start);
    let (sender, incoming) = unbounded_channel();
    // Before the terminal is taken: a signal must not leave it in the mode of the interface.
    terminal::signals(sender.clone())?;
    let mut screen = Screen::enter(sender.clone(), session.has_mouse)?;
    screen.draw(|frame| view::draw(frame, &model))?;
    model.is_dirty = false;
    terminal::keys(sender.clone());
    let mut hands = Hands {
        calls: Calls::new(session.site.client.clone(), session.site.is_local),
        live: live::follow(session.site.client.clone(), sender.clone()),
        ticks: terminal::ticks(session.site.client.clone(), sender.clone(), session.clock),
        lines: Lines::default(),
        suspending: None,
        sender,
        session,
    };
    hands.start(effects);
    let outcome = turn(&mut model, &mut screen, incoming, &mut hands).await;
    hands.live.abort();
    screen.leave();
    files::remember(hands.session.site.state.as_deref(), &model.remember());
    // After the end of this process nobody else would end the command lines.
    hands.lines.gone().await;
    outcome
}

/// How a session on this site begins.
fn start(session: &Session, site: &Site) -> Start {
    Start {
        site: site.name.clone(),
        target: target(&site.program),
        is_local: site.is_local,
        acts_as: site.acts_as.clone(),
        contexts: session.contexts.clone(),
        readonly: session.readonly,
        remembered: files::remembered(site.state.as_deref()),
        now: (session.clock)(),
        is_watched: site.client.snapshot_version().is_some(),
        seed: format!("tui-{}-{}", (session.clock)(), std::process::id()),
        ..Start::default()
    }
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
        let (begun, mut has_input) = (Instant::now(), false);
        // Everything that has come in shares one drawing, but a flood of messages delays it by a
        // frame at most.
        loop {
            has_input |= next.is_input();
            if take(next, model, screen, hands)? {
                return Ok(());
            }
            let spacing = if has_input { AFTER_INPUT } else { FRAME };
            let wait = spacing.saturating_sub(drawn.elapsed());
            next = if model.is_dirty && !wait.is_zero() {
                match tokio::time::timeout(wait, incoming.recv()).await {
                    Ok(Some(more)) => more,
                    Ok(None) => return Ok(()),
                    Err(_) => break,
                }
            } else {
                match incoming.try_recv() {
                    Ok(more) if begun.elapsed() < FRAME => more,
                    Ok(more) => {
                        if take(more, model, screen, hands)? {
                            return Ok(());
                        }
                        break;
                    }
                    Err(_) => break,
                }
            };
        }
        if model.is_dirty {
            screen.draw(|frame| view::draw(frame, model))?;
            (model.is_dirty, drawn) = (false, Instant::now());
        }
    }
}

/// Takes what came in. Returns whether the session is over.
fn take(
    next: Incoming,
    model: &mut Model,
    screen: &mut Screen,
    hands: &mut Hands,
) -> io::Result<bool> {
    match next {
        Incoming::Msg(msg) => {
            let effects = update(model, msg);
            let context = effects.iter().find_map(|effect| match effect {
                Effect::Context(name) => Some(name.clone()),
                _ => None,
            });
            if let Some(name) = context {
                hands.go_to(&name, model);
            }
            if effects.iter().any(|effect| matches!(effect, Effect::Quit)) {
                return Ok(true);
            }
            hands.start(effects);
        }
        Incoming::Happened(event, _place) => hands.start(update(model, Msg::Happened(event))),
        Incoming::Suspend if hands.calls.is_changing() => hands.suspend_later(),
        Incoming::Busy => {
            let why = "A change is under way here, and all others would wait for it: press Ctrl-Z \
                       when it has ended.";
            model.tell(Role::Warn, why);
            model.is_dirty = true;
        }
        Incoming::Suspend => {
            if !screen.suspend()? {
                let why = "This terminal has no shell that could let it go on: q leaves.";
                model.tell(Role::Warn, why);
            }
            model.is_dirty = true;
        }
        Incoming::Continued => {
            screen.resume()?;
            model.is_dirty = true;
        }
        Incoming::Broken => return Err(io::Error::other("a task failed, see above")),
    }
    Ok(false)
}

/// Runs the effects that the model asks for.
struct Hands {
    session: Session,
    calls: Calls,
    live: JoinHandle<()>,
    ticks: JoinHandle<()>,
    lines: Lines,
    /// Waits until changes end, and then stops this process.
    suspending: Option<JoinHandle<()>>,
    sender: UnboundedSender<Incoming>,
}

impl Hands {
    fn start(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Call { ticket, ask, read } => {
                    self.calls.start(ticket, ask, read, &self.sender);
                }
                Effect::Forget(ticket) => self.calls.forget(ticket),
                Effect::Wake { token, after_ms } => {
                    let sender = self.sender.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(after_ms)).await;
                        let _ = sender.send(Incoming::Msg(Msg::Woke(token)));
                    });
                }
                Effect::Copy(text) => terminal::copy(&text),
                Effect::Run(number, line) => {
                    let program = self.session.site.program.clone();
                    let secrets = self.session.site.secrets.clone();
                    self.lines.start(number, program, secrets, line, self.sender.clone());
                }
                Effect::Save(number, saving) => {
                    self.lines.save(number, self.calls.client.clone(), saving, self.sender.clone());
                }
                Effect::End(number) => self.lines.end(number),
                Effect::Login { token, user, expires_at } => {
                    let keep = self.session.site.login.as_ref();
                    self.speak(keep.map(|keep| keep(&token, &user, &expires_at)));
                }
                Effect::Logout => {
                    let forget = self.session.site.logout.as_ref();
                    self.speak(forget.map(|forget| forget()));
                }
                Effect::Context(_) | Effect::Quit => {}
            }
        }
    }

    /// Waits for changes before stopping. A process that is stopped within a change holds the
    /// database of a local site: every other process would be refused until it goes on.
    fn suspend_later(&mut self) {
        if self.suspending.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (at_rest, sender) = (self.calls.at_rest(SUSPEND_TIMEOUT), self.sender.clone());
        self.suspending = Some(tokio::spawn(async move {
            let next = if at_rest.await { Incoming::Suspend } else { Incoming::Busy };
            let _ = sender.send(next);
        }));
    }

    /// Leaves this site for another one.
    fn go_to(&mut self, context: &str, model: &mut Model) {
        let site = match (self.session.open_context)(context) {
            Ok(site) => site,
            Err(why) => return model.tell(Role::Bad, format!("✗ {why}")),
        };
        files::remember(self.session.site.state.as_deref(), &model.remember());
        let mut start = start(&self.session, &site);
        (start.map, start.theme) = (model.map.clone(), model.theme);
        start.remembered.hints = start.remembered.hints.max(model.remembered.hints);
        // New tickets differ, so late replies of the other site find no call that waits for them.
        start.tickets = model.tickets();
        let (fresh, effects) = Model::new(start);
        *model = fresh;
        self.lines.end_all();
        self.live.abort();
        self.live = live::follow(site.client.clone(), self.sender.clone());
        self.ticks.abort();
        self.ticks = terminal::ticks(site.client.clone(), self.sender.clone(), self.session.clock);
        self.calls = self.calls.elsewhere(site.client.clone(), site.is_local);
        self.session.site = site;
        self.start(effects);
    }

    /// Uses another client from now on.
    fn speak(&mut self, client: Option<Result<Client, String>>) {
        match client {
            None => {}
            Some(Ok(client)) => {
                self.calls.client = client.clone();
                self.live.abort();
                // The old stream has ended without a message.
                let _ = self.sender.send(Incoming::Msg(Msg::Live(false)));
                self.live = live::follow(client, self.sender.clone());
            }
            Some(Err(why)) => {
                let why = format!("The session cannot be kept: {why}");
                let _ = self.sender.send(Incoming::Msg(Msg::Failed(why)));
            }
        }
    }
}
