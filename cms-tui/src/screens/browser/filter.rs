//! The filter line: words for the service, or rows filtered here.

use super::Browser;
use crate::{
    step::Step,
    widgets::{list::Moved, window::Row},
};

impl Browser {
    pub(super) fn moved(&mut self, moved: Moved) -> Step {
        match moved {
            Moved::Along => self.along(),
            Moved::Filtered if self.spec.tokens.is_none() && !self.is_large => {
                self.list.restart();
                self.filter_here();
                self.version += 1;
                self.along()
            }
            // It is asked after a pause, the first key at once.
            Moved::Filtered if self.applied.is_empty() => self.after_pause(),
            Moved::Filtered => Step::Pause,
            Moved::Here | Moved::No => Step::None,
        }
    }

    /// Whether a row has all the words of the filter, and none of those behind a `!`.
    pub(super) fn fits(&self, row: &Row) -> bool {
        let wanted = self.list.filter.text().to_lowercase();
        if wanted.is_empty() {
            return true;
        }
        let cells = self.columns.iter().map(|c| (c.show)(&row.json, &c.name, self.now).0);
        let text = cells.collect::<Vec<_>>().join(" ").to_lowercase();
        wanted.split_whitespace().all(|word| match word.strip_prefix('!') {
            Some(word) => !text.contains(word),
            None => text.contains(word),
        })
    }

    /// Filters rows that the service does not filter.
    pub(super) fn filter_here(&mut self) -> bool {
        let rows = self.whole.iter().filter(|row| self.fits(row)).cloned().collect();
        self.list.replace(rows)
    }

    pub(super) fn after_pause(&mut self) -> Step {
        let is_asked = self.spec.tokens.is_some() || self.is_large;
        if is_asked && self.applied != self.list.filter.text() {
            self.applied = self.list.filter.text().to_owned();
            return self.read_anew();
        }
        self.ask_detail()
    }
}
