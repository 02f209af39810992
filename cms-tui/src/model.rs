//! What the screen knows, and how messages change it. Pure: no terminal, no network

use cms_http::wire;
use serde_json::{Map, Value as Json};

/// The pane that has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    #[default]
    Tables,
    Rows,
}

/// Whether the site answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Link {
    #[default]
    Connecting,
    Live,
    /// The last request failed for this reason; the rows may be old.
    Failed(String),
}

/// All that the screen shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// The site's name in the status line.
    pub(crate) site: String,
    pub(crate) tables: Vec<String>,
    pub(crate) table: usize,
    pub(crate) pane: Pane,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) row: usize,
    pub(crate) link: Link,
    pub(crate) help: bool,
    /// Cursors of the pages before this one; that of the first page is None.
    before: Vec<Option<String>>,
    cursor: Option<String>,
    next: Option<String>,
    /// The number of the last request. Replies to earlier ones are dropped.
    generation: u64,
}

/// A message: what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Msg {
    Up,
    Down,
    First,
    Last,
    Switch,
    NextPage,
    PreviousPage,
    Reload,
    Help,
    /// One step back: closes the help, leaves the rows, or quits.
    Back,
    Quit,
    /// The terminal changed its size.
    Redraw,
    Loaded(u64, Result<Page, String>),
}

/// A page of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) next: Option<String>,
}

/// What the loop has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Load { generation: u64, table: String, cursor: Option<String> },
    Quit,
}

impl Model {
    /// The first state, and the request for the first table.
    pub(crate) fn new(site: String, tables: Vec<String>) -> (Self, Vec<Effect>) {
        let mut model = Self { site, tables, ..Self::default() };
        let effects = model.load(None);
        (model, effects)
    }

    /// The number of the page shown, from 1.
    pub(crate) fn page(&self) -> usize {
        self.before.len() + 1
    }

    pub(crate) fn has_next(&self) -> bool {
        self.next.is_some()
    }

    fn load(&mut self, cursor: Option<String>) -> Vec<Effect> {
        let Some(table) = self.tables.get(self.table).cloned() else { return Vec::new() };
        self.generation += 1;
        self.link = Link::Connecting;
        self.cursor.clone_from(&cursor);
        vec![Effect::Load { generation: self.generation, table, cursor }]
    }

    fn select_table(&mut self, table: usize) -> Vec<Effect> {
        if table == self.table {
            return Vec::new();
        }
        self.table = table;
        self.before.clear();
        (self.columns, self.rows, self.row, self.next) = (Vec::new(), Vec::new(), 0, None);
        self.load(None)
    }

    fn go(&mut self, to: impl FnOnce(usize, usize) -> usize) -> Vec<Effect> {
        let (at, count) = match self.pane {
            Pane::Tables => (self.table, self.tables.len()),
            Pane::Rows => (self.row, self.rows.len()),
        };
        let to = to(at, count).min(count.saturating_sub(1));
        match self.pane {
            Pane::Tables => self.select_table(to),
            Pane::Rows => {
                self.row = to;
                Vec::new()
            }
        }
    }
}

/// Changes the state, and returns what the loop has to do.
pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Quit => return vec![Effect::Quit],
        Msg::Redraw => {}
        Msg::Loaded(generation, answer) if generation == model.generation => match answer {
            Ok(page) => {
                model.link = Link::Live;
                (model.columns, model.rows, model.next) = (page.columns, page.rows, page.next);
                model.row = model.row.min(model.rows.len().saturating_sub(1));
            }
            Err(why) => model.link = Link::Failed(why),
        },
        Msg::Loaded(..) => {}
        Msg::Help => model.help = !model.help,
        Msg::Back if model.help => model.help = false,
        Msg::Back if model.pane == Pane::Rows => model.pane = Pane::Tables,
        Msg::Back => return vec![Effect::Quit],
        // Under the help, nothing moves.
        _ if model.help => {}
        Msg::Up => return model.go(|at, _| at.saturating_sub(1)),
        Msg::Down => return model.go(|at, _| at + 1),
        Msg::First => return model.go(|_, _| 0),
        Msg::Last => return model.go(|_, count| count),
        Msg::Switch => {
            model.pane = if model.pane == Pane::Tables { Pane::Rows } else { Pane::Tables }
        }
        Msg::Reload => return model.load(model.cursor.clone()),
        Msg::NextPage if model.link == Link::Live && model.next.is_some() => {
            model.before.push(model.cursor.clone());
            model.row = 0;
            let next = model.next.clone();
            return model.load(next);
        }
        Msg::PreviousPage if model.link != Link::Connecting => {
            if let Some(cursor) = model.before.pop() {
                model.row = 0;
                return model.load(cursor);
            }
        }
        Msg::NextPage | Msg::PreviousPage => {}
    }
    Vec::new()
}

/// A page of the API for the screen. The columns `id`, `title` and `name` come first.
///
/// # Errors
/// When a record is not an object.
pub(crate) fn page(page: &wire::Page<wire::Record>) -> serde_json::Result<Page> {
    let record = |record: &wire::Record| serde_json::from_str(record.json());
    let records: Vec<Map<String, Json>> =
        page.data.iter().map(record).collect::<serde_json::Result<_>>()?;
    let mut columns: Vec<String> =
        records.first().map(|first| first.keys().cloned().collect()).unwrap_or_default();
    columns.sort_by_key(|name| match name.as_str() {
        "id" => 0,
        "title" | "name" => 1,
        _ => 2,
    });
    let cell = |value: Option<&Json>| match value {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let row = |record: &Map<String, Json>| {
        columns.iter().map(|name| cell(record.get(name))).collect::<Vec<_>>()
    };
    let rows = records.iter().map(row).collect();
    Ok(Page { columns, rows, next: page.meta.next.clone() })
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
