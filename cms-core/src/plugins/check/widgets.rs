//! Checks widgets of the page builder.

use std::{ffi::OsStr, path::PathBuf};

use super::{Check, names};
use crate::plugins::{
    manifest::{FieldType, List, MenuEntry, WidgetDeclaration},
    widgets::{BUILT_IN_WIDGETS, MAX_ICON_BYTES, find_icon, rows_of, too_many},
};

/// Maximum number of fields of a menu.
const MOST: usize = 100;

/// Columns of placed widgets and of their items that hold their identity and their place.
const TAKEN: [&str; 14] = [
    "id", "page_id", "row_id", "col_id", "widget_id", "widget", "position", "items", "sort_order",
    "base_id", "language_short", "rev", "created_at", "updated_at",
];

impl Check<'_> {
    pub(super) fn widgets(&mut self) {
        let widgets = &self.manifest.pagebuilder_widgets;
        let names = widgets.iter().enumerate();
        self.doubles(
            names.map(|(i, widget)| {
                let at = format!("/pagebuilder_widgets/{i}/widget_template");
                (at, widget.widget_template.as_str())
            }),
            "is the template of another widget",
        );
        if let Some(why) = too_many(rows_of(self.manifest)) {
            self.fault("/pagebuilder_widgets", why);
        }
        for (i, widget) in widgets.iter().enumerate() {
            let at = format!("/pagebuilder_widgets/{i}");
            self.widget(widget, &at);
            let name = &widget.widget_template;
            if BUILT_IN_WIDGETS.contains(&name.as_str()) {
                let remedy = format!(
                    "{name:?} is a widget of the service: choose another name, such as {:?}",
                    format!("{}_{name}", self.manifest.id)
                );
                self.fault(format!("{at}/widget_template"), remedy);
            }
        }
    }

    pub(super) fn widget(&mut self, widget: &WidgetDeclaration, at: &str) {
        if widget.widget_title.trim().is_empty() {
            self.fault(format!("{at}/widget_title"), "text that is not empty is expected");
        }
        if !names::is_path(&widget.widget_template) {
            let remedy = "letters, digits, _ and - are expected, such as \"imageText\"";
            self.fault(format!("{at}/widget_template"), remedy);
        }
        if !names::is_icon(&widget.widget_icon) {
            let remedy = "the name of a file is expected, such as \"widget.svg\": SVG, PNG, JPEG \
                          or WebP";
            self.fault(format!("{at}/widget_icon"), remedy);
        } else {
            self.icon_file(widget, &format!("{at}/widget_icon"));
        }
        self.menu(&widget.widget_menu, &format!("{at}/widget_menu"));
        self.menu(&widget.widget_item_menu, &format!("{at}/widget_item_menu"));
    }

    /// Checks that the icon is in the folder of its widget.
    fn icon_file(&mut self, widget: &WidgetDeclaration, at: &str) {
        let Some(folder) = &self.known.folder else { return };
        let name = folder.file_name().and_then(OsStr::to_str);
        let Some((plugins, name)) = folder.parent().zip(name) else { return };
        let WidgetDeclaration { widget_template: template, widget_icon: icon, .. } = widget;
        if !names::is_path(template) {
            return;
        }
        let path = format!("widgets/{template}/{icon}");
        let size = |file: PathBuf| file.metadata().map_or(0, |found| found.len());
        let remedy = match find_icon(plugins, name, template, icon).map(size) {
            Some(size) if size <= MAX_ICON_BYTES => return,
            Some(size) => format!("{path} has {size} bytes: an icon has at most {MAX_ICON_BYTES}"),
            None if folder.join(&path).is_file() => {
                format!("{path} leads out of the widget's folder: copy the file")
            }
            None => format!("there is no file {path} in the plugin's folder"),
        };
        self.fault(at, remedy);
    }

    fn menu(&mut self, menu: &List<MenuEntry>, at: &str) {
        if menu.len() > MOST {
            self.fault(at, format!("{} fields are more than a form can have ({MOST})", menu.len()));
        }
        let rows = menu.iter().enumerate();
        self.doubles(
            rows.map(|(i, entry)| (format!("{at}/{i}/row"), entry.row.as_str())),
            "has a field already",
        );
        for (i, entry) in menu.iter().enumerate() {
            self.entry(entry, &format!("{at}/{i}"));
        }
    }

    fn entry(&mut self, entry: &MenuEntry, at: &str) {
        if !names::is_identifier(&entry.row) {
            let remedy = format!("{} are expected, such as \"title\"", names::IDENTIFIER);
            self.fault(format!("{at}/row"), remedy);
        } else if TAKEN.contains(&entry.row.as_str()) {
            let remedy = format!(
                "{} says which widget it is or where it stands: choose another column",
                entry.row
            );
            self.fault(format!("{at}/row"), remedy);
        } else if names::SYSTEM.contains(&entry.row.as_str()) {
            let remedy = format!("{} is a column of PostgreSQL itself: choose another", entry.row);
            self.fault(format!("{at}/row"), remedy);
        }
        let members =
            [("options", entry.options.is_some()), ("select_value", entry.select_value.is_some())];
        let given: Vec<_> = members.iter().filter(|(_, is_there)| *is_there).collect();
        match (entry.field_type == FieldType::Select, given.as_slice()) {
            (false, [(member, _), ..]) => {
                let remedy = format!("only a select has {member}: leave it out");
                self.fault(format!("{at}/{member}"), remedy);
            }
            (true, []) => {
                self.fault(format!("{at}/options"), "a select needs options or select_value");
            }
            (true, [_, _]) => {
                let remedy = "options are given twice: remove options or select_value";
                self.fault(format!("{at}/options"), remedy);
            }
            _ => {}
        }
        if let Some(options) = &entry.options {
            let at = format!("{at}/options");
            if options.is_empty() {
                self.fault(&at, "list at least one option");
            }
            for (i, option) in options.iter().enumerate() {
                if options[..i].iter().any(|other| other.id == option.id) {
                    self.fault(format!("{at}/{i}/id"), format!("{} is listed twice", option.id));
                }
            }
        }
        let Some(source) = &entry.select_value else { return };
        let at = format!("{at}/select_value");
        match (&source.table, &source.value, &source.title, &source.options) {
            (Some(table), Some(value), Some(title), None) => self.source(&at, table, value, title),
            (None, None, None, Some(options)) => self.fixed(options, None, &at),
            _ => self.fault(&at, "either table, value and title are expected, or options"),
        }
    }
}
