//! Where the user is, on what.

use serde_json::Value as Json;

use super::Model;
use crate::{actions::Scene, screens::Screen, widgets::list::List};

/// A picture of where the user is, on what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    noun: &'static str,
    is_list: bool,
    subject: Json,
    row: Option<Json>,
    marks: Vec<Json>,
    is_all: bool,
    rights: Option<Vec<String>>,
    site: String,
    filter: String,
    sort: Option<(String, bool)>,
    who: String,
    is_operator: bool,
    readonly: bool,
    now: i64,
}

impl Sight {
    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            noun: self.noun,
            is_list: self.is_list,
            subject: self.subject.clone(),
            row: self.row.as_ref(),
            marks: self.marks.iter().collect(),
            is_all: self.is_all,
            rights: self.rights.as_deref(),
            site: &self.site,
            filter: &self.filter,
            sort: self.sort.as_ref().map(|(column, down)| (column.as_str(), *down)),
            who: &self.who,
            is_operator: self.is_operator,
            readonly: self.readonly,
            now: self.now,
        }
    }
}

impl Model {
    /// Where the user is, on what.
    pub(crate) fn scene(&self) -> Scene<'_> {
        let screen = self.screen();
        let list = screen.and_then(Screen::list);
        Scene {
            noun: screen.map_or("", Screen::noun),
            is_list: list.is_some(),
            subject: screen.map(|screen| screen.subject().clone()).unwrap_or_default(),
            row: screen.and_then(Screen::row),
            marks: list.map(List::marked).unwrap_or_default(),
            is_all: list.is_some_and(|list| list.is_all),
            rights: self.rights.as_deref(),
            site: &self.target,
            filter: screen.map(Screen::applied).unwrap_or_default(),
            sort: list.and_then(List::order),
            who: &self.who,
            is_operator: self.is_local && self.acts_as.is_none(),
            readonly: self.readonly,
            now: self.now,
        }
    }

    /// A picture of where the user is, for what changes the model.
    pub(crate) fn sight(&self) -> Sight {
        let screen = self.screen();
        let list = screen.and_then(Screen::list);
        Sight {
            noun: screen.map_or("", Screen::noun),
            is_list: list.is_some(),
            subject: screen.map(|screen| screen.subject().clone()).unwrap_or_default(),
            row: screen.and_then(Screen::row).cloned(),
            marks: list
                .map(|list| list.marked().into_iter().cloned().collect())
                .unwrap_or_default(),
            is_all: list.is_some_and(|list| list.is_all),
            rights: self.rights.clone(),
            site: self.target.clone(),
            filter: screen.map(|screen| screen.applied().to_owned()).unwrap_or_default(),
            sort: list.and_then(|list| list.sort.clone()),
            who: self.who.clone(),
            is_operator: self.is_local && self.acts_as.is_none(),
            readonly: self.readonly,
            now: self.now,
        }
    }
}
