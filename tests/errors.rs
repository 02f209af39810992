//! The documentation names exactly the codes there are, with their statuses.

use cms_core::Code;

#[test]
fn the_documentation_lists_every_code() {
    let text = include_str!("../docs/errors.md");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let documented: Vec<(String, u16)> = rows
        .map(|row| {
            let mut cells = row.split('|').map(str::trim).skip(1);
            let code = cells.next().unwrap().trim_matches('`').to_owned();
            (code, cells.next().unwrap().parse().expect("a status"))
        })
        .collect();
    let actual: Vec<_> = Code::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), cms_http::status_of(*code).as_u16()))
        .collect();
    assert_eq!(documented, actual);
}
