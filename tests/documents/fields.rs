//! The tables of types in docs/field-types.md, which `CMS_WRITE_DOCS=1` writes from the code.

use std::{fmt::Write, fs};

use cms_core::fields::{Common, FieldType};
use serde_json::Value as Json;

use super::root;

/// The lines before and after each table, and what makes the table.
type Part = (&'static str, &'static str, fn() -> String);
const TABLES: [Part; 2] = [
    (
        "<!-- types: `CMS_WRITE_DOCS=1 cargo test -p cms-tests field_types` writes them -->",
        "<!-- end of the types -->",
        settings,
    ),
    ("<!-- answers: written with the types -->", "<!-- end of the answers -->", answers),
];

/// A row for each type: its settings without those that every field has.
fn settings() -> String {
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
    page
}

/// A row for each type: its answer.
fn answers() -> String {
    let mut page = "\n| type | an answer is | such as |\n|---|---|---|\n".to_owned();
    for FieldType { name, answer, example, .. } in FieldType::ALL {
        writeln!(page, "| `{name}` | {answer} | `{example}` |").unwrap();
    }
    page
}

#[test]
fn field_types_md_lists_all_types() {
    let path = root().join("docs/field-types.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut expected = page.clone();
    for (begin, end, table) in TABLES {
        let (before, rest) = expected.split_once(begin).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        expected = format!("{before}{begin}\n{}\n{end}{after}", table());
    }
    if std::env::var_os("CMS_WRITE_DOCS").is_some() {
        fs::write(&path, expected).unwrap();
        return;
    }
    assert_eq!(page, expected, "CMS_WRITE_DOCS=1 cargo test -p cms-tests field_types");
}
