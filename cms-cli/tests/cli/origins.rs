//! `cms origins`

use crate::support::{cms, site};

#[test]
fn an_origin_is_named_by_its_address_or_its_id() {
    let dir = site();
    let run = |args: &str| cms(dir.path(), &format!("origins {args}"));
    run("add https://one.example.org").ok();
    run("add https://two.example.org:8443").ok();
    let active = || -> Vec<bool> {
        let list = run("list --json").json();
        let rows = list["data"].as_array().expect("rows").iter();
        rows.map(|row| row["active"].as_bool().expect("a boolean")).collect()
    };
    // In every spelling that `add` takes.
    run("deactivate HTTPS://One.example.org:443").ok();
    assert_eq!(active(), [false, true]);
    run("deactivate 2").ok();
    assert_eq!(active(), [false, false]);
    run("activate https://two.example.org:8443").ok();
    assert_eq!(active(), [false, true]);
    for verb in ["activate", "deactivate", "remove"] {
        let run = |which: &str, code| {
            let yes = if verb == "remove" { "--yes" } else { "" };
            run(&format!("{verb} {which} {yes}")).fails(code)
        };
        let missing = run("https://three.example.org", 5);
        assert!(missing.err.contains("cms origins add URL"), "{missing:?}");
        run("9", 5);
        run("nonsense", 2);
    }
    run("remove https://one.example.org --yes").ok();
    assert_eq!(active(), [true]);
}
