//! What keys do to the list and its preview.

use serde_json::Value as Json;

use super::Browser;
use crate::{
    screens::Screen,
    step::{Menu, Step},
    widgets::input::Input,
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
                    return Step::Tell("This list has one order only.".to_owned());
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
                    self.read_anew()
                }
                None => Step::Tell("Choose an order first: o.".to_owned()),
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
            "part" => return self.see_part_beside(if value == "-1" { -1 } else { 1 }),
            name => {
                self.subject[name] = if value.is_empty() { Json::Null } else { Json::from(value) };
                // Another language: an id that was marked would name another version.
                self.forget_all();
            }
        }
        self.read_anew()
    }
}
