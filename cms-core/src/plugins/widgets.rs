//! Widgets of plugins: the content that a plugin written in Rust shows in them, their files, their
//! columns, and the names that built-in widgets have taken.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::{Manifest, script_path::find_within};
use crate::{Code, Error, Result, ground::SiteRef, items::Items};

/// A name in [`WidgetContent::tables`] for content that changes at midnight in the site's
/// time zone.
pub const TODAY: &str = "@today";

/// Makes the content of a widget, which its component gets besides the stored values. The widget
/// is built in or belongs to a plugin of the program.
///
/// ```
/// use cms_core::{
///     Result,
///     plugins::{PlacedWidget, WidgetContent},
/// };
/// use futures_util::future::BoxFuture;
/// use serde_json::{Value, json};
///
/// struct Greeting;
///
/// impl WidgetContent for Greeting {
///     fn name(&self) -> &str {
///         "greeting"
///     }
///
///     fn version(&self) -> &str {
///         "1.0.0"
///     }
///
///     fn tables(&self) -> Option<Vec<String>> {
///         Some(Vec::new())
///     }
///
///     fn content<'a>(
///         &'a self,
///         widget: &'a PlacedWidget,
///         _backend: bool,
///     ) -> BoxFuture<'a, Result<Value>> {
///         Box::pin(async move { Ok(json!({"text": format!("Hello, {}", widget.data["title"])})) })
///     }
/// }
/// ```
pub trait WidgetContent: Send + Sync + 'static {
    /// The name of the widget.
    fn name(&self) -> &str;

    /// The version of this code, as the picker shows it.
    fn version(&self) -> &str;

    /// The content tables that the content is made from. A page with the widget is cached until
    /// one of them changes; with [`TODAY`] among them, also no longer than until midnight. `None`:
    /// unknown, so the page is never cached.
    fn tables(&self) -> Option<Vec<String>> {
        None
    }

    /// The content of a placed widget. `backend` is true when an embedding program shows the page
    /// to editors; the service itself always passes false, because its links show drafts to people
    /// without a login.
    ///
    /// Of one page, 16 widgets make their content at a time. All content shares two seconds and
    /// 4 MiB as JSON. Content that fails, is late or does not fit becomes null and is logged.
    fn content<'a>(
        &'a self,
        widget: &'a PlacedWidget,
        backend: bool,
    ) -> BoxFuture<'a, Result<Json>>;
}

/// A widget on a page, with what its editor has entered.
#[derive(Clone)]
#[non_exhaustive]
pub struct PlacedWidget {
    /// Its id.
    pub id: i64,
    /// The name of the widget.
    pub widget: String,
    /// The language of the page.
    pub language: String,
    /// The values that are set, by column.
    pub data: Map<String, Json>,
    /// The values of each item of a repeater, in order.
    pub items: Vec<Map<String, Json>>,
    pub(crate) records: Items,
    pub(crate) site: SiteRef,
}

impl PlacedWidget {
    /// Records of content tables, without limits by rights: every visitor of the page sees what
    /// you show.
    #[must_use]
    pub fn records(&self) -> &Items {
        &self.records
    }

    /// A value as text; `None`: it is not set or not text.
    #[must_use]
    pub fn text(&self, column: &str) -> Option<&str> {
        self.data.get(column)?.as_str()
    }

    /// A whole number from 1 to `most`; `otherwise` if there is none.
    #[must_use]
    pub fn amount(&self, column: &str, otherwise: u32, most: u32) -> u32 {
        let given = self.data.get(column).and_then(Json::as_f64);
        given.map_or(otherwise, |given| (given as u32).clamp(1, most))
    }
}

impl std::fmt::Debug for PlacedWidget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlacedWidget").field("id", &self.id).field("widget", &self.widget).finish()
    }
}

/// Maximum size of an icon in bytes.
pub(crate) const MAX_ICON_BYTES: u64 = 256 << 10;

/// The file `widgets/<widget>/<icon>` of a plugin, if it really lies in that folder.
pub(crate) fn find_icon(plugins: &Path, plugin: &str, widget: &str, icon: &str) -> Option<PathBuf> {
    find_within(plugins, &Path::new(plugin).join("widgets").join(widget), icon)
}

/// The component of a widget, by the same rule.
pub(crate) fn find_component(plugins: &Path, plugin: &str, widget: &str) -> Option<PathBuf> {
    find_icon(plugins, plugin, widget, "template/index.vue")
}

/// The names follow the documented list of groups, in its order. A group with names in
/// parentheses has these widgets; any other group is one widget of its own name: 6 + 11 + 1 + 2 +
/// 1 + 1 + 8 + 7 + 2 + 3 are 42. The widgets of the shop system have a prefix, because the shop
/// has a checkout too.
pub(crate) const BUILT_IN_WIDGETS: [&str; 42] = [
    "title", "html", "image", "footer_links", "social_footer", "pagebuilder_element", "spacer",
    "button", "imageButton", "imageOverlayText", "titleBanner", "titleBannerElement", "infoBoxes",
    "uspIconList", "instagramJourney", "locationMap", "jobs", "gallery", "blog", "blogpreview",
    "newsletter", "productListing", "productTeaser", "categoryBannerNoLink", "newReleasesNoLink",
    "user", "shop", "checkout", "abobutton", "calendar", "shopsystemProductListing",
    "shopsystemProductDetail", "shopsystemCart", "shopsystemCheckout", "shopsystemUserAccount",
    "shopsystemCategoryTeaser", "shopsystemSearchBar", "elasticsearch", "searchbar", "elearning",
    "exhibition", "form",
];

/// Columns that widgets of all plugins may use besides the built-in ones. A table has room for
/// twice as many, because unused columns stay.
pub(crate) const MOST_COLUMNS: usize = 500;

/// The columns that the widgets of a plugin use.
pub(crate) fn rows_of(manifest: &Manifest) -> impl Iterator<Item = &str> {
    let widgets = manifest.pagebuilder_widgets.iter();
    let entries = widgets.flat_map(|one| one.widget_menu.iter().chain(one.widget_item_menu.iter()));
    entries.map(|entry| entry.row.as_str())
}

/// The problem with a number of columns, if it is too large.
pub(super) fn too_many<'r>(rows: impl Iterator<Item = &'r str>) -> Option<String> {
    let more: BTreeSet<_> = rows.filter(|row| !WIDGET_COLUMNS.contains(row)).collect();
    let needed = more.len();
    (needed > MOST_COLUMNS).then(|| {
        format!(
            "the widgets of plugins would need {needed} columns beside those of built-in widgets, \
             and {MOST_COLUMNS} are the most: give fields that hold alike values the same row, \
             such as \"title\""
        )
    })
}

/// Refuses a plugin whose widgets use the columns `own`, if these and the columns `others` of
/// other plugins are too many.
pub(crate) fn check_rows<'r>(
    own: &BTreeSet<&'r str>,
    others: impl Iterator<Item = &'r str>,
) -> Result<()> {
    if own.is_empty() {
        return Ok(());
    }
    match too_many(others.chain(own.iter().copied())) {
        None => Ok(()),
        Some(why) => refused(&format!(
            "{why}, or take a plugin that nobody needs out of service with `cms plugins remove`"
        )),
    }
}

/// Refuses a plugin whose widgets need columns that a table has no room for. Columns that were
/// created once stay, even if unused. `others`: columns that other plugins need.
pub(crate) fn check_made(
    made: &[String],
    own: &BTreeSet<&str>,
    others: &[&str],
    most: usize,
) -> Result<()> {
    let made_once: BTreeSet<_> = made.iter().map(String::as_str).collect();
    let all: BTreeSet<_> = made_once.iter().chain(own).chain(others).copied().collect();
    // No columns are added to a table that does not exist.
    if made.is_empty() || own.is_subset(&made_once) || all.len() <= most {
        return Ok(());
    }
    refused(&format!(
        "the tables of widgets would have {} columns with those that plugins have used before, and \
         {most} are the most: give fields the rows of before, such as {:?}",
        all.len(),
        made.last().map_or("title", String::as_str)
    ))
}

fn refused(why: &str) -> Result<()> {
    Err(Error::new(Code::ValidationFailed, format!("Too many fields: {why}.")))
}

/// The `row` values of built-in widgets. Each is a nullable text column in the tables of
/// placed widgets and of their items. The menu defines how a value is written as text. Plugins
/// may add more.
pub const WIDGET_COLUMNS: [&str; 69] = [
    "title", "subtitle", "level", "align", "text", "css", "image", "alt", "link", "target",
    "width", "menu", "network", "page", "height", "mobile_height", "line", "color", "style",
    "size", "icon", "link_text", "placement", "overlay_color", "mobile_image", "image_side",
    "background_color", "per_row", "account", "date", "address", "latitude", "longitude", "zoom",
    "email", "location", "employment", "start_date", "end_date", "layout", "lightbox", "category",
    "amount", "ordering", "show_date", "form", "consent", "privacy_link", "show_filter", "product",
    "show_price", "show_orders", "allow_guests", "terms_link", "success_link", "period", "channel",
    "show_stock", "show_related", "show_vouchers", "hint", "search_index", "course",
    "show_progress", "starts_at", "ends_at", "opens", "closes", "funnel",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_room_for_so_many_columns() {
        let names: Vec<_> = (0..1000).map(|n| format!("row_{n}")).collect();
        let own = |from, to| names[from..to].iter().map(String::as_str).collect();
        let others: Vec<_> = names[80..95].iter().map(String::as_str).collect();
        let check = |from, to, most| check_made(&names[..90], &own(from, to), &others, most);
        assert!(check(80, 100, 100).is_ok(), "those that are there count once");
        let refused = check(80, 101, 100).expect_err("one more");
        assert_eq!(refused.code(), Code::ValidationFailed);
        assert!(refused.detail().contains("101 columns"), "{refused:?}");
        assert!(check(90, 91, 94).is_err(), "others need some too");
        assert!(check(0, 90, 10).is_ok(), "nothing is to be made");
        assert!(check_made(&[], &own(0, 500), &others, 100).is_ok(), "no such table");
    }
}
