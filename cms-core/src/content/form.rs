//! The form of a text that its field type demands: colours, paths, LESS.

use serde_json::Value;

use super::table::Column;
use crate::{Address, FieldError};

/// Whether a field type demands a form that texts of the type `before` may lack.
pub(super) fn demands_more(field_type: &str, before: &str) -> bool {
    match (Address::of_type(field_type), Address::of_type(before)) {
        (Some(kind), Some(before)) => !kind.includes(before),
        (Some(_), None) => true,
        (None, _) => field_type != before && matches!(field_type, "code_editor" | "color"),
    }
}

/// Checks a value in its canonical form. An empty text counts as no value.
pub(crate) fn fits(column: &Column, checked: &Value) -> Result<(), FieldError> {
    let Some(text) = checked.as_str() else { return Ok(()) };
    let address = Address::of_type(&column.field_type);
    let is_missing = address.is_some() && column.required;
    if text.is_empty() && !is_missing {
        return Ok(());
    }
    let fault = match column.field_type.as_str() {
        "code_editor" => check_less(text).err(),
        "color" if !is_color(text) => {
            Some("a colour is expected: #rgb, #rrggbb or #rrggbbaa, such as \"#1e90ff\"".to_owned())
        }
        _ => address.and_then(|kind| kind.problem(text)),
    };
    fault.map_or(Ok(()), |message| {
        Err(FieldError { field: column.name.clone(), code: "format", message })
    })
}

fn is_color(text: &str) -> bool {
    text.strip_prefix('#').is_some_and(|digits| {
        matches!(digits.len(), 3 | 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Most bytes of a stylesheet.
const MOST_BYTES: usize = 128 << 10;

/// Whether a text is a LESS stylesheet, as far as its structure tells: strings, comments and
/// brackets are closed, and each statement is a declaration, a rule, a call or a block.
///
/// No library reads more of LESS safely: raffia 0.13, the only parser of LESS in Rust, needs time
/// exponential in the nesting and does not end on some texts. This check reads each byte once.
///
/// # Errors
/// The fault as a sentence, with its line.
pub(super) fn check_less(text: &str) -> Result<(), String> {
    if text.len() > MOST_BYTES {
        return Err(format!("LESS of at most {MOST_BYTES} bytes is expected"));
    }
    let outline = outline(text);
    let told = |(at, what): (usize, &str)| {
        let line = outline.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        format!("LESS is expected: {what} in line {line}")
    };
    if let Some(at) = open_comment(text, &outline) {
        return Err(told((at, "a comment is not closed")));
    }
    structure(&outline).map_err(told)
}

/// Checks brackets, strings and statements.
fn structure(outline: &str) -> Result<(), (usize, &'static str)> {
    let (mut open, mut statement) = (Vec::new(), 0);
    let mut bytes = outline.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        let in_call = is_call(&open);
        match byte {
            b'"' | b'\'' | b'`' => {
                let end = bytes.find(|(_, next)| *next != b'x');
                if end.is_none_or(|(_, end)| end != byte) {
                    return Err((at, "a string is not closed"));
                }
            }
            b'(' | b'[' | b'{' => {
                open.push((at, byte, statement));
                if byte == b'{' && !is_interpolation(outline, at) {
                    statement = at + 1;
                }
            }
            b')' | b']' | b'}' => {
                let Some((start, opener, outer)) = open.pop() else {
                    return Err((at, "a bracket is closed that is not open"));
                };
                if !matches!((opener, byte), (b'(', b')') | (b'[', b']') | (b'{', b'}')) {
                    return Err((start, "a bracket is not closed"));
                }
                if byte == b'}' && !is_interpolation(outline, start) {
                    judge(outline, statement, at)?;
                    // A block may be an argument: `.m({ color: red });`.
                    statement = if is_call(&open) { outer } else { at + 1 };
                }
            }
            b';' if !in_call => {
                judge(outline, statement, at)?;
                statement = at + 1;
            }
            _ => {}
        }
    }
    match open.last() {
        Some((start, ..)) => Err((*start, "a bracket is not closed")),
        None => judge(outline, statement, outline.len()),
    }
}

/// Whether the innermost open bracket is one of a call or a value.
fn is_call(open: &[(usize, u8, usize)]) -> bool {
    matches!(open.last(), Some((_, b'(' | b'[', _)))
}

/// `@{name}` stands within names and strings, and `#{` in the values of plugins.
fn is_interpolation(outline: &str, brace: usize) -> bool {
    brace > 0 && matches!(outline.as_bytes()[brace - 1], b'@' | b'#' | b'$')
}

/// A statement without a block: a declaration, an at-rule, a call or an extension.
fn judge(outline: &str, start: usize, end: usize) -> Result<(), (usize, &'static str)> {
    let text = outline.get(start..end).unwrap_or_default();
    let bare = text.trim_start();
    let begins = bare.starts_with(['@', '.', '#', '&', '$', '%']);
    if bare.trim_end().is_empty() || begins || text.contains(':') || bare.contains('(') {
        return Ok(());
    }
    Err((start + text.len() - bare.len(), "a declaration has no colon"))
}

/// Where an unclosed comment begins.
fn open_comment(text: &str, outline: &str) -> Option<usize> {
    let start = text.rfind("/*")?;
    let is_hidden = outline.as_bytes().get(start) == Some(&b' ');
    (is_hidden && !text[start + 2..].contains("*/")).then_some(start)
}

/// The text with comments replaced by spaces, and with the contents of strings and of bare
/// addresses and escaped characters replaced by letters. Lines and offsets stay.
fn outline(text: &str) -> String {
    let mut outline = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kept, hidden, filler) = match first {
            '/' if rest.starts_with("/*") => {
                (0, 2 + rest[2..].find("*/").map_or(rest.len() - 2, |end| end + 2), ' ')
            }
            '/' if rest.starts_with("//") => (0, rest.find('\n').unwrap_or(rest.len()), ' '),
            '"' | '\'' | '`' => (1, string(&rest[1..], first), 'x'),
            '\\' => (0, 1 + rest[1..].chars().next().map_or(0, char::len_utf8), 'x'),
            'u' | 'U' => address(rest),
            _ => (first.len_utf8(), 0, ' '),
        };
        let (shown, others) = rest.split_at(kept);
        let (hide, others) = others.split_at(hidden);
        outline.push_str(shown);
        outline.extend(hide.bytes().map(|b| if b == b'\n' { '\n' } else { filler }));
        rest = others;
        if matches!(first, '"' | '\'' | '`') && rest.starts_with(first) {
            outline.push(first);
            rest = &rest[1..];
        }
    }
    outline
}

/// Bytes of a string up to its quote or the end of the line.
fn string(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let ends = !is_escaped && (c == quote || c == '\n');
        is_escaped = !is_escaped && c == '\\';
        ends
    });
    end.unwrap_or(text.len())
}

/// An address that is not in quotes: bytes to keep, bytes to hide, and with what.
fn address(text: &str) -> (usize, usize, char) {
    let is_call = text.get(..4).is_some_and(|call| call.eq_ignore_ascii_case("url("));
    let inside = text.get(4..).unwrap_or_default();
    let blank = inside.len() - inside.trim_start().len();
    let inside = &inside[blank..];
    if !is_call || inside.starts_with(['"', '\'', '@', '~']) {
        return (1, 0, ' ');
    }
    (4 + blank, inside.find([')', '\n']).unwrap_or(inside.len()), 'x')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{content::ColumnDeclaration, db::Kind};

    #[test]
    fn colours_and_addresses_have_a_form() {
        for good in ["#abc", "#A1b2C3", "#11223344"] {
            assert!(is_color(good), "{good}");
        }
        for bad in ["abc", "#ab", "#abcd", "#12345g", "#1234567", "red", "# abc", "#abc "] {
            assert!(!is_color(bad), "{bad}");
        }
        for (field_type, kind) in ColumnDeclaration::TYPES {
            let field_type = (*field_type).to_owned();
            let column = Column { field_type, ..Column::declared("c", *kind) };
            assert_eq!(fits(&column, &column.example()), Ok(()), "{}", column.field_type);
        }
        for (kind, required, good, bad) in [
            ("image", false, ["", "/media/a.png"], ["/media/a b.png", "/media/../a"]),
            ("path", true, ["/", "/about"], ["", "/about?a"]),
        ] {
            let column = Column {
                field_type: kind.to_owned(),
                required,
                ..Column::declared("c", Kind::Text)
            };
            assert!(good.iter().all(|text| fits(&column, &json!(text)).is_ok()), "{kind}");
            assert!(bad.iter().all(|text| fits(&column, &json!(text)).is_err()), "{kind}");
        }
    }

    #[test]
    fn stylesheets_are_read() {
        for good in [
            "",
            "a { color: red; }",
            "@base: 16px; .m(@a; @b: 2) when (@a > 1) { width: (@a * @b) }\n.x { .m(1; 3); }",
            ".a { &:hover { color: darken(@c, 10%); } .b; }",
            "@media (min-width: 600px) and (max-width: 900px) { .c { .d { e: f; } } }",
            "// a ) } comment\n/* { ( */ a { background: url(https://example.org/a.png); }",
            ".a\\:b { content: '}'; x: ~\"@{y} {\"; }",
            "@plugin \"plugin\"; @import (reference) 'foo'; @detached: { a: b; };",
            "a { width: calc(100% - (2 * @gutter)); background: url(\"data:,}\") }",
            ".@{name}-a { @{property}-color: red } .m({ color: red; });",
            "a[href='x'] > b, c::after { content: ''; grid: [one] 1fr }",
            "/* one */ a { /* two */ b: c }",
        ] {
            assert_eq!(check_less(good), Ok(()), "{good}");
        }
        for (bad, line) in [
            ("a {", 1),
            ("a { color: red; }\n}", 2),
            ("a { b: (1 + 2; }", 1),
            ("a { b: 'x\n' }", 1),
            ("@a: ;;{", 1),
            ("color red", 1),
            ("a {\n  color red;\n}", 2),
            ("a { b: [1) }", 1),
            ("a { b: c }\n/* d", 2),
        ] {
            let why = check_less(bad).expect_err(bad);
            assert!(why.ends_with(&format!("in line {line}")), "{bad}: {why}");
        }
        let why = check_less(&"a{b:c}\n".repeat(30_000)).expect_err("too long");
        assert!(why.contains("131072 bytes"), "{why}");
    }

    #[test]
    fn deep_nesting_and_long_chains_are_read_like_others() {
        for piece in ["{", "(", ":not(", "@a:{", "if((", "[", "a{b:f(a ", "@media (", ".m("] {
            assert!(check_less(&piece.repeat(5_000)).is_err(), "{piece}");
        }
        assert_eq!(check_less(&format!("{}{}", "a{".repeat(5_000), "}".repeat(5_000))), Ok(()));
        for piece in ["1+", "-", "#", "not ", "!", "@@", "a>"] {
            assert_eq!(check_less(&format!("a{{b:{}}}", piece.repeat(20_000))), Ok(()), "{piece}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z@.:;(){}\\[\\]\"'`/*\\\\, \n~#&>+-]|url\\(|\\PC){0,60}") {
            let _ = check_less(&text);
            prop_assert_eq!(outline(&text).lines().count(), text.lines().count());
        }
    }
}
