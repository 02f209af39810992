//! What a click does: it selects a row, opens the selected one, or sorts by a column.

use ratatui::layout::Position;

use super::Browser;
use crate::{
    screens::{Clicked, Screen},
    widgets::list::Hit,
};

impl Browser {
    pub(super) fn clicked(&mut self, at: Position) -> Clicked {
        // The list lies below the large preview.
        if self.is_zoomed {
            return Clicked::Nothing;
        }
        match self.list.hit(at) {
            Hit::Row(row) if row == self.list.at() => Clicked::Again,
            Hit::Row(row) => {
                self.list.go(row);
                self.is_preview_focused = false;
                Clicked::Moved(self.along().into())
            }
            Hit::Head(part) if part.contains(':') => {
                let name = part.rsplit_once(':').map_or("", |(_, name)| name);
                Clicked::Moved(self.see_part(name).into())
            }
            Hit::Head(column) => match &self.list.sort {
                Some((by, _)) if *by == column => Clicked::Moved(self.move_list("reverse").into()),
                _ if (self.spec.sorts)(&self.subject).contains(&column) => {
                    Clicked::Moved(self.set("sort", &column).into())
                }
                _ => Clicked::Nothing,
            },
            Hit::Nothing => Clicked::Nothing,
        }
    }
}
