//! The table of checks in docs/doctor.md, compared with the registry. `CMS_WRITE_DOCS=1` writes it.

use std::fs;

use cms_core::CHECKS;

use super::root;

const HEAD: &str = "| check | place | ok when |\n|---|---|---|\n";

#[test]
fn the_table_of_checks_is_the_registry() {
    let path = root().join("docs/doctor.md");
    let page = fs::read_to_string(&path).unwrap();
    let begin = page.find(HEAD).expect("the table");
    let end = begin + page[begin..].find("\n\n").expect("an end") + 1;
    let rows = CHECKS.iter().map(|check| {
        let place = format!("{:?}", check.place).to_lowercase();
        format!("| `{}` | {place} | {} |\n", check.id, check.asks.trim())
    });
    let table = HEAD.to_owned() + &rows.collect::<String>();
    if std::env::var_os("CMS_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).unwrap();
    } else {
        assert_eq!(page[begin..end], table, "CMS_WRITE_DOCS=1 writes it");
    }
}
