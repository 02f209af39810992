//! Manifests with one fault each: every one is refused with pointer, line and remedy.
//!
//! `CMS_TEST_MANIFESTS=FOLDER` writes them out for `.ci/manifests`, where an outside validator
//! compares them with the JSON Schema.

mod valid;

use std::{fs, path::Path};

use cms_core::plugins::{check_folder, schema};
use serde_json::{Value as Json, json};

pub(crate) const BASE: &str = include_str!("base.json");

/// A fault of a manifest.
struct Fault {
    /// A part of `base.json` that stands there once.
    was: String,
    /// What stands in its place.
    is: String,
    pointer: &'static str,
    /// A part of the remedy.
    remedy: &'static str,
    /// Lines between the beginning of the part and the place of the problem.
    below: isize,
    /// Whether the JSON Schema refuses it too.
    schema: bool,
}

/// The faults of `faults.txt`, which says how they are written.
fn faults() -> Vec<Fault> {
    let text = |part: &str| part.replace('⏎', "\n");
    let (mut was, mut faults) = ("", Vec::new());
    for line in include_str!("faults.txt").lines() {
        if let Some(part) = line.strip_prefix("= ") {
            was = part;
        } else if !line.is_empty() && !line.starts_with('#') {
            let mut cells = line.splitn(4, " |");
            let mut cell = || {
                let cell = cells.next().expect(line);
                cell.strip_prefix(' ').unwrap_or(cell)
            };
            let (by, pointer, remedy, is) = (cell(), cell(), cell(), cell());
            let (by, below) = by.split_once(' ').unwrap_or((by, "0"));
            assert!(["schema", "check"].contains(&by), "{line}");
            let (was, is, below) = (text(was), text(is), below.parse().expect(line));
            faults.push(Fault { was, is, pointer, remedy, below, schema: by == "schema" });
        }
    }
    faults
}

/// A plugin's folder with the scripts and icons that the manifests name.
fn folder(root: &Path, text: &str) -> std::path::PathBuf {
    let folder = root.join("blog");
    fs::create_dir_all(folder.join("script/posts")).unwrap();
    for script in ["tidy.php", "posts/export.php"] {
        fs::write(folder.join("script").join(script), "<?php").unwrap();
    }
    for icon in ["posts/posts.svg", "w/w.svg"] {
        let icon = folder.join("widgets").join(icon);
        fs::create_dir_all(icon.parent().unwrap()).unwrap();
        fs::write(icon, "<svg/>").unwrap();
    }
    fs::write(folder.join("plugin.json"), text).unwrap();
    folder
}

#[test]
fn each_fault_is_refused_with_pointer_line_and_remedy() {
    let root = tempfile::tempdir().unwrap();
    let (faults, mut wrong) = (faults(), Vec::new());
    for fault in &faults {
        let what = format!("{} → {}", fault.was, fault.is);
        assert_eq!(BASE.matches(&fault.was).count(), 1, "{what}");
        let text = BASE.replace(&fault.was, &fault.is);
        let start = BASE[..BASE.find(&fault.was).unwrap()].matches('\n').count() as isize;
        let Err(problems) = check_folder(&folder(root.path(), &text)).outcome else {
            wrong.push(format!("{what}: not refused"));
            continue;
        };
        let found = problems.iter().find(|problem| {
            problem.pointer == fault.pointer && problem.remedy.contains(fault.remedy)
        });
        let line = (start + 1 + fault.below) as usize;
        match found {
            None => wrong.push(format!("{what}: {problems:#?}")),
            Some(problem) if problem.line != Some(line) => {
                wrong.push(format!("{what}: line {:?}, not {line}", problem.line));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), faults.len(), wrong.join("\n"));
    assert!(faults.len() >= 80 && faults.iter().filter(|fault| fault.schema).count() >= 50);
}

#[test]
fn valid_manifests_have_no_problems() {
    let root = tempfile::tempdir().unwrap();
    for manifest in valid::all() {
        let text = serde_json::to_string_pretty(&manifest).unwrap();
        let found = check_folder(&folder(root.path(), &text)).outcome;
        assert!(found.is_ok(), "{text}\n{:#?}", found.err());
    }
    assert!(valid::all().len() >= 30);
}

#[test]
fn all_faults_are_told_at_once_each_with_its_column() {
    let root = tempfile::tempdir().unwrap();
    let text = "\u{feff}{\n  \"id\": \"blog\", // who\n  \"tabels\": [],\n  \"header_buttons\": \
                \"[{\\\"button_id\\\": 1, \\\"type\\\": \\\"link\\\"}]\",\n  \"tasks\": \
                [{\"name\": \"a\", \"interval_s\": 1, \"script\": \"../x.php\"}],\n}";
    let problems = check_folder(&folder(root.path(), text)).outcome.unwrap_err();
    let told: Vec<_> = problems.iter().map(|p| (p.line, p.column, p.pointer.as_str())).collect();
    let at = |line, column| (Some(line), Some(column));
    let expected = [
        (at(1, 1), ""),
        (at(2, 17), ""),
        (at(3, 3), "/tabels"),
        (at(4, 21), "/header_buttons/0/button_id"),
        (at(4, 21), "/header_buttons/0/url"),
        (at(5, 54), "/tasks/0/script"),
        (at(5, 66), ""),
    ];
    let expected: Vec<_> =
        expected.iter().map(|((line, column), p)| (*line, *column, *p)).collect();
    assert_eq!(told, expected, "{problems:#?}");
}

/// Only a whole number is told to stand without quotes.
#[test]
fn what_is_no_number_without_quotes_either_keeps_them() {
    let root = tempfile::tempdir().unwrap();
    let text = BASE.replace("\"interval_s\": 300", "\"interval_s\": \"10.5\"");
    let problems = check_folder(&folder(root.path(), &text)).outcome.unwrap_err();
    assert_eq!(problems[0].remedy, "a whole number is expected, not text");
}

/// However deep, however broken: an answer, never a panic, on half the stack of a thread of the
/// service.
#[test]
fn deep_and_broken_texts_are_refused() {
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(refuse_deep_and_broken_texts).unwrap().join().unwrap();
}

fn refuse_deep_and_broken_texts() {
    let root = tempfile::tempdir().unwrap();
    let nest = |open: &str, close: &str, levels: usize| open.repeat(levels) + &close.repeat(levels);
    let button = |inner: &str| {
        format!("{{\"button_id\":\"a\",\"type\":\"show_module_list\",\"buttons\":[{inner}]}}")
    };
    let mut buttons = String::new();
    for _ in 0..5_000 {
        buttons = button(&buttons);
    }
    let mut text = "[]".to_owned();
    while text.len() < 200_000 {
        text =
            Json::from(format!("[{{\"button_id\":\"a\",\"type\":\"edit\",\"buttons\":{text}}}]"))
                .to_string();
    }
    let column = |levels: usize| {
        format!(
            "{{\"id\": \"blog\", \"tables\": [{{\"name\": \"a\", \"columns\": [{{\"name\": \"b\",
                 \"type\": \"json\", \"default\": {}}}]}}]}}",
            nest("[", "]", levels)
        )
    };
    // Five levels lead to the default.
    assert!(check_folder(&folder(root.path(), &column(60))).outcome.is_ok());
    for text in [
        nest("[", "]", 5_000),
        nest("{\"a\":", "}", 5_000),
        nest("[", "]", 500),
        column(61),
        column(500),
        column(5_000),
        format!("{{\"id\": \"blog\", \"tables\": {}}}", nest("[", "]", 5_000)),
        format!("{{\"id\": \"blog\", \"content_button\": [{buttons}]}}"),
        format!("{{\"id\": \"blog\", \"content_button\": {text}}}"),
        format!("{{\"id\": \"blog\", \"content_button\": {}}}", Json::from(nest("[", "]", 5_000))),
        String::new(),
        "\u{feff}".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "\"blog\"".to_owned(),
        "{\"id\": \"blog\u{0}\"}".to_owned(),
        "{\"id\": \"\\ud800\"}".to_owned(),
        "{\"id\": 1e999}".to_owned(),
    ] {
        let problems = check_folder(&folder(root.path(), &text)).outcome.unwrap_err();
        assert!(problems.iter().all(|problem| problem.line.is_some()), "{problems:?}");
    }
    for bytes in [&[0xff, 0xfe, b'{', 0][..], &[b'{', 0xc3, 0x28, b'}']] {
        let place = folder(root.path(), "");
        fs::write(place.join("plugin.json"), bytes).unwrap();
        let problems = check_folder(&place).outcome.unwrap_err();
        assert!(problems[0].remedy.contains("UTF-8"), "{problems:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]
    /// Any manifest with a part cut out, doubled or replaced has an answer.
    #[test]
    fn torn_manifests_never_panic(
        from in 0usize..BASE.len(),
        to in 0usize..BASE.len(),
        by in "[\\[\\]{}\",:0-9a-z\\\\ ]{0,6}",
    ) {
        let (from, to) = (from.min(to), from.max(to));
        if BASE.is_char_boundary(from) && BASE.is_char_boundary(to) {
            let root = tempfile::tempdir().unwrap();
            let text = format!("{}{by}{}", &BASE[..from], &BASE[to..]);
            drop(check_folder(&folder(root.path(), &text)).outcome);
        }
    }
}

/// Writes schema and manifests for the outside validator.
#[test]
fn manifests_for_the_outside_validator() {
    let Some(target) = std::env::var_os("CMS_TEST_MANIFESTS") else { return };
    let faults = faults().into_iter().map(|fault| {
        let text = BASE.replace(&fault.was, &fault.is);
        json!({"text": text, "refused": fault.schema, "what": fault.is, "at": fault.pointer})
    });
    let valid = valid::all().into_iter().map(|manifest| {
        json!({"text": manifest.to_string(), "refused": false, "what": "valid", "valid": true})
    });
    let cases: Vec<_> = faults.chain(valid).collect();
    let whole = json!({"schema": schema(), "cases": cases});
    fs::write(target, whole.to_string()).unwrap();
}
