//! Widgets as the registry knows them: titles, groups, menus.

use std::sync::Arc;

use cms_http::wire::widgets::{Read, WhichWidgets};

use crate::screens::prelude::*;

/// Widgets of a page.
const MOST: u32 = 500;

/// The registry, as far as it was read, in the order of its picker.
#[derive(Clone, Debug, Default)]
pub(super) struct WidgetRegistry {
    pub(super) is_read: bool,
    pub(super) has_failed: bool,
    widgets: Arc<Vec<Json>>,
}

/// All that can be placed, from this page on.
pub(super) fn all(cursor: Option<String>) -> Result<Calling, Fault> {
    get::<Read>(&WhichWidgets { limit: Limit(MOST), cursor, ..WhichWidgets::default() })
}

/// One, with values that are not cut.
pub(super) fn one(name: &str) -> Result<Calling, Fault> {
    get::<Read>(&WhichWidgets { widget: Some(name.to_owned()), ..WhichWidgets::default() })
}

/// The entries of a menu.
pub(super) fn menu<'w>(widget: &'w Json, kind: &str) -> &'w [Json] {
    let name = if kind == "item" { "item_menu" } else { "menu" };
    items(&widget[name])
}

impl WidgetRegistry {
    #[cfg(test)]
    pub(super) fn of(widgets: Json) -> Self {
        let mut known = Self::default();
        known.take(Ok(Reply { data: widgets, ..Reply::default() }));
        known
    }

    /// It is read from its beginning.
    pub(super) fn begin(&mut self) {
        self.widgets = Arc::default();
    }

    /// Takes a page of the registry. Returns where the next one starts.
    pub(super) fn take(&mut self, page: Result<Reply, Fault>) -> Option<String> {
        let Ok(Reply { data: Json::Array(mut more), next, .. }) = page else {
            *self = Self { has_failed: true, ..Self::default() };
            return None;
        };
        Arc::make_mut(&mut self.widgets).append(&mut more);
        (self.is_read, self.has_failed) = (next.is_none(), false);
        next
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.widgets.iter().find(|one| one["name"] == name)
    }

    /// Group and name of each, for a picker.
    pub(super) fn options(&self) -> Vec<(String, String)> {
        self.widgets.iter().map(option).collect()
    }

    /// What an editor calls a member of a node's values.
    pub(super) fn label(&self, node: &Json, row: &str) -> Option<String> {
        let widget = self.get(node["widget"].as_str()?)?;
        let menu = menu(widget, node["kind"].as_str()?);
        let entry = menu.iter().find(|entry| entry["row"] == row)?;
        Some(plain_text(&entry["label"]))
    }
}

fn option(widget: &Json) -> (String, String) {
    let text = |name: &str| plain_text(&widget[name]);
    (text("group_title"), format!("{} · {}", text("name"), text("title")))
}

/// The name in an option of the picker.
pub(super) fn name_in(option: &str) -> &str {
    option.split(" · ").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_read_page_by_page() {
        let mut known = WidgetRegistry::default();
        let page = |name: &str, next: Option<&str>| {
            let next = next.map(str::to_owned);
            Ok(Reply { data: json!([{"name": name}]), next, ..Reply::default() })
        };
        assert_eq!(known.take(page("a", Some("c1"))).as_deref(), Some("c1"));
        assert!(!known.is_read, "the rest is not known yet");
        assert_eq!(known.take(page("b", None)), None);
        assert!(known.is_read && known.get("a").is_some() && known.get("b").is_some());
        assert_eq!(known.take(Err(Fault::new("away"))), None);
        assert!(known.has_failed && !known.is_read);
    }
}
