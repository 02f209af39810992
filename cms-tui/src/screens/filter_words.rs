//! The words of a filter line: `status:failed since:2d to:"Ada \"A\" B" "two words"`.
//!
//! A blank ends a word, except between quotes. There `\"` is a quote and `\\` a backslash. Signs
//! such as `:` count only before the first quote of a word, so that `"a:b"` is text.

use std::str::FromStr;

use cms_http::wire::parameters::Moment;

use crate::calls::Fault;

/// What a word says: a token with its value, or free text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Word<'a> {
    Token(&'a str, &'a str),
    Text(&'a str),
}

impl Word<'_> {
    /// The word as it is typed: [`pieces`] parses it back to the same word.
    pub(crate) fn typed(self) -> String {
        let has_quotes = |text: &str| text.contains(|c: char| c.is_whitespace() || c == '"');
        let has_signs = |text: &str| text.starts_with(['!', '@']) || text.contains([':', '=']);
        let quoted = |text: &str| {
            let text = text.replace('\\', r"\\").replace('"', r#"\""#);
            format!("\"{text}\"")
        };
        match self {
            Self::Token(name, value) if has_quotes(value) => format!("{name}:{}", quoted(value)),
            Self::Token(name, value) => format!("{name}:{value}"),
            // Some list could read these signs as a condition.
            Self::Text(text) if has_quotes(text) || has_signs(text) => quoted(text),
            Self::Text(text) => text.to_owned(),
        }
    }
}

/// A word of a filter line.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    /// As it was typed.
    pub(crate) raw: &'a str,
    /// Without its quotes.
    text: String,
    /// Bytes of the text before the first quote.
    bare: usize,
}

/// Splits a filter line into words. An open quote ends with the line.
pub(crate) fn pieces(line: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), line.trim_start());
    while !rest.is_empty() {
        let piece = Piece::first(rest);
        rest = rest[piece.raw.len()..].trim_start();
        pieces.push(piece);
    }
    pieces.retain(|piece| !piece.text.is_empty());
    pieces
}

impl<'a> Piece<'a> {
    fn first(line: &'a str) -> Self {
        let (mut text, mut bare, mut is_open, mut end) = (String::new(), None, false, line.len());
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    is_open = !is_open;
                    bare.get_or_insert(text.len());
                }
                '\\' if is_open => {
                    let meant = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                    text.push(meant.map_or(c, |(_, next)| next));
                }
                c if c.is_whitespace() && !is_open => {
                    end = at;
                    break;
                }
                c => text.push(c),
            }
        }
        let bare = bare.unwrap_or(text.len());
        Self { raw: &line[..end], text, bare }
    }

    /// What is meant, without quotes.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the word begins with a quote; then no sign in it counts.
    pub(crate) fn is_quoted(&self) -> bool {
        self.bare == 0
    }

    /// What stands before a sign and behind it.
    pub(crate) fn split(&self, sign: char) -> Option<(&str, &str)> {
        let at = self.text[..self.bare].find(sign)?;
        Some((&self.text[..at], &self.text[at + sign.len_utf8()..]))
    }

    /// The rest of a word that begins with `!`.
    pub(crate) fn negated(&self) -> Option<Self> {
        let text = self.text[..self.bare].strip_prefix('!').and(self.text.get(1..))?.to_owned();
        Some(Self { raw: self.raw, text, bare: self.bare - 1 })
    }

    pub(crate) fn word(&self) -> Word<'_> {
        match self.split(':') {
            Some((name, value)) if !name.is_empty() => Word::Token(name, value),
            _ => Word::Text(&self.text),
        }
    }
}

/// Whether a text holds all words of a filter, and none of those behind a `!`.
pub(crate) fn fits(filter: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    let holds = |piece: &Piece<'_>| text.contains(&piece.text.to_lowercase());
    pieces(filter).iter().all(|piece| match piece.negated() {
        Some(piece) => !holds(&piece),
        None => holds(piece),
    })
}

/// The fault for an unknown word; it names the known ones.
pub(crate) fn unknown(word: &str, known: &str) -> Fault {
    Fault::new(format!("{word} is not understood; type {known}"))
}

/// The value of a word, such as a number; the fault names the example.
pub(crate) fn parsed<T: FromStr>(value: &str, example: &str) -> Result<Option<T>, Fault> {
    value.parse::<T>().map(Some).map_err(|_| unknown(value, example))
}

/// As [`since`], as the service takes it.
pub(crate) fn since_at(value: &str, now: i64, example: &str) -> Result<Option<Moment>, Fault> {
    since(value, now).map(|at| Some(Moment(at))).ok_or_else(|| unknown(value, example))
}

/// A time: RFC 3339, or so long ago: `30m`, `12h`, `7d`.
pub(crate) fn since(text: &str, now: i64) -> Option<i64> {
    if let Some(at) = crate::moment::millis(text) {
        return Some(at);
    }
    let (last, _) = text.char_indices().next_back()?;
    let (number, unit) = text.split_at(last);
    let seconds = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let number: i64 = number.parse().ok().filter(|n| (0..100_000).contains(n))?;
    Some(now - number * seconds * 1000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn signs_count_before_the_first_quote_only() {
        for (line, raw, text, word) in [
            ("  to:ada x", "to:ada", "to:ada", Word::Token("to", "ada")),
            ("to:\"a b\":c x", "to:\"a b\":c", "to:a b:c", Word::Token("to", "a b:c")),
            (r#""a \" b" x"#, r#""a \" b""#, "a \" b", Word::Text("a \" b")),
            (r#"to:"\\" x"#, r#"to:"\\""#, r"to:\", Word::Token("to", r"\")),
            (r#"a\b:"\c" x"#, r#"a\b:"\c""#, r"a\b:\c", Word::Token(r"a\b", r"\c")),
            ("\"to:ada\" x", "\"to:ada\"", "to:ada", Word::Text("to:ada")),
            ("t\"o:a\" x", "t\"o:a\"", "to:a", Word::Text("to:a")),
            (":x y", ":x", ":x", Word::Text(":x")),
            ("\"a b", "\"a b", "a b", Word::Text("a b")),
        ] {
            let pieces = pieces(line);
            let first = &pieces[0];
            assert_eq!((first.raw, first.text(), first.word()), (raw, text, word), "{line}");
        }
        for none in ["", "  ", "\"\"", "\""] {
            assert!(pieces(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn a_text_fits_that_holds_all_words_and_none_negated() {
        for (filter, fits_it) in [
            ("", true),
            ("FAILED 503", true),
            ("503 failed", true),
            ("\"503 failed\"", false),
            ("\"failed  503\"", true),
            ("!200 failed", true),
            ("!503", false),
            ("!\"failed  503\"", false),
            ("\"!503\"", false),
        ] {
            assert_eq!(fits(filter, "2 Failed  503"), fits_it, "{filter}");
        }
    }

    /// Texts in which what the grammar knows comes often.
    fn any_text() -> impl Strategy<Value = String> {
        let known = "\"\\ \t:=!@aß日".chars().collect::<Vec<_>>();
        let signs = prop::sample::select(known);
        prop::collection::vec(prop_oneof![4 => signs, 1 => any::<char>()], 0..12)
            .prop_map(|chars| chars.into_iter().collect())
    }

    fn any_word() -> impl Strategy<Value = (Option<String>, String)> {
        let text = any_text().prop_filter("no word", |text| !text.is_empty());
        prop_oneof![
            ("!?[a-z_]{1,8}", any_text()).prop_map(|(name, value)| (Some(name), value)),
            text.prop_map(|text| (None, text)),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(words in prop::collection::vec(any_word(), 0..6)) {
            let words: Vec<Word<'_>> = words
                .iter()
                .map(|(name, text)| match name {
                    Some(name) => Word::Token(name, text),
                    None => Word::Text(text),
                })
                .collect();
            let line = words.iter().map(|word| word.typed()).collect::<Vec<_>>().join(" ");
            let pieces = pieces(&line);
            let read: Vec<_> = pieces.iter().map(Piece::word).collect();
            prop_assert_eq!(read, words, "{}", line);
        }

        #[test]
        fn any_line_is_read_as_its_words_are_written(line in any_text()) {
            let first = pieces(&line);
            let written = first.iter().map(|one| one.word().typed()).collect::<Vec<_>>().join(" ");
            let again = pieces(&written);
            let words = |pieces: &[Piece<'_>]| -> Vec<String> {
                pieces.iter().map(|piece| format!("{:?}", piece.word())).collect()
            };
            prop_assert_eq!(words(&again), words(&first), "{} as {}", line, written);
            // What was typed, put together again, says the same.
            let raw = first.iter().map(|one| one.raw).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&pieces(&raw)), words(&first), "{} as {}", line, raw);
        }
    }

    #[test]
    fn times_are_read_and_other_text_is_refused() {
        let now = 1_000_000_000;
        assert_eq!(since("30m", now), Some(now - 1_800_000));
        assert_eq!(since("2d", now), Some(now - 172_800_000));
        for wrong in ["", "m", "5", "5ä", "日", "5 h", "-1h", "999999h"] {
            assert_eq!(since(wrong, now), None, "{wrong}");
        }
    }
}
