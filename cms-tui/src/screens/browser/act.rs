//! What keys, clicks and the filter line do to a list and its preview.

use ratatui::layout::Position;
use serde_json::Value as Json;

use super::Browser;
use crate::{
    screens::{Clicked, Screen, filter_words::fits},
    step::{Menu, Step},
    widgets::{
        input::Input,
        list::{Hit, Moved},
        window::Row,
    },
};

impl Browser {
    pub(super) fn act_on_list(&mut self, verb: &str) -> Step {
        if self.is_preview_focused && ["down", "up", "half_down", "half_up"].contains(&verb) {
            let (top, by) = (self.preview_top.get(), if verb.starts_with("half") { 10 } else { 1 });
            let down = verb.ends_with("down");
            self.preview_top.set(if down { top + by } else { top.saturating_sub(by) });
            return Step::None;
        }
        match verb {
            "open" => match (self.spec.open, self.row()) {
                (Some(open), Some(row)) => open(row, &self.subject),
                (None, Some(_)) => {
                    self.is_zoomed = true;
                    self.is_preview_focused = true;
                    Step::None
                }
                _ => Step::None,
            },
            "pane" => {
                self.is_preview_focused = !self.is_preview_focused;
                Step::None
            }
            "zoom" => {
                self.is_zoomed = !self.is_zoomed;
                self.is_preview_focused = self.is_zoomed;
                Step::None
            }
            "sort" => {
                let sorts = (self.spec.sorts)(&self.subject);
                if sorts.is_empty() {
                    return Step::tell("This list has one order only.");
                }
                let entries = sorts.clone();
                Step::Menu(Menu::new("Sort by", entries, move |n| {
                    Step::Set("sort", sorts.into_iter().nth(n).unwrap_or_default())
                }))
            }
            "mark_all" if self.spec.marks_all => {
                let is_all = !self.list.is_all;
                self.list.unmark();
                self.list.is_all = is_all;
                Step::None
            }
            "columns" => self.columns_form(),
            "reverse" => match self.list.sort.take() {
                Some((column, down)) => {
                    self.list.sort = Some((column, !down));
                    self.restart()
                }
                None => Step::tell("Choose an order first: o."),
            },
            _ => {
                let moved = self.list.act(verb);
                self.moved(moved)
            }
        }
    }

    pub(super) fn choose(&mut self, what: &str, value: &str) -> Step {
        match what {
            "sort" => {
                let order = value.strip_prefix('-').map_or((value, false), |column| (column, true));
                self.list.sort = (!order.0.is_empty()).then(|| (order.0.to_owned(), order.1));
            }
            "filter" => {
                self.list.filter = Input::of(value);
                self.list.is_filtering = false;
                value.clone_into(&mut self.applied);
            }
            "columns" => return self.set_columns(value),
            "part" => return self.see_neighbour_part(if value == "-1" { -1 } else { 1 }),
            name => {
                self.subject[name] = if value.is_empty() { Json::Null } else { Json::from(value) };
                // In another language, a marked id would name another version.
                self.forget_all();
            }
        }
        self.restart()
    }
}

impl Browser {
    pub(super) fn clicked(&mut self, at: Position) -> Clicked {
        // The enlarged preview hides the list.
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
            // The first key of a filter is sent at once, later ones after a pause.
            Moved::Filtered if self.applied.is_empty() => self.after_pause(),
            Moved::Filtered => Step::Pause,
            Moved::Here | Moved::No => Step::None,
        }
    }

    /// As [`Self::moved`], when the filter is complete. It is applied at once: the next key may
    /// be an act, and must not mean the rows of an earlier filter.
    pub(super) fn decided(&mut self, moved: Moved) -> Step {
        self.apply().unwrap_or_else(|| self.moved(moved))
    }

    /// Whether a row has all the words of the filter, and none of those behind a `!`.
    pub(super) fn fits(&self, row: &Row) -> bool {
        let wanted = self.list.filter.text();
        if wanted.is_empty() {
            return true;
        }
        let cells = self.columns.iter().map(|c| (c.show)(&row.json, &c.name, self.now).0);
        fits(wanted, &cells.collect::<Vec<_>>().join(" "))
    }

    /// Filters rows that the service does not filter.
    pub(super) fn filter_here(&mut self) -> bool {
        let rows = self.whole.iter().filter(|row| self.fits(row)).cloned().collect();
        self.list.replace(rows)
    }

    pub(super) fn after_pause(&mut self) -> Step {
        self.apply().unwrap_or_else(|| self.ask_detail())
    }

    /// Asks for the rows that match the present filter; None: it is already in force.
    fn apply(&mut self) -> Option<Step> {
        let is_asked = self.spec.tokens.is_some() || self.is_large;
        if !is_asked || self.applied == self.list.filter.text() {
            return None;
        }
        self.list.filter.text().clone_into(&mut self.applied);
        Some(self.restart())
    }
}
