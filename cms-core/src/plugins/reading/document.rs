//! Parses text as JSON, with the offset of every value.

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions,
    ast::Value,
    common::Ranged,
    errors::{ParseError, ParseErrorKind},
    parse_to_ast,
};

use crate::plugins::{Problem, problem::Place};

pub(super) const TOO_DEEP: &str = "nested too deeply: at most 64 levels are read";

/// The text of a file. A byte order mark is a problem; the text after it is still read.
pub(super) fn decode<'b>(bytes: &'b [u8], problems: &mut Vec<Problem>) -> Result<&'b str, Problem> {
    let start = Place { line: 1, column: 1 };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let remedy = "the file begins with a byte order mark of UTF-16: save it as UTF-8";
        return Err(Problem::new("", remedy).at(start));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let place = super::Lines::new(&before).place(before.len());
        Problem::new("", "the file is not UTF-8 here: save it as UTF-8").at(place)
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => {
            let remedy = "the file begins with a byte order mark: save it as UTF-8 without one";
            problems.push(Problem::new("", remedy).at(start));
            rest
        }
        None => text,
    })
}

/// JSON with its faults, each with offset and remedy.
pub(super) struct Document<'t> {
    /// `None`: the text is not JSON.
    pub(super) root: Option<Value<'t>>,
    pub(super) faults: Vec<(usize, String)>,
}

impl<'t> Document<'t> {
    /// Parses JSON and continues after comments and trailing commas. Refuses more than `levels`
    /// levels, because code that walks the result recurses.
    pub(super) fn parse(text: &'t str, levels: usize) -> Self {
        if let Some(start) = too_deep(text, levels) {
            return Self { root: None, faults: vec![(start, TOO_DEEP.to_owned())] };
        }
        let mut options = ParseOptions {
            allow_comments: false,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let collect =
            CollectOptions { comments: CommentCollectionStrategy::Separate, tokens: false };
        let mut faults = Vec::new();
        loop {
            match parse_to_ast(text, &collect, &options) {
                Ok(parsed) => {
                    let comments = parsed.comments.unwrap_or_default();
                    let comments = comments.values().flat_map(|list| list.iter());
                    let starts = comments.map(|comment| comment.range().start);
                    let starts: std::collections::BTreeSet<_> = starts.collect();
                    let remedy = "a comment: JSON has none, remove it";
                    faults.extend(starts.into_iter().map(|start| (start, remedy.to_owned())));
                    if parsed.value.is_none() {
                        let remedy = "there is nothing here: begin with {\"id\": \"...\"}";
                        faults.push((0, remedy.to_owned()));
                    } else if faults.is_empty() {
                        faults.extend(second_opinion(text));
                    }
                    return Self { root: parsed.value, faults };
                }
                Err(error) => match error.kind() {
                    ParseErrorKind::CommentsNotAllowed if !options.allow_comments => {
                        options.allow_comments = true;
                    }
                    ParseErrorKind::TrailingCommasNotAllowed if !options.allow_trailing_commas => {
                        faults.push((error.range().start, remedy(&error)));
                        options.allow_trailing_commas = true;
                    }
                    _ => {
                        faults.push((error.range().start, remedy(&error)));
                        return Self { root: None, faults };
                    }
                },
            }
        }
    }
}

/// The bracket that opens a level beyond the limit. Reads each byte once.
fn too_deep(text: &str, levels: usize) -> Option<usize> {
    let (mut open, mut bytes) = (0_usize, text.bytes().enumerate().peekable());
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                open += 1;
                if open > levels {
                    return Some(at);
                }
            }
            b']' | b'}' => open = open.saturating_sub(1),
            b'"' => loop {
                match bytes.next()?.1 {
                    b'\\' => drop(bytes.next()),
                    b'"' => break,
                    _ => {}
                }
            },
            b'/' if bytes.next_if(|(_, next)| *next == b'/').is_some() => {
                bytes.find(|(_, next)| *next == b'\n' || *next == b'\r');
            }
            b'/' if bytes.next_if(|(_, next)| *next == b'*').is_some() => {
                let mut before = b' ';
                let mut ends = |next| std::mem::replace(&mut before, next) == b'*' && next == b'/';
                bytes.find(|(_, next)| ends(*next));
            }
            _ => {}
        }
    }
    None
}

/// Faults that only serde_json finds, such as control characters in text and numbers like `01`.
fn second_opinion(text: &str) -> Option<(usize, String)> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let start = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    let mut start = start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    Some((start, format!("this is no JSON: {said}")))
}

fn remedy(error: &ParseError) -> String {
    use ParseErrorKind as Kind;
    let remedy = match error.kind() {
        Kind::TrailingCommasNotAllowed => "a comma after the last element: remove it",
        Kind::ExpectedComma => "a comma is missing before this",
        Kind::ExpectedColonAfterObjectKey => "a colon is missing after the member's name",
        Kind::ExpectedObjectValue => "the member has no value: write one after the colon",
        Kind::ExpectedStringObjectProperty => "write the member's name in double quotes",
        Kind::SingleQuotedStringsNotAllowed => "write text in double quotes",
        Kind::MultipleRootJsonValues => "more follows the end of the JSON: remove it",
        Kind::NestingDepthExceeded => TOO_DEEP,
        Kind::UnterminatedObject => "this object does not end: close it with }",
        Kind::UnterminatedArray => "this array does not end: close it with ]",
        Kind::UnterminatedCommentBlock => "a comment: JSON has none, remove it",
        other => return format!("this is no JSON: {}", other.to_string().to_lowercase()),
    };
    remedy.to_owned()
}

#[cfg(test)]
mod tests {
    use super::too_deep;

    #[test]
    fn levels_are_counted_outside_of_text_and_comments() {
        for (text, at) in [
            ("[[]]", None),
            ("[[[]]]", Some(2)),
            ("[], [[]], {}", None),
            (r#"["[[[", "\"[[[", ["\\"], {"[": [1]}]"#, Some(31)),
            ("// \" [[[\n[[[", Some(11)),
            ("/* \" [[[ **/ [/[[", Some(16)),
            ("/*/ [[[ */ [[{", Some(13)),
            ("\"[[[", None),
            ("/* [[[", None),
        ] {
            assert_eq!(too_deep(text, 2), at, "{text}");
        }
    }
}
