//! Turns keys, the mouse and the clock into messages.

use std::time::Duration;

use cms_http::client::Client;
use crossterm::event::{Event, KeyCode, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle};

use super::Incoming;
use crate::{
    keys::Key,
    model::{Mouse, Msg},
};

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
