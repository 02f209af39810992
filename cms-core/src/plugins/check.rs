//! Checks of a manifest. Each problem has a pointer and a remedy.

use super::{EventDeclaration, Manifest, Problem};
use crate::{
    access::AREAS,
    content::{ColumnDeclaration, TableDeclaration, core},
};

impl Manifest {
    /// All problems, with JSON pointers (RFC 6901).
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !is_identifier(&self.id) {
            let remedy = "lower-case letters, digits and _ are expected, such as \"shop\"";
            problems.push(Problem::new("/id", remedy));
        }
        if is_built_in(&self.id) {
            let remedy = format!("{:?} is a part of the service: choose another id", self.id);
            problems.push(Problem::new("/id", remedy));
        }
        for (i, table) in self.tables.iter().enumerate() {
            let at = format!("/tables/{i}");
            if self.tables[..i].iter().any(|other| other.name == table.name) {
                let remedy = format!("{:?} is declared twice", table.name);
                problems.push(Problem::new(format!("{at}/name"), remedy));
            }
            check_table(table, &at, &mut problems);
        }
        for (i, event) in self.webhook_events.iter().enumerate() {
            if !is_event_name(event) {
                let remedy = format!(
                    "letters, digits, `.`, `_` and `-` are expected, such as \"{}.paid\"; \
                     names that begin with item. are the service's own",
                    self.id
                );
                problems.push(Problem::new(format!("/webhook_events/{i}/name"), remedy));
            }
        }
        self.check_buttons(&mut problems);
        problems
    }

    fn check_buttons(&self, problems: &mut Vec<Problem>) {
        let buttons = self.buttons();
        for (i, (at, button)) in buttons.iter().enumerate() {
            let id = &button.button_id;
            let at = format!("{at}/button_id");
            if id.is_empty() || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                let remedy = "letters, digits and _ are expected, such as \"edit\"";
                problems.push(Problem::new(at, remedy));
            } else if buttons[..i].iter().any(|(_, other)| other.button_id == *id) {
                problems.push(Problem::new(at, format!("{id:?} is the id of another button")));
            }
        }
    }
}

/// Whether the service itself has an area, or content tables, of this id.
fn is_built_in(id: &str) -> bool {
    let belongs = |area: &&str| area.split_once('_').is_some_and(|(owner, _)| owner == id);
    id == core::ID || AREAS.iter().any(belongs)
}

fn is_event_name(event: &EventDeclaration) -> bool {
    let name = event.name.as_str();
    (1..=200).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && !name.starts_with("item.")
}

fn check_table(table: &TableDeclaration, at: &str, problems: &mut Vec<Problem>) {
    let mut add = |member: &str, remedy: &str| {
        problems.push(Problem::new(format!("{at}/{member}"), remedy));
    };
    if table.adopt {
        // SQLite ignores the case of table names.
        let source = table.source.as_deref().unwrap_or(&table.name).to_ascii_lowercase();
        if table.name.is_empty() || source.starts_with("cms_") {
            add("name", "a table of the service itself cannot be adopted");
        }
    } else {
        let reserved = ["cms_", "sqlite_", "pg_"];
        if !is_identifier(&table.name) || reserved.iter().any(|r| table.name.starts_with(r)) {
            let remedy = "lower-case letters, digits and _ are expected, not starting with \
                          cms_, sqlite_ or pg_";
            add("name", remedy);
        }
        if table.source.is_some() {
            add("source", "only adopted tables have a source");
        }
        if table.columns.is_empty() {
            add("columns", "declare at least one column");
        }
    }
    for (i, column) in table.columns.iter().enumerate() {
        let at = format!("{at}/columns/{i}");
        if table.columns[..i].iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            let remedy = format!("{:?} is declared twice", column.name);
            problems.push(Problem::new(format!("{at}/name"), remedy));
        }
        check_column(column, &at, table.adopt, problems);
    }
}

fn check_column(column: &ColumnDeclaration, at: &str, adopted: bool, problems: &mut Vec<Problem>) {
    let mut add = |member: &str, remedy: String| {
        problems.push(Problem::new(format!("{at}/{member}"), remedy));
    };
    if !adopted && !is_identifier(&column.name) {
        add("name", "lower-case letters, digits and _ are expected".to_owned());
    }
    if !adopted && ["id", "base_id", "language_short"].contains(&column.name.as_str()) {
        add("name", format!("{} is made by the service: leave it out", column.name));
    }
    let types = ColumnDeclaration::TYPES.iter().map(|(name, _)| *name);
    let types = types.collect::<Vec<_>>().join(", ");
    match (&column.field_type, column.kind()) {
        (Some(given), None) => add("type", format!("{given:?} is unknown; the types are {types}")),
        (None, _) if !adopted => add("type", format!("a type is missing; the types are {types}")),
        _ => {}
    }
    let is_compound = |v: &serde_json::Value| v.is_array() || v.is_object();
    if column.default.as_ref().is_some_and(is_compound)
        && column.field_type.as_deref() != Some("json")
    {
        add("default", "a single value is expected".to_owned());
    }
}

fn is_identifier(name: &str) -> bool {
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    starts
        && name.len() <= 60
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_built_in_areas_are_reserved() {
        let faulty = |id: &str| {
            let manifest: Manifest =
                serde_json::from_value(serde_json::json!({"id": id})).expect("manifest");
            manifest.problems().iter().any(|problem| problem.pointer == "/id")
        };
        for id in ["core", "formfunnel", "webhooks", "keys", "pages", "media", "forms", "settings"]
        {
            assert!(faulty(id), "{id}");
        }
        for id in ["shop", "pages_shop", "key", "webhook"] {
            assert!(!faulty(id), "{id}");
        }
    }

    #[test]
    fn every_problem_has_its_pointer() {
        let manifest: Manifest = serde_json::from_str(
            r#"{"id": "Shop", "tables": [
                {"name": "cms_x", "columns": []},
                {"name": "a", "source": "b",
                 "columns": [{"name": "id", "type": "integer"}, {"name": "x", "type": "string"},
                             {"name": "x"}]},
                {"name": "a", "columns": [{"name": "p", "type": "text", "default": [1]}]}
            ],
            "content_button": [{"button_id": "a", "type": "edit",
                                "buttons": [{"button_id": "a", "type": "link"}]}],
            "header_buttons": "[{\"button_id\": \"\", \"type\": \"link\"}]",
            "webhookEvents": ["{\"name\": \"shop.paid\", \"type\": \"manual\"}",
                              {"name": "item.x"}]}"#,
        )
        .expect("manifest");
        let pointers: Vec<_> =
            manifest.problems().into_iter().map(|problem| problem.pointer).collect();
        assert_eq!(
            pointers,
            [
                "/id",
                "/tables/0/name",
                "/tables/0/columns",
                "/tables/1/source",
                "/tables/1/columns/0/name",
                "/tables/1/columns/1/type",
                "/tables/1/columns/2/name",
                "/tables/1/columns/2/type",
                "/tables/2/name",
                "/tables/2/columns/0/default",
                "/webhook_events/1/name",
                "/content_button/0/buttons/0/button_id",
                "/header_buttons/0/button_id"
            ]
        );
    }
}
