//! The content tables of the service itself. The `migrations` crate creates them; this file
//! declares how they are served.

mod forms;
mod media;
mod redirects;

use serde_json::Value as Json;

use super::{ColumnDeclaration, TableDeclaration};
use crate::{FieldError, Result};

/// Names in the API and in the database. They differ, so that an adopted database may have its own
/// `pages`.
const SOURCES: &[(&str, &str)] = &[
    ("pages", "cms_pages"),
    ("menu_items", "cms_menu_items"),
    ("settings", "cms_settings"),
    ("forms", "cms_forms"),
    ("media", "cms_media"),
    ("redirects", "cms_redirects"),
];

/// Names reserved for the core, including those of future tables.
pub(crate) const RESERVED: &[&str] =
    &["pages", "menu_items", "settings", "forms", "media", "redirects", "user_groups"];

/// The name of a core table in the database.
fn source_of(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// The value of [`super::Table::plugin`] for these tables.
pub(crate) const ID: &str = "core";

/// Columns of these tables that hold names and addresses.
pub(crate) const NAMES: [&str; 8] =
    ["name", "menu", "view", "url", "url_rewrite", "target", "file_name", "folder"];

/// Whether records of a table get the site's first language when they name none, although they
/// are not versions of each other.
pub(crate) fn takes_language(plugin: &str, table: &str) -> bool {
    (plugin, table) == (ID, "menu_items")
}

/// Refuses writes to a core table that callers may not make. `columns` are the columns that a
/// change names; None: the record itself is created or deleted. `is_copied`: a copied row is added.
pub(crate) fn check_caller_write<'n>(
    table: &str,
    columns: Option<impl IntoIterator<Item = &'n String>>,
    is_copied: bool,
) -> Result<()> {
    match table {
        "media" => media::check_caller_write(columns),
        // A copied row keeps the figures of its site.
        "redirects" if !is_copied => redirects::check_caller_write(columns),
        _ => Ok(()),
    }
}

/// What is wrong with a value of the right type, in a column of a core table.
pub(crate) fn problems(table: &str, column: &str, value: &Json) -> Vec<FieldError> {
    let mut problems = match table {
        "forms" => forms::problems(column, value),
        "media" => media::problems(column, value),
        "redirects" => redirects::problems(column, value),
        "menu_items" if column == "target" => target_problem(value).into_iter().collect(),
        _ => Vec::new(),
    };
    let declared = resource_column(table, column);
    problems.extend(declared.and_then(|declared| declared.length_problem(value)));
    problems
}

/// Where a link of a menu opens.
fn target_problem(value: &Json) -> Option<FieldError> {
    let message = "one of \"_self\", \"_blank\" is expected".to_owned();
    let is_known = value.as_str().is_none_or(|target| ["_self", "_blank"].contains(&target));
    (!is_known).then(|| FieldError { field: "target".to_owned(), code: "enum", message })
}

/// A column of a [`Resource`].
pub(super) fn resource_column(table: &str, column: &str) -> Option<&'static ResourceColumn> {
    let resource = RESOURCES.iter().find(|resource| resource.table == table)?;
    resource.columns.iter().find(|one| one.name == column)
}

/// A core table of plain records, declared once: its table, checks, OpenAPI document, lists and
/// forms, and its noun on the command line are made from this.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Resource {
    /// Its noun on the command line.
    pub noun: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// Its name in the API.
    pub table: &'static str,
    /// Its columns, without `id`.
    pub columns: &'static [ResourceColumn],
}

/// A column of a [`Resource`], or of other rows that people fill in.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ResourceColumn {
    /// Its name.
    pub name: &'static str,
    /// One of [`ColumnDeclaration::TYPES`].
    pub field_type: &'static str,
    /// What it means, for people.
    pub help: &'static str,
    /// A text that it may hold; empty: any.
    pub example: &'static str,
    /// A new record must have it.
    pub is_required: bool,
    /// Whether people write it; else the service does.
    pub is_written: bool,
    /// The only values that it may have; none: any.
    pub allowed: &'static [i64],
    /// Characters of a text at most, checked on every write; None: any number.
    pub max_length: Option<usize>,
}

impl ResourceColumn {
    pub(crate) const fn new(
        name: &'static str,
        field_type: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            field_type,
            help,
            example: "",
            is_required: false,
            is_written: true,
            allowed: &[],
            max_length: None,
        }
    }

    /// What is wrong with the length of a text.
    pub(crate) fn length_problem(&self, value: &Json) -> Option<FieldError> {
        let most = self.max_length?;
        let text = value.as_str().unwrap_or_default();
        let is_missing = self.is_required && text.trim().is_empty();
        (is_missing || text.chars().count() > most).then(|| FieldError {
            field: self.name.to_owned(),
            code: "range",
            message: format!("{} to {most} characters", u8::from(self.is_required)),
        })
    }
}

/// The core tables that are declared as a [`Resource`].
pub const RESOURCES: &[Resource] = &[redirects::RESOURCE];

/// The core's tables, declared in the same form as a plugin's.
pub(crate) fn tables() -> Vec<TableDeclaration> {
    let columns = |list: &[(&str, &str, Option<&str>)]| {
        let column =
            |(name, field_type, references): &(&str, &str, Option<&str>)| ColumnDeclaration {
                name: (*name).to_owned(),
                field_type: Some((*field_type).to_owned()),
                references: references.map(str::to_owned),
                ..ColumnDeclaration::default()
            };
        list.iter().map(column).collect::<Vec<_>>()
    };
    let table =
        |name: &str, multilanguage: bool, columns: Vec<ColumnDeclaration>| TableDeclaration {
            name: name.to_owned(),
            source: source_of(name).map(str::to_owned),
            multilanguage,
            columns,
            ..TableDeclaration::default()
        };
    let pages = columns(&[
        ("parent_id", "integer", Some("pages")),
        ("url_rewrite", "path", None),
        ("title", "text", None),
        ("view", "text", None),
        ("sort_order", "integer", None),
        ("published", "checkbox", None),
        ("meta_title", "text", None),
        ("meta_description", "textarea", None),
    ]);
    let menu_items = columns(&[
        ("menu", "text", None),
        ("parent_id", "integer", Some("menu_items")),
        ("title", "text", None),
        ("url", "link", None),
        ("target", "select", None),
        ("language_short", "text", None),
        ("sort_order", "integer", None),
    ]);
    let settings =
        columns(&[("name", "text", None), ("value", "json", None), ("public", "checkbox", None)]);
    let forms = columns(&[
        ("name", "text", None),
        ("title", "text", None),
        ("fields", "json", None),
        ("recipients", "json", None),
        ("thanks", "textarea", None),
        ("redirect_url", "redirect", None),
        ("min_seconds", "integer", None),
        ("retention_days", "integer", None),
        ("active", "checkbox", None),
    ]);
    let media = columns(&[
        ("path", "image", None),
        ("file_name", "text", None),
        ("media_type", "text", None),
        ("size", "integer", None),
        ("width", "integer", None),
        ("height", "integer", None),
        ("sha256", "text", None),
        ("folder", "text", None),
        ("alt", "json", None),
        ("title", "json", None),
        ("focal_x", "number", None),
        ("focal_y", "number", None),
        ("uploaded_at", "text", None),
    ]);
    let resource = |resource: &Resource| {
        let column = |column: &ResourceColumn| ColumnDeclaration {
            name: column.name.to_owned(),
            field_type: Some(column.field_type.to_owned()),
            allowed: (!column.allowed.is_empty())
                .then(|| column.allowed.iter().copied().map(Json::from).collect()),
            ..ColumnDeclaration::default()
        };
        table(resource.table, false, resource.columns.iter().map(column).collect())
    };
    let mut tables = vec![
        table("pages", true, pages),
        table("menu_items", false, menu_items),
        table("settings", false, settings),
        table("forms", false, forms),
        table("media", false, media),
    ];
    tables.extend(RESOURCES.iter().map(resource));
    tables
}
