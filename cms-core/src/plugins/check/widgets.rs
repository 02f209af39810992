//! Widgets of the page builder.

use super::{Check, names};
use crate::plugins::manifest::{FieldType, MenuEntry, Widget};

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
        for (i, widget) in widgets.iter().enumerate() {
            self.widget(widget, &format!("/pagebuilder_widgets/{i}"));
        }
    }

    fn widget(&mut self, widget: &Widget, at: &str) {
        if widget.widget_title.trim().is_empty() {
            self.fault(format!("{at}/widget_title"), "text that is not empty is expected");
        }
        if !names::is_path(&widget.widget_template) {
            let remedy = "letters, digits, _ and - are expected, such as \"imageText\"";
            self.fault(format!("{at}/widget_template"), remedy);
        }
        let icon = &widget.widget_icon;
        if icon.contains("..") || icon.starts_with('/') || icon.trim().is_empty() {
            let remedy = "the name of a file is expected, such as \"widget.svg\"";
            self.fault(format!("{at}/widget_icon"), remedy);
        }
        let at = format!("{at}/widget_menu");
        if widget.widget_menu.is_empty() {
            self.fault(&at, "declare at least one field");
        }
        let rows = widget.widget_menu.iter().enumerate();
        self.doubles(
            rows.map(|(i, entry)| (format!("{at}/{i}/row"), entry.row.as_str())),
            "has a field already",
        );
        for (i, entry) in widget.widget_menu.iter().enumerate() {
            self.entry(entry, &format!("{at}/{i}"));
        }
    }

    fn entry(&mut self, entry: &MenuEntry, at: &str) {
        if !names::is_identifier(&entry.row) {
            let remedy = format!("{} are expected, such as \"title\"", names::IDENTIFIER);
            self.fault(format!("{at}/row"), remedy);
        } else if entry.row == "id" {
            self.fault(format!("{at}/row"), "id says which widget it is: choose another column");
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
