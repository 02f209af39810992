//! The terminal interface of the CMS: `cms tui`.
//!
//! ```text
//! lib    the loop: waits for messages, draws after each change
//! view   draws a model; pure
//! keys   what each key means
//! model  what the screen knows, and how messages change it; pure
//! ```

mod keys;
mod model;
mod view;

use std::io;

use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage,
        item::{Asked, Read},
    },
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use model::{Effect, Model, Msg, Page, update};

/// Rows of a page.
const PAGE: u32 = 100;

/// Shows the content of `tables` until the user quits. `site` is its name in the status line.
///
/// # Errors
/// When the terminal cannot be drawn on.
pub async fn run(client: Client, site: String, tables: Vec<String>) -> io::Result<()> {
    let (sender, mut messages) = unbounded_channel();
    let (mut model, effects) = Model::new(site, tables);
    // Restores the terminal on panic too.
    let mut terminal = ratatui::try_init()?;
    read_keys(sender.clone());
    start(&client, &sender, effects);
    let outcome = loop {
        if let Err(error) = terminal.draw(|frame| view::draw(frame, &model)) {
            break Err(error);
        }
        let Some(msg) = messages.recv().await else { break Ok(()) };
        // Messages that arrived meanwhile share one drawing.
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

/// Reads keys in a thread of its own, because reading blocks. The thread ends with the process.
fn read_keys(sender: UnboundedSender<Msg>) {
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if keys::message(&event).is_some_and(|msg| sender.send(msg).is_err()) {
                return;
            }
        }
        // The terminal is gone, so nobody can press q.
        let _ = sender.send(Msg::Quit);
    });
}

fn start(client: &Client, sender: &UnboundedSender<Msg>, effects: Vec<Effect>) {
    for effect in effects {
        let Effect::Load { generation, table, cursor } = effect else { continue };
        let (client, sender) = (client.clone(), sender.clone());
        tokio::spawn(async move {
            let answer = load(&client, &table, cursor.as_deref()).await;
            // Fails only after the end of the loop.
            let _ = sender.send(Msg::Loaded(generation, answer));
        });
    }
}

async fn load(client: &Client, table: &str, cursor: Option<&str>) -> Result<Page, String> {
    let asked = Asked {
        table: table.to_owned(),
        limit: Some(PAGE.to_string()),
        cursor: cursor.map(str::to_owned),
        ..Asked::default()
    };
    match client.call::<Read>(&asked, &NoBody).await.map_err(|e| e.to_string())? {
        OneOrPage::Page(page) => model::page(&page).map_err(|e| e.to_string()),
        OneOrPage::One(_) => Err("the reply holds no list".to_owned()),
    }
}
