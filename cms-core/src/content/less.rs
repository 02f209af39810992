//! Whether a text is a LESS stylesheet.
//!
//! raffia knows the syntax, but calls itself for each level of nesting and for each operator, and
//! tries several ways at each level. So it gets no more text than its stack holds, and no text that
//! would keep it busy; and of strings, comments and addresses only their outlines, so that every
//! bracket it sees has been counted.

use std::thread;

use raffia::{Parser, Syntax, ast::Stylesheet};

/// Most bytes of a stylesheet. Operators one after the other need up to 130 bytes of stack each, in
/// a debug build 600.
const MOST_BYTES: usize = 128 << 10;
/// For [`MOST_BYTES`] of operators. Only what is used becomes memory.
const STACK: usize = 128 << 20;
/// A byte costs two to the power of its depth, because two ways may be tried at each level. The
/// worst texts that a search found take 0.3 µs for a unit: 5 ms, and 5 ms more for each KiB.
const MOST_WORK: u64 = 16 << 10;
/// A text may cost so much for each of its bytes as well: as if all stood four levels deep.
const WORK_OF_A_BYTE: u64 = 16;

/// Checks a stylesheet.
///
/// # Errors
/// The fault as a sentence, with its line.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.len() > MOST_BYTES {
        return Err(format!("LESS of at most {MOST_BYTES} bytes is expected"));
    }
    let outline = outline(text);
    if work(&outline) > MOST_WORK + WORK_OF_A_BYTE * text.len() as u64 {
        return Err("this LESS is nested too deeply to be checked: take it apart".to_owned());
    }
    let parse = move || match fault(&outline) {
        None => Ok(()),
        Some((at, what)) => {
            let line = outline.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
            Err(format!("LESS is expected: {what}, near line {line}"))
        }
    };
    let unable = || "LESS cannot be checked at the moment: try again".to_owned();
    let thread = thread::Builder::new().name("less".to_owned()).stack_size(STACK).spawn(parse);
    thread.map_err(|_| unable())?.join().unwrap_or_else(|_| Err(unable()))
}

/// The first fault: where it is, and what.
fn fault(outline: &str) -> Option<(usize, String)> {
    let mut parser = Parser::new(outline, Syntax::Less);
    let error = match parser.parse::<Stylesheet>() {
        Err(error) => Some(error),
        Ok(_) => parser.recoverable_errors().first().cloned(),
    };
    error.map(|error| (error.span.start, error.kind.to_string()))
}

fn work(outline: &str) -> u64 {
    let (mut depth, mut work) = (0_u32, 0_u64);
    for byte in outline.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        work = work.saturating_add(1_u64.checked_shl(depth).unwrap_or(u64::MAX));
    }
    work
}

/// The text with spaces for comments, and letters for what stands in strings, in bare addresses and
/// behind a backslash. Lines and places stay.
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

    use super::*;

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
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, line) in [
            ("a {", 1),
            ("a { color: red; }\n}", 2),
            ("a { b: (1 + 2; }", 1),
            ("a { b: 'x\n' }", 1),
            ("@a: ;;{", 1),
            ("color red", 1),
        ] {
            let why = check(bad).expect_err(bad);
            assert!(why.ends_with(&format!("near line {line}")), "{bad}: {why}");
        }
        let why = check(&"a{b:c}\n".repeat(30_000)).expect_err("too long");
        assert!(why.contains("131072 bytes"), "{why}");
    }

    /// Each overflows a stack of 8 MiB, or takes hours, without the guard.
    #[test]
    fn hostile_nesting_is_refused() {
        for piece in ["{", "(", ":not(", "@a:{", "if((", "[", "a{b:f(a ", "@media (", ".m("] {
            assert!(check(&piece.repeat(5_000)).is_err(), "{piece}");
            let hidden = format!("{piece}'}})]'/*)}}]*///]}})\n\\)\\}}\\]url(}}]a)`)]}}`");
            assert!(check(&hidden.repeat(1_000)).is_err(), "{piece}");
        }
    }

    #[test]
    fn operators_without_end_do_not_overflow() {
        for piece in ["1+", "+", "1 + ", "-", "/", "#", "not ", "!", "@@", "a>", "a,"] {
            for (before, after) in [("a{b:", "}"), ("", "{}"), ("@media ", "{}"), (".m(", ");")] {
                let most = MOST_BYTES - before.len() - after.len();
                let _ = check(&format!("{before}{}{after}", piece.repeat(most / piece.len())));
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z@.:;(){}\\[\\]\"'`/*\\\\, \n~#&>+-]|url\\(|//|\\PC){0,60}") {
            let _ = check(&text);
            prop_assert_eq!(outline(&text).lines().count(), text.lines().count());
        }
    }
}
