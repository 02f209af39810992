//! Makes stored text safe for a screen, and cuts it to a width in cells.

use std::{borrow::Cow, iter, ops::Range};

use cms_http::plain::{is_hidden, shown};
use ratatui::text::Span;

/// The most combining marks on one character; more would leave their cell.
const MARKS: usize = 2;

/// Cells that the text takes.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { Span::raw(text).width() }
}

/// The text in one line, without anything that a terminal would obey, or draw wider than its width.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return Cow::Borrowed(text);
    }
    let (mut line, mut marks) = (String::with_capacity(text.len()), 0);
    for c in shown(&text.replace("\r\n", "\n")).chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            c if joins(c) => continue,
            c if is_mark(c) => {
                marks += 1;
                if line.is_empty() {
                    line.push('◌');
                }
                if marks <= MARKS {
                    line.push(c);
                }
                continue;
            }
            c => line.push(c),
        }
        marks = 0;
    }
    Cow::Owned(line)
}

/// Characters that join others or choose their form. Terminals disagree about the width of the
/// result.
fn joins(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e01ef}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{ad}')
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && !is_hidden(c) && width(c.encode_utf8(&mut [0; 4])) == 0
}

/// The text cut or filled to `to` cells.
pub(crate) fn fitted(text: &str, to: usize) -> String {
    let cut = cut(text, to);
    let free = to.saturating_sub(width(&cut));
    cut.into_owned() + &" ".repeat(free)
}

/// The text cut to `to` cells, with `…` at its end when something is missing.
pub(crate) fn cut(text: &str, to: usize) -> Cow<'_, str> {
    if width(text) <= to {
        return Cow::Borrowed(text);
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in text.chars() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > to {
            break;
        }
        kept.push(c);
    }
    if to > 0 {
        kept.push('…');
    }
    Cow::Owned(kept)
}

/// A text of several lines, each safe and at most `to` cells.
pub(crate) fn wrapped(text: &str, to: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut now, mut used) = (String::new(), 0);
        for word in safe(line).split_inclusive(' ') {
            if used + width(word.trim_end()) > to && used > 0 {
                lines.push(std::mem::take(&mut now));
                used = 0;
            }
            for c in word.chars() {
                let cells = width(c.encode_utf8(&mut [0; 4]));
                if used + cells > to && c != ' ' {
                    lines.push(std::mem::take(&mut now));
                    used = 0;
                }
                now.push(c);
                used += cells;
            }
        }
        lines.push(now);
    }
    lines
}

/// As [`wrapped`], as one paragraph of at most `most` lines, and at least one if there is any
/// text. The last line ends with `…` if something is missing.
pub(crate) fn wrapped_to(text: &str, to: usize, most: usize) -> Vec<String> {
    let mut lines = wrapped(&safe(text), to);
    if lines.len() > most.max(1) {
        let rest = lines.split_off(most.saturating_sub(1)).concat();
        lines.push(cut(&rest, to).into_owned());
    }
    lines
}

/// The indent of the second and later rows of a line.
pub(crate) fn hang(line: &str, cells: usize) -> usize {
    let leading = line.len() - line.trim_start_matches(' ').len();
    (leading + 2).min(cells / 3)
}

/// The parts of a line that fit in so many cells, broken between words where that is possible.
pub(crate) fn folded(line: &str, cells: usize) -> Vec<Range<usize>> {
    if width(line) <= cells {
        return iter::once(0..line.len()).collect();
    }
    let rest = cells - hang(line, cells);
    let (mut rows, mut from, mut at, mut used, mut room) = (Vec::new(), 0, 0, 0, cells);
    for word in line.split_inclusive(' ') {
        let wide = width(word.trim_end());
        let is_whole = used > 0 && used + wide > room && wide <= rest;
        for (n, c) in word.chars().enumerate() {
            let wide = width(c.encode_utf8(&mut [0; 4]));
            if (n == 0 && is_whole) || (used + wide > room && c != ' ' && used > 0) {
                rows.push(from..at);
                (from, used, room) = (at, 0, rest);
            }
            used += wide;
            at += c.len_utf8();
        }
    }
    rows.push(from..at);
    rows
}

/// A number with thousands apart: 12,481.
pub(crate) fn number(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 key`, `2 keys`.
pub(crate) fn count(n: usize, one: &str) -> String {
    let plural = match one.strip_suffix('y') {
        Some(stem) if !one.ends_with("ey") => format!("{stem}ies"),
        _ => format!("{one}s"),
    };
    let what = if n == 1 { one } else { &plural };
    format!("{} {what}", number(i64::try_from(n).unwrap_or(i64::MAX)))
}

/// Splits a command line into words, with quotes as in a shell. None: a quote is not closed.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_stays_a_line_and_its_width_is_known() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a\nb\tc\r\nd", "a b c d"),
            ("x\u{1b}[2J\u{9b}1m", "x\\u001b[2J\\u009b1m"),
            ("\u{202e}txt", "\\u202etxt"),
            ("👩\u{200d}👩", "👩👩"),
            ("e\u{301}\u{301}\u{301}\u{301}", "e\u{301}\u{301}"),
            ("\u{301}e", "◌\u{301}e"),
            ("日本", "日本"),
        ] {
            assert_eq!(safe(text), expected, "{text:?}");
        }
    }

    #[test]
    fn text_is_cut_by_cells() {
        for (text, to, expected) in [
            ("abc", 5, "abc  "),
            ("abcdef", 4, "abc…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日… "),
            ("a", 0, ""),
        ] {
            assert_eq!(fitted(text, to), expected);
        }
    }

    #[test]
    fn long_text_is_wrapped_at_words() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("abcdefgh\nx", 3), ["abc", "def", "gh", "x"]);
        assert_eq!(wrapped_to("one two three", 8, 2), ["one two ", "three"]);
        assert_eq!(wrapped_to("one two three", 5, 2), ["one ", "two …"]);
        assert_eq!(wrapped_to("one two", 4, 0), ["one…"]);
        assert_eq!(wrapped_to("abc\ndef", 7, 1), ["abc def"]);
    }

    #[test]
    fn command_lines_are_split_like_a_shell_does() {
        let words = split("keys check 3 GET '/a?b=c d' \"\"").expect("closed");
        assert_eq!(words, ["keys", "check", "3", "GET", "/a?b=c d", ""]);
        assert!(split("a 'b").is_none());
    }

    #[test]
    fn figures_are_said_in_words() {
        assert_eq!((number(1_234_567), number(-12)), ("1,234,567".into(), "-12".into()));
        assert_eq!((count(1, "key"), count(2, "key")), ("1 key".into(), "2 keys".into()));
        assert_eq!(count(3, "delivery"), "3 deliveries");
    }

    #[test]
    fn a_word_that_is_longer_than_a_row_is_broken() {
        assert_eq!(folded("a bbbbbbbbbbbbbb", 8), [0..8, 8..14, 14..16]);
        assert_eq!(folded("one two", 8).len(), 1);
    }

    proptest! {
        /// Every character is in one row, and no row is wider than its window.
        #[test]
        fn rows_hold_all_of_a_line(line in "\\PC{0,120}", cells in 8_usize..60) {
            let line = safe(&line);
            let parts = folded(&line, cells);
            let whole: String = parts.iter().map(|part| &line[part.clone()]).collect();
            prop_assert_eq!(&whole, &line);
            for part in parts {
                let indent = if part.start > 0 { hang(&line, cells) } else { 0 };
                prop_assert!(width(line[part].trim_end()) + indent <= cells);
            }
        }
    }
}
