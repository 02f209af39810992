//! The preview of the row under the cursor. Its lines are made once for each state of a row, not
//! for each drawing.

use ratatui::{Frame, layout::Rect};

use super::Browser;
use crate::{
    screens::Look,
    text::cut,
    theme::Role,
    widgets::draw::{framed, text_in},
};

/// The most lines of one row.
const MOST: usize = 5_000;
/// Ages in the preview are renewed after this time.
const AGED_MS: i64 = 10_000;

/// The lines, and the row, state and time that they belong to.
#[derive(Default)]
pub(super) struct CachedPreview {
    id: String,
    version: u64,
    aged: i64,
    pub(super) lines: Vec<(Role, String)>,
}

impl Browser {
    /// Makes the lines again if the row, its state or the time has changed.
    fn keep_preview(&self, now: i64) {
        let Some(row) = self.list.row() else { return };
        let mut kept = self.preview.borrow_mut();
        let (version, aged) = (self.version, now / AGED_MS);
        if (kept.id.as_str(), kept.version, kept.aged) == (row.id.as_str(), version, aged) {
            return;
        }
        let detail = self.detail.as_ref().filter(|(id, _)| *id == row.id).map(|(_, json)| json);
        let mut lines = (self.spec.preview)(&row.json, detail, &self.subject, now);
        if lines.len() > MOST {
            let more = lines.len() - MOST;
            lines.truncate(MOST);
            lines.push((Role::Warn, format!("… {more} more lines")));
        }
        *kept = CachedPreview { id: row.id.clone(), version, aged, lines };
    }
}

pub(super) fn draw(browser: &Browser, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let row = browser.list.row();
    let title = row.map_or_else(
        || "—".to_owned(),
        |row| {
            let name = ["name", "title", "username", "origin", "event", "endpoint", "contact_name"];
            let name = name.iter().find_map(|name| row.json[*name].as_str());
            match name {
                Some(name) if name != row.id => format!("{name} {}", row.id),
                _ => row.id.clone(),
            }
        },
    );
    let title = cut(&title, 60);
    let inner = framed(frame, area, title.trim(), browser.is_preview_focused, look.theme);
    if row.is_none() {
        return;
    }
    browser.keep_preview(look.now);
    let kept = browser.preview.borrow();
    text_in(frame, inner, &kept.lines, &browser.preview_top, 1, look.theme);
}
