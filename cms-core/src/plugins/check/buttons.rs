//! Checks buttons: ids, members of each type, tables, and targets (links, modals, scripts).

use std::ffi::OsStr;

use super::{Check, names};
use crate::{
    Address,
    db::Kind,
    plugins::{
        find_script, is_script_path,
        manifest::{Button, ButtonType, ButtonValues, List, MEMBERS, Need},
    },
};

/// Where a button is placed.
#[derive(Clone, Copy)]
struct Stand<'a> {
    /// In a header, so there is no row.
    header: bool,
    /// The table whose rows the list shows.
    table: Option<&'a str>,
    /// In the list that another button opens: all its rows are of `table`.
    nested: bool,
}

impl Check<'_> {
    pub(super) fn buttons(&mut self) {
        let all = self.manifest.buttons();
        self.doubles(
            all.iter().map(|(at, button)| (format!("{at}/button_id"), button.button_id.as_str())),
            "is the id of another button",
        );
        let manifest = self.manifest;
        let table = manifest.first_table();
        for (name, header, list) in manifest.button_lists() {
            self.list(list, &format!("/{name}"), Stand { header, table, nested: false });
        }
    }

    fn list(&mut self, list: &List<Button>, at: &str, stand: Stand<'_>) {
        for (i, button) in list.iter().enumerate() {
            let at = format!("{at}/{i}");
            self.button(button, &at, stand);
            let table = button.values.as_ref().and_then(|values| values.table.as_deref());
            let stand = Stand { header: false, table, nested: true };
            self.list(&button.buttons, &format!("{at}/buttons"), stand);
        }
    }

    fn button(&mut self, button: &Button, at: &str, stand: Stand<'_>) {
        if !names::is_word(&button.button_id) || button.button_id.len() > 80 {
            let remedy = "letters, digits, _ and - are expected, such as \"edit\"";
            self.fault(format!("{at}/button_id"), remedy);
        }
        self.looks(button, at, stand);
        // If the type is unknown, so are its members.
        if !self.is_sound(&format!("{at}/type")) {
            return;
        }
        self.members(button, at);
        let kind = button.button_type;
        if matches!(kind, ButtonType::Insert | ButtonType::Modal) && !stand.header {
            let remedy = format!(
                "{} stands in a header: move it to action_button or header_buttons",
                kind.name()
            );
            self.fault(format!("{at}/type"), remedy);
        }
        let acts_on_row =
            matches!(kind, ButtonType::Edit | ButtonType::Delete | ButtonType::ShowChecklist);
        if acts_on_row && stand.header {
            let remedy = format!(
                "{} acts on a row, and a header has none: move it to content_button",
                kind.name()
            );
            self.fault(format!("{at}/type"), remedy);
        }
        match kind {
            ButtonType::Edit | ButtonType::Insert | ButtonType::Delete => {
                self.writes(button, at, stand);
            }
            ButtonType::Script => self.script(&format!("{at}/script"), button.script.as_deref()),
            ButtonType::Link => self.url(button, at),
            ButtonType::Modal => self.component(button, at),
            ButtonType::ShowModuleList | ButtonType::ShowChecklist => self.shown_table(button, at),
            // The class is checked with the handlers.
            ButtonType::ShowCustomContent => {}
        }
    }

    /// Members that all types have.
    fn looks(&mut self, button: &Button, at: &str, stand: Stand<'_>) {
        if let Some(icon) = &button.icon {
            let prefixed = ["fa-", "icon-", "glyphicon-", "mdi-"];
            if let Some(prefix) = prefixed.iter().find(|prefix| icon.starts_with(**prefix)) {
                let remedy = format!("write the name without the prefix {prefix:?}");
                self.fault(format!("{at}/icon"), remedy);
            } else if !names::is_word(icon) {
                let remedy = "the name of one icon is expected, such as \"pen\"";
                self.fault(format!("{at}/icon"), remedy);
            }
        }
        let Some(status) = &button.for_status else { return };
        let at = format!("{at}/forStatus");
        match status.number() {
            None => self.fault(&at, "a number is expected; -1 shows the button on every row"),
            Some(-1) => {}
            Some(_) if stand.header => {
                self.fault(&at, "a header has no row with a status: leave it out");
            }
            Some(_) => {
                let written = button.row_table(stand.table).filter(|_| !stand.nested);
                if let Some(table) = written.or(stand.table) {
                    self.column_exists(&at, table, "status");
                }
            }
        }
    }

    /// Members that some types must have and others must not.
    fn members(&mut self, button: &Button, at: &str) {
        let kind = button.button_type;
        let values = button.values.clone().unwrap_or_default();
        for (name, types) in MEMBERS {
            if name.starts_with("values/") && button.values.is_none() {
                continue;
            }
            match (kind.need(types), is_there(button, &values, name)) {
                (Some(Need::Required), false) => {
                    let remedy = format!("a button of the type {} needs {name}", kind.name());
                    self.fault(format!("{at}/{name}"), remedy);
                }
                (None, true) if name_fits(kind, name) => {
                    let of: Vec<_> = types.iter().map(|(kind, _)| kind.name()).collect();
                    let remedy = format!("only {} has {name}: leave it out", of.join(", "));
                    self.fault(format!("{at}/{name}"), remedy);
                }
                _ => {}
            }
        }
    }

    /// Buttons that write a record.
    fn writes(&mut self, button: &Button, at: &str, stand: Stand<'_>) {
        if let Some(named) = &button.table
            && !self.table_exists(&format!("{at}/table"), named)
        {
            return;
        }
        let Some(table) = button.table_of(stand.table) else {
            self.fault(format!("{at}/table"), "the plugin declares no table: name one");
            return;
        };
        if button.button_type != ButtonType::Delete {
            self.fields(button, at, table);
        }
        if button.multilanguage.0 {
            let Some(Some(columns)) = self.known.table(table, self.manifest) else { return };
            let has = |name: &str| columns.iter().any(|column| column.name == name);
            if !has("base_id") || !has("language_short") {
                let remedy = format!(
                    "{table} has no columns base_id and language_short: declare it with \
                     \"multilanguage\": true"
                );
                self.fault(format!("{at}/multilanguage"), remedy);
            }
        }
    }

    /// The table of a module list or a checklist.
    fn shown_table(&mut self, button: &Button, at: &str) {
        let Some(ButtonValues { table: Some(table), column, .. }) = &button.values else { return };
        let groups = table == "user_groups" && button.button_type == ButtonType::ShowChecklist;
        if groups {
            if column.as_deref().is_some_and(|column| column != "rights") {
                let remedy = "only the column rights of user_groups can be a checklist";
                self.fault(format!("{at}/values/column"), remedy);
            }
            return;
        }
        if !self.table_exists(&format!("{at}/values/table"), table) {
            return;
        }
        let Some(column) = column else { return };
        let at = format!("{at}/values/column");
        self.column_exists(&at, table, column);
        let Some(Some(columns)) = self.known.table(table, self.manifest) else { return };
        let kind = columns.iter().find(|known| known.name == *column).and_then(|known| known.kind);
        if kind.is_some_and(|kind| kind != Kind::Json) {
            self.fault(&at, format!("{column} holds no list: declare it with the type json"));
        }
    }
}

/// Whether a member may be checked on such a button. Members of `values` are checked only on types
/// that have `values`.
fn name_fits(kind: ButtonType, name: &str) -> bool {
    let values = MEMBERS.iter().find(|(name, _)| *name == "values");
    !name.starts_with("values/") || values.is_some_and(|(_, types)| kind.need(types).is_some())
}

/// Whether a button has a member of [`MEMBERS`]. An empty list does not count.
fn is_there(button: &Button, values: &ButtonValues, name: &str) -> bool {
    let filled = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    match name {
        "table" => button.table.is_some(),
        "multilanguage" => button.multilanguage.0,
        "editable_rows" => !button.editable_rows.is_empty(),
        "buttons" => !button.buttons.is_empty(),
        "component" => filled(&button.component),
        "script" => filled(&button.script),
        "url" => filled(&button.url),
        "values" => button.values.is_some(),
        "values/table" => filled(&values.table),
        "values/column" => filled(&values.column),
        "values/class" => filled(&values.class),
        _ => filled(&values.template),
    }
}

impl Check<'_> {
    pub(super) fn url(&mut self, button: &Button, at: &str) {
        let Some(url) = button.url.as_deref().filter(|url| !url.is_empty()) else { return };
        if let Some(remedy) = Address::Link.problem(url) {
            self.fault(format!("{at}/url"), remedy);
        }
    }

    pub(super) fn component(&mut self, button: &Button, at: &str) {
        let Some(component) = button.component.as_deref().filter(|c| !c.is_empty()) else { return };
        let id = &self.manifest.id;
        let mut parts = component.split('/');
        let (plugin, admin, name) = (parts.next(), parts.next(), parts.next());
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let is_slug = plugin == Some(id)
            && admin == Some("admin")
            && name.is_some_and(is_name)
            && parts.next().is_none();
        if !is_slug {
            let remedy = format!(
                "\"{id}/admin/ModalName\" is expected: no path before it, no .vue behind it"
            );
            self.fault(format!("{at}/component"), remedy);
        }
    }

    /// Checks the path of a script, and its file.
    pub(super) fn script(&mut self, at: &str, path: Option<&str>) {
        let Some(path) = path.filter(|path| !path.is_empty()) else { return };
        if !is_script_path(path) {
            let remedy = "letters, digits, _ and - are expected, slashes between folders, .php at \
                          the end, such as \"orders/export.php\"";
            self.fault(at, remedy);
            return;
        }
        let Some(folder) = &self.known.folder else { return };
        let name = folder.file_name().and_then(OsStr::to_str);
        let place = folder.parent().zip(name);
        if place.and_then(|(plugins, name)| find_script(plugins, name, path)).is_some() {
            return;
        }
        let remedy = if folder.join("script").join(path).is_file() {
            format!("script/{path} leads out of the plugin's folder: copy the file")
        } else {
            format!("there is no file script/{path} in the plugin's folder")
        };
        self.fault(at, remedy);
    }
}
