//! Regular expressions with limits: none takes more than linear time, or more than a MiB.

use std::{borrow::Cow, sync::OnceLock};

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::scalar::folded;
use crate::ground::effort;

/// Bytes of a pattern at most.
pub(super) const LENGTH: usize = 512;
/// Most bytes of a compiled pattern, and of the cache of a search.
const SIZE: usize = 1 << 20;
const NEST: u32 = 50;
/// Characters of a text that are searched at most.
const SUBJECT: usize = 5000;

/// Most patterns of a condition that are searched for.
pub(super) const MOST: usize = 20;
/// Most states of all patterns that are saved together: a search visits each state for each byte.
pub(crate) const MOST_STATES: usize = 2000;

/// A pattern, compiled on its first search: a drawing may have many that no visitor reaches.
#[derive(Debug)]
pub(super) struct Pattern {
    text: String,
    ci: bool,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) fn new(text: &str, ci: bool) -> Option<Self> {
        let fits = text.len() <= LENGTH && !text.trim().is_empty();
        fits.then(|| Self { text: text.to_owned(), ci, compiled: OnceLock::new() })
    }

    /// Whether the pattern occurs in the beginning of a text; a bad one occurs nowhere.
    pub(super) fn occurs(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| compile(&self.text, self.ci).ok());
        compiled.as_ref().is_some_and(|regex| occurs(regex, text))
    }
}

/// Why a pattern is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadPattern {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// Compiles a pattern, written bare or as `/pattern/imsx`.
pub(super) fn compile(text: &str, ci: bool) -> Result<Regex, BadPattern> {
    let bad = |code, message: &str| Err(BadPattern { code, message: message.to_owned() });
    if text.len() > LENGTH {
        return bad("regex_too_large", &format!("a pattern of at most {LENGTH} bytes is expected"));
    }
    let text = folded(text, false);
    let (pattern, flags) = parts(&text);
    let has = |flag: char| flags.contains(flag);
    let built = RegexBuilder::new(pattern)
        .case_insensitive(ci || has('i'))
        .multi_line(has('m'))
        .dot_matches_new_line(has('s'))
        .ignore_whitespace(has('x'))
        .size_limit(SIZE)
        .dfa_size_limit(SIZE)
        .nest_limit(NEST)
        .build();
    match built {
        Ok(regex) => Ok(regex),
        Err(regex::Error::CompiledTooBig(_)) => {
            bad("regex_too_large", "a pattern that needs less memory is expected")
        }
        Err(error) => {
            let error = error.to_string();
            if error.contains("look-around") {
                bad("regex_unsupported", "look-around is not supported")
            } else if error.contains("backreference") {
                bad("regex_unsupported", "a back-reference is not supported")
            } else {
                let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                bad("regex_invalid", why)
            }
        }
    }
}

/// How many states a search for the pattern may be in at once; None for a bad pattern.
pub(super) fn states(text: &str, ci: bool) -> Option<usize> {
    if text.len() > LENGTH {
        return None;
    }
    let text = folded(text, false);
    let (pattern, flags) = parts(&text);
    let has = |flag: char| flags.contains(flag);
    let mut parser = ParserBuilder::new();
    parser
        .case_insensitive(ci || has('i'))
        .multi_line(has('m'))
        .dot_matches_new_line(has('s'))
        .ignore_whitespace(has('x'))
        .nest_limit(NEST);
    effort::states(&parser, pattern)
}

/// The pattern and its flags.
fn parts(text: &str) -> (&str, &str) {
    let inner = text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    let is_flag = |flag: char| matches!(flag, 'i' | 'm' | 's' | 'x');
    inner.filter(|(_, flags)| flags.chars().all(is_flag)).unwrap_or((text, ""))
}

/// Whether the pattern occurs in the beginning of a text.
fn occurs(regex: &Regex, text: &str) -> bool {
    let text = folded(text, false);
    let text = match text.char_indices().nth(SUBJECT) {
        Some((end, _)) => Cow::Borrowed(&text[..end]),
        None => text,
    };
    regex.is_match(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_written_bare_or_between_slashes() {
        for (text, expected) in [
            ("a/b", ("a/b", "")),
            ("/a/b", ("/a/b", "")),
            ("/a/", ("a", "")),
            ("/a/b/ix", ("a/b", "ix")),
            ("/", ("/", "")),
            ("//", ("", "")),
            ("/a/g", ("/a/g", "")),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
        assert!(compile("/a\\/b/", false).expect("a pattern").is_match("xa/b"));
    }

    #[test]
    fn what_cannot_be_searched_for_is_told_apart() {
        let nested = "(".repeat(60) + &")".repeat(60);
        for (pattern, code, told) in [
            ("(?=x)y", "regex_unsupported", "look-around"),
            ("(?<!x)y", "regex_unsupported", "look-around"),
            ("(a)\\1", "regex_unsupported", "back-reference"),
            ("(", "regex_invalid", "unclosed group"),
            (&nested, "regex_invalid", "nest"),
            ("(\\pL{50}){50}", "regex_too_large", "memory"),
            (&"x".repeat(513), "regex_too_large", "512"),
        ] {
            let bad = compile(pattern, false).expect_err(pattern);
            assert_eq!(bad.code, code, "{pattern}: {}", bad.message);
            assert!(bad.message.contains(told), "{pattern}: {}", bad.message);
        }
    }

    #[test]
    fn the_end_of_a_long_text_is_not_searched() {
        let regex = compile("x", false).expect("a pattern");
        assert!(occurs(&regex, &format!("{}x", "ä".repeat(SUBJECT - 1))));
        assert!(!occurs(&regex, &format!("{}x", "ä".repeat(SUBJECT))));
    }
}
