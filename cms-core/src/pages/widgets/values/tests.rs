use serde_json::json;

use super::*;

/// An entry of each type.
fn menu() -> Menu {
    let fixed = json!([{"id": 2, "title": "Two"}, {"id": "wide", "title": "Wide"}]);
    let entries = json!([
        {"row": "title", "type": "text"},
        {"row": "text", "type": "textarea"},
        {"row": "html", "type": "richtext_editor"},
        {"row": "css", "type": "code_editor"},
        {"row": "size", "type": "select", "options": fixed},
        {"row": "form", "type": "select",
         "select_value": {"table": "forms", "value": "name", "title": "title"}},
        {"row": "kind", "type": "select",
         "select_value": {"options": [{"value": true, "title": "Yes"}]}},
        {"row": "image", "type": "image"},
        {"row": "line", "type": "checkbox"},
        {"row": "amount", "type": "number"},
        {"row": "day", "type": "date"},
        {"row": "hour", "type": "time"},
        {"row": "at", "type": "datetime"},
        {"row": "secret", "type": "password"},
        {"row": "color", "type": "color"},
        {"row": "link", "type": "text"},
        {"row": "terms_link", "type": "text"},
    ]);
    serde_json::from_value(entries).expect("a menu")
}

fn data(row: &str, value: Json) -> Map<String, Json> {
    [(row.to_owned(), value)].into_iter().collect()
}

/// Values have one form, and stored texts are shown as JSON again.
#[test]
fn values_have_one_form() {
    for (row, sent, kept, text) in [
        ("title", json!("A"), json!("A"), "A"),
        ("text", json!("a\nb"), json!("a\nb"), "a\nb"),
        ("html", json!("<p>a</p>"), json!("<p>a</p>"), "<p>a</p>"),
        ("css", json!("a { b: c }"), json!("a { b: c }"), "a { b: c }"),
        ("size", json!(2), json!(2), "2"),
        ("size", json!("2"), json!(2), "2"),
        ("size", json!("wide"), json!("wide"), "wide"),
        ("kind", json!("true"), json!(true), "true"),
        ("form", json!("contact"), json!("contact"), "contact"),
        ("form", json!(7), json!("7"), "7"),
        ("image", json!("/media/ab/c.png"), json!("/media/ab/c.png"), "/media/ab/c.png"),
        ("line", json!(true), json!(true), "1"),
        ("line", json!("0"), json!(false), "0"),
        ("amount", json!(3), json!(3), "3"),
        ("amount", json!("3.50"), json!(3.5), "3.5"),
        ("amount", json!(-0.0), json!(0), "0"),
        ("amount", json!(1e300), json!(1e300), "1e300"),
        ("day", json!("2026-11-21"), json!("2026-11-21"), "2026-11-21"),
        ("hour", json!("09:30"), json!("09:30:00"), "09:30:00"),
        (
            "at",
            json!("2026-11-21T10:30:00+01:00"),
            json!("2026-11-21T09:30:00Z"),
            "2026-11-21T09:30:00Z",
        ),
        ("color", json!("#abc"), json!("#abc"), "#abc"),
        ("link", json!("/about?a#b"), json!("/about?a#b"), "/about?a#b"),
        (
            "link",
            json!("mailto:a@example.org"),
            json!("mailto:a@example.org"),
            "mailto:a@example.org",
        ),
        (
            "terms_link",
            json!("https://example.org/"),
            json!("https://example.org/"),
            "https://example.org/",
        ),
    ] {
        let checked = check(&menu(), &data(row, sent.clone())).expect(row);
        assert_eq!(checked, data(row, kept.clone()), "{row} {sent}");
        assert_eq!(shown(Some(&menu()), row, text), kept, "{row} {text}");
    }
    for row in menu().iter() {
        let (sent, cleared) = (data(&row.row, json!(null)), data(&row.row, json!(null)));
        assert_eq!(check(&menu(), &sent).expect("null"), cleared);
        assert_eq!(check(&menu(), &data(&row.row, json!(""))).expect("empty"), cleared);
    }
    assert_eq!(
        check(&menu(), &data("secret", json!("x"))).expect("text"),
        data("secret", json!("x"))
    );
    assert_eq!(shown(Some(&menu()), "secret", "v1.sealed"), json!(null));
    // The menu has changed since.
    assert_eq!(shown(Some(&menu()), "gone", "7"), json!("7"));
    assert_eq!(shown(Some(&menu()), "amount", "many"), json!("many"));
    assert_eq!(shown(None, "amount", "7"), json!("7"));
}

#[test]
fn unknown_columns_and_invalid_values_are_refused() {
    let long = "x".repeat(LONG + 1);
    for (row, sent, code) in [
        ("titel", json!("A"), "unknown_column"),
        ("id", json!(1), "unknown_column"),
        ("", json!("A"), "unknown_column"),
        ("Title", json!("A"), "unknown_column"),
        ("title\"; drop table x; --", json!("A"), "unknown_column"),
        ("title", json!(7), "type"),
        ("title", json!({"a": 1}), "type"),
        ("title", json!(["A"]), "type"),
        ("title", json!("a\nb"), "format"),
        ("title", json!("a\u{0}b"), "format"),
        ("title", json!("\u{1b}[2J"), "format"),
        ("title", json!("x".repeat(LINE + 1)), "range"),
        ("text", json!(true), "type"),
        ("text", json!("a\u{0}"), "format"),
        ("text", json!(long), "range"),
        ("html", json!(long), "range"),
        ("css", json!("a {"), "format"),
        ("css", json!(7), "type"),
        ("size", json!(3), "enum"),
        ("size", json!("Two"), "enum"),
        ("size", json!([2]), "enum"),
        ("size", json!({"id": 2}), "enum"),
        ("kind", json!(false), "enum"),
        ("form", json!(["contact"]), "type"),
        ("form", json!("a\nb"), "type"),
        ("form", json!("x".repeat(LINE + 1)), "type"),
        ("image", json!("https://example.org/a.png"), "format"),
        ("image", json!("/media/../a.png"), "format"),
        ("image", json!("/etc/passwd"), "format"),
        ("image", json!(1), "type"),
        ("line", json!("yes"), "type"),
        ("line", json!(2), "type"),
        ("amount", json!("many"), "type"),
        ("amount", json!("NaN"), "type"),
        ("amount", json!(true), "type"),
        ("day", json!("2026-02-30"), "type"),
        ("day", json!(20260221), "type"),
        ("hour", json!("25:00"), "type"),
        ("at", json!("yesterday"), "type"),
        ("secret", json!(7), "type"),
        ("secret", json!("x".repeat(LINE + 1)), "range"),
        ("color", json!("red"), "format"),
        ("link", json!("javascript:alert(1)"), "format"),
        ("link", json!("JavaScript:alert(1)"), "format"),
        ("link", json!("data:text/html,x"), "format"),
        ("link", json!("//evil.example"), "format"),
        ("link", json!("/\\evil.example"), "format"),
        ("link", json!("about"), "format"),
        ("link", json!("mailto:a b"), "format"),
        ("link", json!("tel:1\u{202e}"), "format"),
        ("terms_link", json!("vbscript:x"), "format"),
    ] {
        let refused = check(&menu(), &data(row, sent.clone())).expect_err(row);
        let told: Vec<_> = refused.fields().iter().map(|f| (f.field.as_str(), f.code)).collect();
        assert_eq!(told, [(row, code)], "{row} {sent}");
        assert!(refused.fields()[0].message.len() > 10, "{row} {sent}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let sent = json!({"title": 7, "titel": "A", "color": "red", "amount": 3, "line": "yes"});
    let refused = check(&menu(), sent.as_object().expect("an object")).expect_err("faults");
    let fields: Vec<_> = refused.fields().iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, ["color", "line", "titel", "title"]);
    assert!(refused.fields()[2].message.contains("\"title\""), "{refused:?}");
}
