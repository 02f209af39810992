//! The terminal: entered and left, at the end, on a panic, a signal or Ctrl-Z; keys, the mouse and
//! the clock as messages. Its clipboard (OSC 52) works over SSH and needs no other program.

use std::{
    io::{self, Stdout, Write, stdout},
    time::Duration,
};

use cms_http::client::Client;
use crossterm::{
    cursor::Show,
    event::{
        DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
        Event, KeyCode, KeyEventKind, MouseButton, MouseEvent, MouseEventKind,
    },
    execute,
    terminal::{
        Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
        enable_raw_mode, size,
    },
};
use data_encoding::BASE64;
use ratatui::{
    Frame, Terminal, TerminalOptions, Viewport,
    backend::CrosstermBackend,
    layout::{Position, Rect},
};
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::UnboundedSender,
    task::JoinHandle,
};

use super::Incoming;
use crate::{
    keys::Key,
    model::{Mouse, Msg},
};

/// The terminal while the interface is on it.
pub(super) struct Screen {
    /// None once it was left.
    terminal: Option<Terminal<CrosstermBackend<Stdout>>>,
    is_in: bool,
    has_mouse: bool,
}

fn enter(has_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
    if has_mouse { execute!(stdout(), EnableMouseCapture) } else { Ok(()) }
}

/// A terminal of a fixed size. One that follows the size by itself asks for the cursor's
/// position, and the thread that reads keys would get the answer.
fn canvas() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let (width, height) = size()?;
    let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
    let options = TerminalOptions { viewport };
    Terminal::with_options(CrosstermBackend::new(stdout()), options)
}

/// Restores the terminal. If that fails, nothing more can be done.
fn leave() {
    let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste);
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

impl Screen {
    pub(super) fn enter(sender: UnboundedSender<Incoming>, has_mouse: bool) -> io::Result<Self> {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            usual(panic);
            let _ = sender.send(Incoming::Broken);
        }));
        enter(has_mouse)?;
        match canvas() {
            Ok(terminal) => Ok(Self { terminal: Some(terminal), is_in: true, has_mouse }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let (width, height) = size()?;
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        let area = terminal.get_frame().area();
        if (area.width, area.height) != (width, height) {
            self.renew()?;
        }
        self.terminal.as_mut().map_or(Ok(()), |terminal| terminal.draw(draw).map(|_| ()))
    }

    /// An empty terminal of the present size, every cell of which is drawn.
    fn renew(&mut self) -> io::Result<()> {
        execute!(stdout(), Clear(ClearType::All))?;
        self.terminal = Some(canvas()?);
        Ok(())
    }

    /// Stops the process group; the shell has the terminal until it goes on. Returns false if
    /// nothing was stopped, because nobody would continue it. A shell with job control gives each
    /// command line its own group, other than that of the session.
    pub(super) fn suspend(&mut self) -> io::Result<bool> {
        if getpgrp() == getsid(None)? {
            return Ok(false);
        }
        leave();
        kill_current_process_group(Signal::STOP)?;
        self.resume()?;
        Ok(true)
    }

    /// Takes the terminal again; other programs have used it meanwhile.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        enter(self.has_mouse)?;
        self.renew()
    }

    pub(super) fn leave(&mut self) {
        if std::mem::take(&mut self.is_in) {
            leave();
        }
        if let Some(mut terminal) = self.terminal.take()
            && terminal.show_cursor().is_err()
        {
            // Dropping it would print this error and panic, because nothing can be
            // printed any more.
            std::mem::forget(terminal);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Signals as messages.
pub(super) fn signals(sender: UnboundedSender<Incoming>) -> io::Result<()> {
    let kinds: [(SignalKind, fn() -> Incoming); 5] = [
        (SignalKind::terminate(), || Incoming::Msg(Msg::Quit)),
        (SignalKind::hangup(), || Incoming::Msg(Msg::Quit)),
        (SignalKind::interrupt(), || Incoming::Msg(Msg::Quit)),
        (SignalKind::from_raw(Signal::TSTP.as_raw()), || Incoming::Suspend),
        (SignalKind::from_raw(Signal::CONT.as_raw()), || Incoming::Continued),
    ];
    for (kind, incoming) in kinds {
        let (mut signals, sender) = (signal(kind)?, sender.clone());
        tokio::spawn(async move {
            while signals.recv().await.is_some() && sender.send(incoming()).is_ok() {}
        });
    }
    Ok(())
}

/// Terminals drop longer ones.
const LONGEST: usize = 74_994;

pub(super) fn copy(text: &str) {
    let encoded = BASE64.encode(text.as_bytes());
    if encoded.len() > LONGEST {
        return;
    }
    let in_tmux = std::env::var_os("TMUX").is_some();
    let _ = stdout().write_all(sequence(&encoded, in_tmux).as_bytes());
    let _ = stdout().flush();
}

/// tmux passes a sequence on only if it is wrapped and its escapes are doubled.
fn sequence(encoded: &str, in_tmux: bool) -> String {
    let plain = format!("\x1b]52;c;{encoded}\x07");
    if in_tmux {
        let wrapped = format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b"));
        return format!("{plain}{wrapped}");
    }
    plain
}

/// How often the clock and the site's state are checked.
const TICK: Duration = Duration::from_millis(500);

/// Reads keys in a thread of its own, because reading blocks. The thread ends with the process.
pub(super) fn keys(sender: UnboundedSender<Incoming>) {
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            let incoming = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match Key::from(key) {
                    Key { code: KeyCode::Char('z'), ctrl: true, .. } => Incoming::Suspend,
                    key => Incoming::Msg(Msg::Key(key)),
                },
                Event::Paste(text) => Incoming::Msg(Msg::Paste(text)),
                Event::Resize(..) => Incoming::Msg(Msg::Resize),
                Event::Mouse(event) => match mouse(event) {
                    Some(mouse) => Incoming::Msg(Msg::Mouse(mouse)),
                    None => continue,
                },
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

/// What the interface knows of the mouse: the left button and the wheel.
fn mouse(event: MouseEvent) -> Option<Mouse> {
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            Some(Mouse::Click(Position::new(event.column, event.row)))
        }
        MouseEventKind::ScrollDown => Some(Mouse::WheelDown),
        MouseEventKind::ScrollUp => Some(Mouse::WheelUp),
        _ => None,
    }
}

/// Reports the time, and commits at a site that is opened here.
pub(super) fn ticks(
    client: Client,
    sender: UnboundedSender<Incoming>,
    clock: fn() -> i64,
) -> JoinHandle<()> {
    // Read before any call is sent: the reply may already include the next commit.
    let mut version = client.snapshot_version();
    tokio::spawn(async move {
        let mut every = tokio::time::interval(TICK);
        loop {
            every.tick().await;
            let now = client.snapshot_version();
            if std::mem::replace(&mut version, now) != now {
                // Fails only after the end of the loop, as the next one.
                let _ = sender.send(Incoming::Msg(Msg::Committed));
            }
            if sender.send(Incoming::Msg(Msg::Tick(clock()))).is_err() {
                return;
            }
        }
    })
}

#[cfg(test)]
mod tests {

    #[test]
    fn tmux_gets_it_wrapped_too() {
        assert_eq!(super::sequence("YQ==", false), "\x1b]52;c;YQ==\x07");
        assert!(super::sequence("YQ==", true).ends_with("\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"));
    }
}
