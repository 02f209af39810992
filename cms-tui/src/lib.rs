//! The terminal interface of the CMS: `cms tui`.
//!
//! ```text
//! keys   what a key means
//! model  update(&mut Model, Msg) -> Vec<Effect>, pure
//! view   draw(&Model), pure
//! lib    the loop: waits for messages, draws when something changed
//! ```

mod keys;
mod model;
mod view;

use std::io;

use cms_http::client::{Ask, Client};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use model::{Effect, Model, Msg, Page, update};

/// Shows the content of `tables` until the user quits. `place` names the site in the status line.
///
/// # Errors
/// When the terminal cannot be drawn on.
pub async fn run(client: Client, place: String, tables: Vec<String>) -> io::Result<()> {
    let (sender, mut messages) = unbounded_channel();
    let (mut model, effects) = Model::new(place, tables);
    // Restores the terminal on panic too.
    let mut terminal = ratatui::try_init()?;
    read_keys(sender.clone());
    start(&client, &sender, effects);
    let outcome = loop {
        if let Err(error) = terminal.draw(|frame| view::draw(frame, &model)) {
            break Err(error);
        }
        let Some(msg) = messages.recv().await else { break Ok(()) };
        // What has come in meanwhile is drawn once.
        let mut waiting = vec![msg];
        while let Ok(msg) = messages.try_recv() {
            waiting.push(msg);
        }
        let effects: Vec<_> = waiting.into_iter().flat_map(|msg| update(&mut model, msg)).collect();
        if effects.contains(&Effect::Quit) {
            break Ok(());
        }
        start(&client, &sender, effects);
    };
    ratatui::restore();
    outcome
}

/// A thread of its own, because the terminal can only be waited for by blocking. It ends with the
/// process.
fn read_keys(sender: UnboundedSender<Msg>) {
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if keys::message(&event).is_some_and(|msg| sender.send(msg).is_err()) {
                return;
            }
        }
        // A terminal that is gone gives no more keys: nobody could quit.
        let _ = sender.send(Msg::Quit);
    });
}

fn start(client: &Client, sender: &UnboundedSender<Msg>, effects: Vec<Effect>) {
    for effect in effects {
        let Effect::Load { generation, table, cursor } = effect else { continue };
        let (client, sender) = (client.clone(), sender.clone());
        tokio::spawn(async move {
            let answer = load(&client, &table, cursor.as_deref()).await;
            // The screen may be gone.
            let _ = sender.send(Msg::Loaded(generation, answer));
        });
    }
}

async fn load(client: &Client, table: &str, cursor: Option<&str>) -> Result<Page, String> {
    let ask = Ask::get("/api/backend/item")
        .query("table", table)
        .query("limit", 100)
        .maybe("cursor", cursor);
    let answer = client.send(ask).await.map_err(|e| e.to_string())?;
    Ok(model::page(&answer.json().map_err(|e| e.to_string())?))
}
