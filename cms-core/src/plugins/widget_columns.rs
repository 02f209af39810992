//! The columns of placed widgets and of their items: those that built-in widgets use, and the
//! number that widgets of plugins may add.

use std::collections::BTreeSet;

use super::Manifest;
use crate::{Code, Error, Result};

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
