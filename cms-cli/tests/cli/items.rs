//! `cms items`

use crate::support::{Served, cms, cms_with, site};

#[test]
fn rows_are_made_changed_and_removed() {
    let dir = site();
    let made =
        cms_with(dir.path(), "items create notes - --json", r#"{"text": "a", "data": [1]}"#).json();
    assert_eq!((&made["data"]["id"], &made["data"]["data"][0]), (&1.into(), &1.into()));
    cms_with(dir.path(), "items create notes -", r#"[{"text": "b"}, {"text": "c\td"}]"#).ok();
    assert_eq!(cms(dir.path(), "items list notes --fields id,text").ok(), "1\ta\n2\tb\n3\tc\\td\n");
    assert_eq!(
        cms(dir.path(), "items list notes --fields id --where text:in=a,b --where id:gt=1").ok(),
        "2\n"
    );
    let either = r#"{"or":[{"text":{"eq":"a"}},{"id":{"gte":3}}]}"#;
    let list = format!("items list notes --fields id --where {either}");
    assert_eq!(cms(dir.path(), &list).ok(), "1\n3\n");
    let not = r#"{"not":{"id":{"eq":3}}}"#;
    assert_eq!(cms(dir.path(), &format!("{list} --where {not}")).ok(), "1\n");
    cms(dir.path(), r#"items list notes --where {"or":[]}"#).fails(1);
    let etag = cms(dir.path(), "items get notes 1 -v").err;
    let etag = etag
        .lines()
        .find_map(|line| line.strip_prefix("ETag: "))
        .expect("an entity tag")
        .to_owned();
    let update = |text: &str| {
        cms_with(dir.path(), &format!("items update notes 1 - --if-match {etag}"), text)
    };
    assert!(update(r#"{"text": "z"}"#).ok().contains("text\tz\n"));
    update(r#"{"text": "y"}"#).fails(6);
    cms(dir.path(), "items delete notes 1 2 --yes").ok();
    assert_eq!(cms(dir.path(), "items list notes --fields id").ok(), "3\n");
}

#[test]
fn changes_carry_the_tag_of_the_row() {
    let dir = site();
    let plugin = dir.path().join("plugins/strict");
    std::fs::create_dir_all(&plugin).expect("a folder");
    let manifest = r#"{"id": "strict", "name": "Strict", "version": "1", "tables": [{
        "name": "strict", "require_if_match": true,
        "columns": [{"name": "text", "type": "text"}]}]}"#;
    std::fs::write(plugin.join("plugin.json"), manifest).expect("a file");
    let run = |args: &str| cms(dir.path(), &format!("items {args}"));
    let with = |args: &str, text| cms_with(dir.path(), &format!("items {args}"), text);
    cms(dir.path(), "init").ok();
    with("create strict -", r#"[{"text": "a"}, {"text": "b"}, {"text": "c"}]"#).ok();
    with("update strict 1 -", r#"{"text": "z"}"#).ok();
    with("update strict 9 -", r#"{"text": "z"}"#).fails(5);
    run(r#"delete strict 1 --if-match "other" --yes"#).fails(6);
    run(r#"delete strict 1 2 --if-match "other" --yes"#).fails(2);
    run("delete strict 1 2 --yes").ok();
    let seen = run("get strict 3 -v").err;
    let seen = seen.lines().find_map(|line| line.strip_prefix("ETag: ")).expect("an entity tag");
    run(&format!("delete strict 3 --if-match {seen} --yes")).ok();
    run("delete strict 3 --yes").fails(5);

    // Who may change rows without reading them has no tag to send.
    with("create notes -", r#"{"text": "a"}"#).ok();
    let right = "PATCH,DELETE /api/backend/item?table=notes";
    let key = dir.path().join("key");
    let key = key.to_str().expect("a path");
    cms(dir.path(), &format!("keys create --name k --right '{right}' --out {key}")).ok();
    let server = Served::start(dir.path(), &[]);
    let at = format!("--url {} --key-file {key}", server.url);
    with(&format!("update notes 1 - {at}"), r#"{"text": "b"}"#).ok();
    run(&format!("delete notes 1 --yes {at}")).ok();
}

#[test]
fn pages_are_followed() {
    let dir = site();
    let rows: String = (1..=1201).map(|n| format!("{n}\n")).collect();
    cms_with(dir.path(), "items import notes - --format csv --batch 500", &format!("n\n{rows}"))
        .ok();
    let all = cms(dir.path(), "items list notes --all --fields n").ok();
    assert_eq!(all, rows);
    let json = cms(dir.path(), "items list notes --all --json").json();
    assert_eq!(
        (json["data"].as_array().map(Vec::len), &json["meta"]["next"]),
        (Some(1201), &serde_json::Value::Null)
    );
    let first = cms(dir.path(), "items list notes --limit 2 --json").json();
    let cursor = first["meta"]["next"].as_str().expect("a cursor").to_owned();
    assert_eq!(
        cms(dir.path(), &format!("items list notes --limit 2 --cursor {cursor} --fields n")).ok(),
        "3\n4\n"
    );
}

#[test]
fn what_is_exported_can_be_imported() {
    let (dir, copy) = (site(), site());
    let rows = [
        r#"{"text":"a, \"b\"\nc","n":-5,"data":{"k":[1,null,"x"]},"done":true,"price":12.5}"#,
        r#"{"text":"","n":9007199254740993,"data":"text","done":false,"price":0}"#,
        r#"{"text":null,"n":null,"data":null,"done":null,"price":null}"#,
        r#"{"text":" {\"no\":1} ","n":0,"data":17,"done":null,"price":null}"#,
        r#"{"text":"[1]","n":0,"data":"[1]","done":null,"price":null}"#,
        r#"{"text":"\"\"","n":0,"data":false,"done":null,"price":null}"#,
        r#"{"text":"null","n":0,"data":[],"done":null,"price":null}"#,
    ];
    cms_with(dir.path(), "items import notes - --format jsonl", &rows.join("\n")).ok();
    for format in ["csv", "jsonl"] {
        let file = copy.path().join(format!("notes.{format}"));
        let name = file.to_str().expect("a path");
        let exported = cms(dir.path(), &format!("items export notes --out {name} --json")).json();
        assert_eq!(exported["data"]["rows"], rows.len());
        cms(copy.path(), &format!("items import notes {name}")).ok();
        let rows = |dir| cms(dir, "items export notes --format jsonl").ok();
        assert_eq!(rows(dir.path()), rows(copy.path()), "{format}");
        cms(copy.path(), "items delete notes --yes 1 2 3 4 5 6 7").ok();
    }
}

#[test]
fn one_column_is_exported_with_its_nulls() {
    let (dir, copy) = (site(), site());
    let rows = ["null", "\"\"", "\",\"", "\"\u{fdd0}\"", "\"\u{fdd0}\u{fdd0}a\"", "null"];
    let rows: String = rows.map(|text| format!("{{\"text\":{text}}}\n")).concat();
    cms_with(dir.path(), "items import notes - --format jsonl", &rows).ok();
    let table = cms(dir.path(), "items export notes --fields text").ok();
    assert!(table.starts_with("text\n,\n\"\"\n"), "{table}");
    cms_with(copy.path(), "items import notes - --format csv", &table).ok();
    let found = cms(copy.path(), "items export notes --fields text --format jsonl").ok();
    assert_eq!(found, rows);
    // Blank lines are no rows.
    cms_with(copy.path(), "items import notes - --format csv", "text\n\nx\n\n").ok();
    let count = cms(copy.path(), "items list notes --fields id --all").ok().lines().count();
    assert_eq!(count, 7);
}

#[test]
fn a_broken_row_is_named_by_its_line() {
    let dir = site();
    let import = |text: &str, args: &str| {
        cms_with(dir.path(), &format!("items import notes - --format {args}"), text)
    };
    let count = || cms(dir.path(), "items list notes --all --fields id").ok().lines().count();
    // The second row spans two lines.
    import("text,n\n\"a\nb\",1\nc,x\n", "csv")
        .fails(1)
        .tells("standard input:4: ")
        .tells("whole number");
    assert_eq!(count(), 0, "nothing of the batch");
    let run = import("text,n\na,1\nb,2\nc,x\n", "csv --batch 2").fails(8);
    assert!(
        run.err.contains("standard input:4: ") && run.err.contains("2 rows were written"),
        "{run:?}"
    );
    assert_eq!(count(), 2);
    // The message says how to go on, and so it goes on.
    assert!(run.err.contains("--from-line 4"), "{run:?}");
    let mended = "text,n\na,1\nb,2\nc,3\nd,4\n";
    import(mended, "csv --batch 2 --from-line 4").ok();
    assert_eq!(count(), 4);
    // A broken row is skipped by going on behind it.
    import("text,n\na\nb,x,y\ne,5\n", "csv --from-line 4").ok();
    assert_eq!(count(), 5);
    // Rows before a broken one in its batch are not written: it goes on with the first of them.
    import("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\n", "jsonl --batch 2")
        .fails(8)
        .tells(":4: ")
        .tells("--from-line 3");
    assert_eq!(count(), 7);
    // Lines are counted as editors count them.
    let ends = "text,n\r\na,1\r\n\r\n\"b\r\nb\",2\r\n\nc,x\r\n";
    import(ends, "csv --batch 1").fails(8).tells("standard input:7: ").tells("--from-line 7");
    import(&ends.replace("c,x", "c,3"), "csv --from-line 7").ok();
    assert_eq!(count(), 10);
    for (text, line) in [
        ("text,n\na\n", ":2: 1 cell, but"),
        ("text,data\na,[1]\n\nb,\"{\"\"k\"\": 1\"\n", ":4: data: not JSON: "),
        ("text,\na,b\n", ":1: the first line"),
        ("text,nn\na,1\n", ":2: "),
        ("text,n\na,1\nb,\"2\nc,3\n", ":3: the quote that opens on line 3 is never closed"),
        ("text,n\n\",2\n", ":2: the quote that opens on line 2"),
        ("\"text,n\na,1\n", ":1: the quote that opens on line 1"),
        ("text,n,text\na,1,b\n", ":1: the first line names \"text\" twice"),
        ("text\n\"\",\n", ":2: 2 cells, but the first line names 1 column"),
    ] {
        let run = import(text, "csv").fails(1);
        assert!(run.err.contains(line), "{text:?}: {run:?}");
    }
    // Rows behind an open quote cannot be gone on with.
    import("text,n\n\"a,1\nb,2\n", "csv --from-line 3").fails(1).tells("opens on line 2");
    // What only the service refuses is named by its line too.
    for (row, why) in [
        (r#"{"text":"\ud800"}"#, "not JSON: "),
        (r#"{"n":1e999}"#, "not JSON: "),
        (r#"{"price":1234567890.123456789}"#, "send it as text"),
        (r#"{"text":"\u0000"}"#, "U+0000"),
    ] {
        let rows = format!("{{\"text\":\"1234567890.123456789\"}}\n\n{row}\n{{\"n\":2}}\n");
        import(&rows, "jsonl").fails(1).tells("standard input:3: ").tells(why);
    }
    let run = import("{\"n\":1}\n\n{\"n\":\n", "jsonl --json").fails(1);
    let document: serde_json::Value = serde_json::from_str(&run.err).expect("JSON");
    assert_eq!((&document["line"], &document["written"]), (&3.into(), &0.into()));
    assert!(import("[1]\n", "jsonl").fails(1).err.contains(":1: each line must hold"));
    cms_with(dir.path(), "items import notes -", "").fails(2);
    import("n\n1\n", "csv --batch 1001").fails(2);
    assert_eq!(count(), 10);
    // Other cells that are no JSON are text.
    import("text,data\nplain,some words\n", "csv").ok();
    assert!(cms(dir.path(), "items list notes --all --fields data").ok().contains("some words"));
}

#[test]
fn batches_are_cut_by_bytes_too() {
    let dir = site();
    let rows: String =
        (0..30).map(|_| format!("{{\"text\":\"{}\"}}\n", "x".repeat(100_000))).collect();
    let run = cms_with(dir.path(), "items import notes - --format jsonl --json", &rows).json();
    assert_eq!(run["data"]["rows"], 30);
}

#[test]
fn an_import_without_events_is_for_administrators() {
    let dir = site();
    let import = |at: &str| {
        let line = format!("items import notes - --format csv --no-events {at}");
        cms_with(dir.path(), &line, "n\n1\n2\n")
    };
    let events = || cms(dir.path(), "events tail --no-follow --since 1h").ok();
    let before = events();
    import("").ok();
    assert_eq!(events(), before);
    cms(dir.path(), "audit list --table notes").shows("\tno_events\tnotes\t*\t");

    let key = dir.path().join("key");
    let key = key.to_str().expect("a path");
    let right = "POST /api/backend/item?table=notes";
    cms(dir.path(), &format!("keys create --name k --right '{right}' --out {key}")).ok();
    let server = Served::start(dir.path(), &[]);
    let run = import(&format!("--url {} --key-file {key}", server.url)).fails(4);
    assert!(run.err.contains("administrators") && run.err.contains("0 rows were written"));
}
