//! The built-in widgets: a JSON file for each group in `builtin/`, an icon for each widget in
//! `icons/`. A widget has the members that plugins declare. Also makes the content of the widgets
//! that show data of this room: menus and vacancies.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::{Widget, values::text_of};
use crate::{
    Result,
    base::Base,
    pages::menu,
    plugins::{PlacedWidget, TODAY, WidgetContent, manifest},
};

macro_rules! groups {
    ($($name:ident)*) => { [$(include_str!(concat!("builtin/", stringify!($name), ".json"))),*] };
}

macro_rules! icons {
    ($($name:ident)*) => {
        [$((
            concat!(stringify!($name), ".svg"),
            include_str!(concat!("icons/", stringify!($name), ".svg")),
        )),*]
    };
}

/// The groups, in the order of the picker.
const GROUPS: [&str; 22] = groups! {
    base spacer button imageButton imageOverlayText titleBanner titleBannerElement infoBoxes
    uspIconList instagramJourney locationMap jobs gallery blog newsletter productListing shop
    shopsystem search elearning exhibition form
};

/// The icons by file name.
const ICONS: [(&str, &str); 42] = icons! {
    title html image footer_links social_footer pagebuilder_element spacer button imageButton
    imageOverlayText titleBanner titleBannerElement infoBoxes uspIconList instagramJourney
    locationMap jobs gallery blog blogpreview newsletter productListing productTeaser
    categoryBannerNoLink newReleasesNoLink user shop checkout abobutton calendar
    shopsystemProductListing shopsystemProductDetail shopsystemCart shopsystemCheckout
    shopsystemUserAccount shopsystemCategoryTeaser shopsystemSearchBar elasticsearch searchbar
    elearning exhibition form
};

/// A group as its file declares it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    group: String,
    title: String,
    version: String,
    widgets: Vec<manifest::WidgetDeclaration>,
}

/// All built-in widgets, in the order of the picker.
pub(super) fn all() -> &'static [Widget] {
    static ALL: LazyLock<Vec<Widget>> = LazyLock::new(|| groups().flat_map(widgets).collect());
    &ALL
}

/// A group that cannot be read is logged and left out. The files are part of the program, and a
/// test reads each of them.
fn groups() -> impl Iterator<Item = Group> {
    GROUPS.iter().filter_map(|text| match serde_json::from_str(text) {
        Ok(group) => Some(group),
        Err(error) => {
            tracing::error!(%error, "a group of built-in widgets cannot be read");
            None
        }
    })
}

fn widgets(group: Group) -> impl Iterator<Item = Widget> {
    let Group { group, title, version, widgets } = group;
    let widget = move |declared| Widget::new(None, (&group, &title), &version, declared);
    widgets.into_iter().map(widget)
}

/// The rows with fixed options, each with all options that it has in any widget.
pub(crate) fn choices() -> BTreeMap<String, BTreeSet<String>> {
    let mut choices = BTreeMap::<String, BTreeSet<String>>::new();
    let entries = all().iter().flat_map(|widget| widget.menu.0.iter().chain(&widget.item_menu.0));
    for entry in entries {
        for option in entry.options.iter().flat_map(|options| &options.0) {
            choices.entry(entry.row.clone()).or_default().insert(text_of(&option.id));
        }
    }
    choices
}

/// The icon of a built-in widget, as SVG.
pub(super) fn icon(file: &str) -> Option<&'static str> {
    ICONS.iter().find(|(name, _)| *name == file).map(|(_, svg)| *svg)
}

/// The version of this code.
const VERSION: &str = "1.0.0";

/// `footer_links`: the menu that its value names, as a tree.
pub(super) struct FooterLinks(pub(super) Base);

impl WidgetContent for FooterLinks {
    fn name(&self) -> &str {
        "footer_links"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn tables(&self) -> Option<Vec<String>> {
        Some(vec!["menu_items".to_owned()])
    }

    fn content<'a>(&'a self, widget: &'a PlacedWidget, _: bool) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            let Some(name) = widget.text("menu") else { return Ok(Json::Null) };
            Ok(json!({"menu": menu::read(&self.0, name, &widget.language).await?}))
        })
    }
}

/// `jobs`: the vacancies whose last day has not passed; editors see all of them.
pub(super) struct Jobs(pub(super) Base);

impl WidgetContent for Jobs {
    fn name(&self) -> &str {
        "jobs"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn tables(&self) -> Option<Vec<String>> {
        Some(vec![TODAY.to_owned()])
    }

    fn content<'a>(
        &'a self,
        widget: &'a PlacedWidget,
        backend: bool,
    ) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            let today = self.0.day(self.0.clock().now())?.to_string();
            // Days as text sort by date.
            let last = |item: &Map<String, Json>| {
                item.get("end_date").and_then(Json::as_str).map(str::to_owned)
            };
            let is_open =
                |item: &&Map<String, Json>| backend || last(item).is_none_or(|last| last >= today);
            let open: Vec<_> = widget.items.iter().filter(is_open).collect();
            Ok(json!({"items": open}))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plugins::{BUILT_IN_WIDGETS, Manifest, WIDGET_COLUMNS};

    #[test]
    fn every_group_is_read_and_sound() {
        assert_eq!(groups().count(), GROUPS.len());
        for group in groups() {
            let widgets = group.widgets.into();
            let manifest = Manifest { pagebuilder_widgets: widgets, ..Manifest::default() };
            let problems = crate::plugins::problems_of_widgets(&manifest);
            assert_eq!(problems, [], "{}", group.group);
        }
    }

    #[test]
    fn the_widgets_are_those_whose_names_are_taken() {
        let names: Vec<_> = all().iter().map(|widget| widget.name.as_str()).collect();
        assert_eq!(names, BUILT_IN_WIDGETS);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 42);
    }

    #[test]
    fn each_has_an_icon_of_its_own() {
        let icons: BTreeSet<_> = all().iter().map(|widget| icon(&widget.icon)).collect();
        assert!(!icons.contains(&None));
        assert_eq!(icons.len(), ICONS.len());
        for (file, svg) in ICONS {
            assert!(svg.starts_with("<svg ") && !svg.contains("script"), "{file}");
        }
    }

    #[test]
    fn the_columns_are_those_of_the_menus() {
        let menus = all().iter().flat_map(|widget| [&widget.menu, &widget.item_menu]);
        let rows: BTreeSet<_> =
            menus.flat_map(|menu| menu.iter()).map(|e| e.row.as_str()).collect();
        assert_eq!(rows, WIDGET_COLUMNS.into_iter().collect());
        assert_eq!(rows.len(), WIDGET_COLUMNS.len());
    }
}
