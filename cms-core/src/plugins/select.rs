//! Columns of the type `select` accept only the fixed options of the fields that edit them.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Button, List, Manifest, manifest::FieldType};
use crate::content::TableDeclaration;

/// The tables of a plugin. A `select` column without an enum accepts the union of the fixed
/// options of its fields, unless a field takes its options from a table.
pub(crate) fn bound_tables(manifest: &Manifest) -> Vec<TableDeclaration> {
    let mut options = Options::new();
    for (_, _, list) in manifest.button_lists() {
        collect(list, manifest.first_table(), &mut options);
    }
    let mut tables = manifest.tables.clone();
    for table in &mut tables {
        let name = table.name.clone();
        let selects = table.columns.iter_mut().filter(|column| {
            column.allowed.is_none() && column.field_type.as_deref() == Some("select")
        });
        for column in selects {
            if let Some(values) = options.remove(&(name.clone(), column.name.clone())).flatten() {
                column.allowed = Some(values.into_iter().map(Json::String).collect());
            }
        }
    }
    tables
}

/// The options of each edited column, by table and column; `None`: some come from a table.
type Options = BTreeMap<(String, String), Option<Vec<String>>>;

/// Gathers the options of buttons in a list of `listed` rows.
fn collect(list: &List<Button>, listed: Option<&str>, options: &mut Options) {
    for button in list.iter() {
        let nested = button.values.as_ref().and_then(|values| values.table.as_deref());
        collect(&button.buttons, nested, options);
        let Some(table) = button.table.as_deref().or(listed) else { continue };
        for field in button.editable_rows.iter().filter(|f| f.field_type == FieldType::Select) {
            let place = (table.to_owned(), field.column.clone());
            let known = options.entry(place).or_insert_with(|| Some(Vec::new()));
            match (&field.select_options, known.as_mut()) {
                (Some(fixed), Some(known)) => known.extend(fixed.iter().map(|option| {
                    option.value.as_str().map_or_else(|| option.value.to_string(), str::to_owned)
                })),
                _ => *known = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_select_is_bound_by_its_fixed_options() {
        let field = |column: &str, options: Json| {
            let mut field = json!({"column": column, "type": "select"});
            field
                .as_object_mut()
                .expect("an object")
                .extend(options.as_object().cloned().expect("one"));
            field
        };
        let fixed = |column: &str, values: &[&str]| {
            let options: Vec<_> = values.iter().map(|v| json!({"value": v, "title": v})).collect();
            field(column, json!({"select_options": options}))
        };
        let free = |column: &str| {
            let source = json!({"table": "b", "value": "id", "title": "id"});
            field(column, json!({"select_value": source}))
        };
        let select = |name: &str| json!({"name": name, "type": "select"});
        let manifest: Manifest = serde_json::from_value(json!({
            "id": "p",
            "tables": [
                {"name": "a", "columns": [select("x"), select("y"), select("z"), {
                    "name": "e", "type": "select", "enum": ["only"],
                }]},
                {"name": "b", "columns": [select("x")]},
            ],
            "content_button": [
                {"button_id": "one", "type": "edit", "editable_rows": [
                    fixed("x", &["1", "2"]), fixed("y", &["1"]), fixed("e", &["other"]),
                ]},
                {"button_id": "two", "type": "show_module_list", "values": {"table": "b"},
                 "buttons": [
                    {"button_id": "three", "type": "edit", "editable_rows": [fixed("x", &["b"])]},
                ]},
            ],
            "action_button": [{"button_id": "add", "type": "insert", "editable_rows": [
                fixed("x", &["3"]), free("y"),
            ]}],
        }))
        .expect("a manifest");
        let bound: Vec<Vec<_>> = bound_tables(&manifest)
            .into_iter()
            .map(|table| table.columns.into_iter().map(|column| column.allowed).collect())
            .collect();
        assert_eq!(
            bound,
            [
                vec![
                    Some(vec![json!("1"), json!("2"), json!("3")]),
                    None,
                    None,
                    Some(vec![json!("only")])
                ],
                vec![Some(vec![json!("b")])]
            ]
        );
    }
}
