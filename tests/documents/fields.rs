//! The table of types in docs/field-types.md, made from the code. `UPDATE_GOLDEN=1` rewrites it.

use std::{fmt::Write, fs};

use cms_core::fields::{Common, FieldType};
use serde_json::Value as Json;

use super::root;

const BEGIN: &str =
    "<!-- types: `UPDATE_GOLDEN=1 cargo test -p cms-tests field_types` writes them -->";
const END: &str = "<!-- end of the types -->";

/// A row for each type: its settings without those that every field has.
fn table() -> String {
    let common = serde_json::to_value(Common::default()).unwrap();
    let mut page = "\n| type | asks for | settings, defaults |\n|---|---|---|\n".to_owned();
    for one in FieldType::ALL {
        let config = one.default_config();
        let own = |(name, value): (&String, &Json)| {
            common.get(name).is_none().then(|| format!("`{name}` {value}"))
        };
        let settings: Vec<_> = config.as_object().unwrap().iter().filter_map(own).collect();
        writeln!(page, "| `{}` | {} | {} |", one.name, one.about, settings.join(", ")).unwrap();
    }
    page.push('\n');
    page
}

#[test]
fn field_types_md_lists_all_types() {
    let path = root().join("docs/field-types.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let expected = format!("\n{}", table());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, expected, "UPDATE_GOLDEN=1 cargo test -p cms-tests field_types");
}
