//! The list of keys in docs/settings.md, made from the defaults file. `CMS_WRITE_DOCS=1` rewrites
//! it.

use std::{fmt::Write, fs};

use super::root;

const BEGIN: &str =
    "<!-- keys: `CMS_WRITE_DOCS=1 cargo test -p cms-tests all_keys` writes them -->";
const END: &str = "<!-- end of the keys -->";

/// The sections of the defaults file, each as a heading and a table.
fn tables(defaults: &str) -> String {
    let (mut page, mut comment, mut local) = (String::new(), Vec::new(), false);
    let (mut inside, mut rows) = (false, false);
    for line in defaults.lines() {
        if line.starts_with("# === ") {
            (local, inside) = (true, false);
        } else if let Some(title) = line.strip_prefix("# --- ") {
            let mut letters = title.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            let place = if local { " (`cms.local.toml`)" } else { "" };
            let title: String = first.into_iter().chain(letters).collect();
            writeln!(page, "\n### {title}{place}").unwrap();
            (inside, rows) = (true, false);
        } else if let Some(text) = line.strip_prefix("# ") {
            comment.push(text);
        } else if let Some((key, value)) = line.split_once(" = ") {
            if !std::mem::replace(&mut rows, true) {
                page.push_str("\n| key | default | meaning |\n|---|---|---|\n");
            }
            let meaning = comment.join(" ");
            assert!(!meaning.is_empty() && !meaning.contains('|'), "{key}: {meaning}");
            writeln!(page, "| `{key}` | `{value}` | {meaning} |").unwrap();
            comment.clear();
        } else {
            // What stands alone below a title is about the whole table.
            if inside && !comment.is_empty() {
                writeln!(page, "\n{}", comment.join(" ")).unwrap();
            }
            comment.clear();
        }
    }
    page
}

#[test]
fn settings_md_explains_all_keys() {
    let defaults = root().join("cms-core/src/settings/settings.default.toml");
    let expected = tables(&fs::read_to_string(defaults).unwrap());
    assert_eq!(
        expected.matches("\n| `").count(),
        cms_core::settings::Settings::load(&root().join("docs"), std::iter::empty(), &[])
            .unwrap()
            .origins
            .iter()
            .count(),
        "one row for each key"
    );
    let path = root().join("docs/settings.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the keys");
    let (found, after) = rest.split_once(END).expect("the end of the keys");
    if std::env::var_os("CMS_WRITE_DOCS").is_some() {
        return fs::write(&path, format!("{before}{BEGIN}\n{expected}\n{END}{after}")).unwrap();
    }
    for (found, expected) in found.trim().lines().zip(expected.trim().lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.trim(), expected.trim());
}
