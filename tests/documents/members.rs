//! The tables of members in docs/plugins.md and docs/tasks.md, compared with the JSON Schema.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::{Value as Json, json};

use super::root;

const HEAD: &str = "| member | type | default | meaning |";

/// The definition of each table of docs/plugins.md, in their order there.
#[rustfmt::skip]
const DEFINITIONS: [&str; 12] = [
    "", "TableDeclaration", "ColumnDeclaration", "Button", "Field", "SelectOption", "SelectSource",
    "Widget", "MenuEntry", "EndpointDeclaration", "EventDeclaration", "TaskDeclaration",
];

/// What elements of lists are called.
const NAMES: [(&str, &str); 11] = [
    ("Button", "buttons"),
    ("ColumnDeclaration", "columns"),
    ("EndpointDeclaration", "endpoints"),
    ("EventDeclaration", "events"),
    ("Field", "fields"),
    ("MenuChoice", "options"),
    ("MenuEntry", "fields"),
    ("SelectOption", "options"),
    ("TableDeclaration", "tables"),
    ("TaskDeclaration", "tasks"),
    ("Widget", "widgets"),
];

/// Type, default and meaning of a member.
type Told = (String, String, String);

/// The members of each table, as the page tells them.
fn tables(page: &str) -> Vec<BTreeMap<String, Told>> {
    let mut tables = Vec::new();
    let mut lines = page.lines();
    while lines.any(|line| line == HEAD) {
        let rows = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
        let row = |line: &str| {
            let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let name = cells[0].trim_matches('`').to_owned();
            (name, (cells[1].to_owned(), cells[2].to_owned(), cells[3].to_owned()))
        };
        tables.push(rows.map(row).collect());
    }
    tables
}

/// The definition that a schema refers to, with its name.
fn definition<'s>(root: &'s Json, schema: &'s Json) -> (&'s str, &'s Json) {
    match schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        Some(name) => (name, &root["$defs"][name]),
        None => ("", schema),
    }
}

/// The only values that a schema allows.
fn values(schema: &Json) -> Option<Vec<&Json>> {
    let list = |name: &str| schema[name].as_array().map(|list| list.iter().collect::<Vec<_>>());
    let consts = || list("oneOf")?.into_iter().map(|one| one.get("const")).collect();
    list("enum").or_else(consts)
}

/// What the page should say of a type. Text that holds JSON is told of before the tables.
fn told_type(root: &Json, schema: &Json) -> String {
    let (_, schema) = definition(root, schema);
    if let Some(values) = values(schema) {
        let words = values.iter().all(|value| value.is_string());
        let told = values.iter().map(|value| match value.as_str().filter(|_| words) {
            Some(word) => format!("`{word}`"),
            None => format!("`{value}`"),
        });
        return told.collect::<Vec<_>>().join(", ");
    }
    if let Some(parts) = schema["anyOf"].as_array() {
        let own = |part: &&Json| part["type"] != "null" && part.get("contentSchema").is_none();
        let told: Vec<_> = parts.iter().filter(own).map(|part| told_type(root, part)).collect();
        return told.join(" or ");
    }
    let names = match &schema["type"] {
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        name => name.as_str().into_iter().collect::<Vec<_>>(),
    };
    let word = |name: &str| match name {
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => format!("list of {}", told_elements(root, &schema["items"])),
        other => other.to_owned(),
    };
    let words: Vec<_> = names.into_iter().filter(|name| *name != "null").map(word).collect();
    if words.is_empty() { "any".to_owned() } else { words.join(", ") }
}

fn told_elements(root: &Json, items: &Json) -> String {
    let alone = items["anyOf"].as_array().map_or(items, |parts| &parts[0]);
    let (name, _) = definition(root, alone);
    match NAMES.iter().find(|(known, _)| *known == name) {
        Some((_, word)) => (*word).to_owned(),
        None if *items == json!(true) => "values".to_owned(),
        None => told_type(root, items),
    }
}

/// What the page should say of a default; nothing of those that are empty.
fn default(schema: &Json, name: &str, member: &Json) -> String {
    let required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
    let is_empty = |value: &Json| {
        value.is_null() || *value == json!("") || value.as_array().is_some_and(Vec::is_empty)
    };
    match member.get("default").filter(|value| !is_empty(value)) {
        _ if required => "required".to_owned(),
        Some(value) => format!("`{value}`"),
        None => String::new(),
    }
}

#[test]
fn plugins_md_explains_all_members() {
    let whole = serde_json::to_value(cms_core::plugins::schema()).unwrap();
    let page = fs::read_to_string(root().join("docs/plugins.md")).unwrap();
    let tables = tables(&page);
    assert_eq!(tables.len(), DEFINITIONS.len(), "a table for each definition");
    for (name, told) in DEFINITIONS.iter().zip(&tables) {
        let schema = if name.is_empty() { &whole } else { &whole["$defs"][name] };
        let members = schema["properties"].as_object().unwrap_or_else(|| panic!("{name}"));
        let known: Vec<_> = told.keys().collect();
        let expected: BTreeMap<_, _> = members.iter().collect();
        assert_eq!(known, expected.keys().copied().collect::<Vec<_>>(), "{name}: members");
        for (member, (kind, shown, meaning)) in told {
            let at = format!("{name}.{member}");
            if *kind == "one of the types below" {
                column_types(&whole, &page, &members[member]);
            } else {
                assert_eq!(*kind, told_type(&whole, &members[member]), "{at}: type");
            }
            assert_eq!(*shown, default(schema, member, &members[member]), "{at}: default");
            let text = members[member]["description"].as_str().unwrap_or_default();
            let text = text.replace('\n', " ");
            assert!(!meaning.is_empty(), "{at}: no meaning");
            assert!(text.contains(meaning.as_str()), "{at}: {meaning:?} is not in {text:?}");
        }
    }
}

/// The types of columns: those of fields, and some more that a sentence names.
fn column_types(root: &Json, page: &str, schema: &Json) {
    let of_fields = values(&root["$defs"]["FieldType"]).unwrap();
    let names = |list: Vec<&Json>| -> BTreeSet<String> {
        list.iter().filter_map(|one| one.as_str()).map(str::to_owned).collect()
    };
    let of_fields = names(of_fields);
    let sentence = "The types of columns are the types of fields below, and ";
    let (_, rest) = page.split_once(sentence).expect("the sentence");
    let more = rest.split_once('.').unwrap().0.split(',');
    let more = more.map(|one| one.trim().trim_matches('`'));
    let told: BTreeSet<_> = of_fields.into_iter().chain(more.map(str::to_owned)).collect();
    let (_, schema) = definition(root, schema);
    assert_eq!(told, names(values(schema).unwrap()));
}

/// docs/tasks.md tells the members of tasks in other words.
#[test]
fn tasks_md_names_all_members() {
    let schema = serde_json::to_value(cms_core::plugins::schema()).unwrap();
    let page = fs::read_to_string(root().join("docs/tasks.md")).unwrap();
    for member in schema["$defs"]["TaskDeclaration"]["properties"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("| `{member}` |")), "{member}");
    }
}
