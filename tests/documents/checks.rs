//! The table of checks in docs/doctor.md, compared with the registry. `CMS_WRITE_DOCS=1` writes it.

use cms_core::CHECKS;

use super::is_table;

const HEAD: &str = "| check | place | ok when |\n|---|---|---|\n";

#[test]
fn the_table_of_checks_is_the_registry() {
    let rows = CHECKS.iter().map(|check| {
        let place = format!("{:?}", check.place).to_lowercase();
        format!("| `{}` | {place} | {} |\n", check.id, check.asks.trim())
    });
    is_table("docs/doctor.md", HEAD, &rows.collect::<String>());
}
