//! The JSON of a request, measured before it is parsed. A parsed tree takes up to eighty times
//! the bytes of its text, so a limit on the bytes alone does not limit memory.

use std::ops::Range;

use bytes::Bytes;
use cms_core::{Code, Error, Result, content::significant_digits};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// The deepest nesting of values.
const MOST_DEPTH: usize = 64;

/// Bytes that a parsed tree takes: `OBJECT` for the first leaf of an object's B-tree, `MEMBER`
/// for each further member (leaves may be half full), `ARRAY` for an array and `ELEMENT` for each
/// further element (vectors double), `TEXT` for what the allocator adds to each text.
const OBJECT: u64 = 640;
const MEMBER: u64 = 128;
const ARRAY: u64 = 128;
const ELEMENT: u64 = 64;
const TEXT: u64 = 32;

/// A text within the limits on JSON. Only parsing tells whether it is JSON.
#[derive(Debug)]
pub struct Unparsed {
    raw: Bytes,
    /// The most bytes that its tree takes.
    memory: u64,
    /// A text may hold U+0000.
    may_hold_nul: bool,
    /// The first number that a parsed number does not keep.
    rounded: Option<Range<usize>>,
}

impl Unparsed {
    /// Measures a text.
    pub(crate) fn new(raw: Bytes, most: usize) -> Result<Self> {
        let mut measure = Measure::default();
        measure.run(&raw, most)?;
        let Measure { memory, may_hold_nul, rounded, .. } = measure;
        Ok(Self { raw, memory, may_hold_nul, rounded })
    }

    /// The most bytes that its tree takes.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// The members that `K` has, without parsing the rest. None: they cannot be read alone;
    /// parsing the whole text then says why.
    pub(crate) fn first<K: DeserializeOwned>(&self) -> Option<K> {
        if self.may_hold_nul {
            return None;
        }
        serde_json::from_slice(&self.raw).ok()
    }

    /// Parses the text.
    ///
    /// # Errors
    /// `bad_json`; `validation_failed` for texts and numbers that cannot be stored as they are.
    pub(crate) fn parse(self) -> Result<Json> {
        let Self { raw, may_hold_nul, rounded, .. } = self;
        let json = serde_json::from_slice(&raw)
            .map_err(|e| Error::new(Code::BadJson, format!("The body is not JSON: {e}.")))?;
        if let Some(field) = may_hold_nul.then(|| with_nul(&json)).flatten() {
            let message = "text cannot hold the character U+0000";
            return Err(Error::invalid_field(field, "format", message));
        }
        if let Some(number) = rounded {
            let number = String::from_utf8_lossy(&raw[number]);
            let message = format!(
                "{number} does not fit into a number, which keeps 17 digits: round it, or send it \
                 as text to a column of another type"
            );
            return Err(Error::invalid_field("body", "range", message));
        }
        Ok(json)
    }
}

/// The size of a text, found in one pass without a parser. For a text that is not JSON, at least
/// the size of what a parser would make before the fault.
#[derive(Debug, Default)]
struct Measure {
    /// Values: objects, arrays and what they hold.
    nodes: usize,
    depth: usize,
    /// The levels that are objects, the innermost in the lowest bit.
    objects: u64,
    memory: u64,
    may_hold_nul: bool,
    rounded: Option<Range<usize>>,
}

impl Measure {
    fn run(&mut self, text: &[u8], most: usize) -> Result<()> {
        self.nodes = 1;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            at += match byte {
                b'"' => self.string(&text[at..]),
                b'-' | b'0'..=b'9' => self.number(text, at),
                b'{' | b'[' => {
                    self.open(byte == b'{', &text[at + 1..])?;
                    1
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.objects >>= 1;
                    1
                }
                b',' => {
                    self.nodes += 1;
                    self.memory += if self.objects & 1 == 1 { MEMBER } else { ELEMENT };
                    1
                }
                _ => 1,
            };
            if self.nodes > most {
                let message = format!("holds more than {most} values: send fewer, or in parts");
                return Err(Error::invalid_field("body", "range", message));
            }
        }
        Ok(())
    }

    fn open(&mut self, is_object: bool, rest: &[u8]) -> Result<()> {
        if self.depth == MOST_DEPTH {
            let message = format!("is nested deeper than {MOST_DEPTH} levels");
            return Err(Error::invalid_field("body", "range", message));
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u64::from(is_object);
        // An empty object or array allocates nothing.
        let first = rest.iter().find(|byte| !byte.is_ascii_whitespace());
        if !matches!(first, Some(b'}' | b']') | None) {
            self.nodes += 1;
            self.memory += if is_object { OBJECT } else { ARRAY };
        }
        Ok(())
    }

    /// The length of the string that the text begins with.
    fn string(&mut self, text: &[u8]) -> usize {
        let mut at = 1;
        while let Some(byte) = text.get(at) {
            match byte {
                b'"' => break,
                b'\\' => {
                    self.may_hold_nul |= text[at..].starts_with(b"\\u0000");
                    at += 2;
                }
                _ => at += 1,
            }
        }
        self.memory += TEXT + at as u64;
        at + 1
    }

    /// The length of the number at this place.
    fn number(&mut self, text: &[u8], at: usize) -> usize {
        let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let length = text[at..].iter().take_while(is_part).count();
        if self.rounded.is_none() && !is_kept(&text[at..at + length]) {
            self.rounded = Some(at..at + length);
        }
        length
    }
}

/// Whether a parsed number keeps all its digits: at most 17, or an integer of 64 bits. A number too
/// small would become zero.
fn is_kept(number: &[u8]) -> bool {
    let digits = significant_digits(number).count();
    let text = || std::str::from_utf8(number).unwrap_or_default();
    let has_exponent = || number.iter().any(|byte| matches!(byte, b'e' | b'E'));
    let may_vanish = digits > 0 && (number.len() > 300 || has_exponent());
    if may_vanish && text().parse::<f64>() == Ok(0.0) {
        return false;
    }
    digits <= 17 || text().parse::<i64>().is_ok() || text().parse::<u64>().is_ok()
}

/// The first text with U+0000, which PostgreSQL cannot hold: `rights[0].endpoint`; `body` when the
/// body is that text.
fn with_nul(json: &Json) -> Option<String> {
    let path = match json {
        Json::String(text) => return text.contains('\0').then(|| "body".to_owned()),
        Json::Array(entries) => {
            let mut entries = entries.iter().enumerate();
            entries.find_map(|(index, one)| Some((format!("[{index}]"), with_nul(one)?)))?
        }
        Json::Object(members) => members.iter().find_map(|(name, one)| {
            let inner = if name.contains('\0') { "body".to_owned() } else { with_nul(one)? };
            Some((name.replace('\0', "\\u0000"), inner))
        })?,
        _ => return None,
    };
    Some(match path {
        (outer, inner) if inner == "body" => outer,
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn measured(text: &str) -> Measure {
        let mut measure = Measure::default();
        measure.run(text.as_bytes(), usize::MAX).expect("within its bounds");
        measure
    }

    fn refusal(text: &str, most: usize) -> String {
        let refused = Unparsed::new(Bytes::copy_from_slice(text.as_bytes()), most).expect_err(text);
        assert_eq!(refused.code(), Code::ValidationFailed, "{text}");
        refused.fields()[0].message.clone()
    }

    #[test]
    fn nul_is_found_wherever_it_stands() {
        for (text, expected) in [
            (r#"{"a":"x\u0000"}"#, Some("a")),
            (r#"{"a":[{"b":"\u0000"}]}"#, Some("a[0].b")),
            (r#"[{"a":""},{"b":"\u0000"}]"#, Some("[1].b")),
            (r#"{"a":{"x\u0000":1}}"#, Some("a.x\\u0000")),
            (r#""\u0000""#, Some("body")),
            (r#"{"a":"\\u0000"}"#, None),
            (r#"{"a":"\u00000"}"#, Some("a")),
            (r#"{"a":0}"#, None),
        ] {
            let json = serde_json::from_str(text).expect("JSON");
            assert_eq!(with_nul(&json).as_deref(), expected, "{text}");
            assert_eq!(measured(text).may_hold_nul, expected.is_some(), "{text}");
        }
    }

    #[test]
    fn a_number_keeps_its_digits_or_is_refused() {
        for (number, is_kept) in [
            ("0", true),
            ("-12345678901234567", true),
            ("0.00012345678901234567", true),
            ("123456789012345670000000000", true),
            ("18446744073709551615", true),
            ("18446744073709551616", false),
            ("0.123456789012345678", false),
            ("1.2345678901234567e300", true),
            ("5e-324", true),
            ("0e-400", true),
            ("1e-400", false),
        ] {
            assert_eq!(super::is_kept(number.as_bytes()), is_kept, "{number}");
            assert_eq!(
                measured(&format!("[\"99999999999999999999\",{number}]")).rounded.is_none(),
                is_kept
            );
        }
    }

    #[test]
    fn values_and_levels_are_bounded() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Unparsed::new(nested(MOST_DEPTH).into(), 64).is_ok());
        assert!(refusal(&nested(MOST_DEPTH + 1), 1000).contains("64 levels"));
        assert!(refusal(&"{\"a\":".repeat(100_000), 20_000).contains("64 levels"));
        assert!(Unparsed::new("[1,2,{\"a\":\",,[[{{\"}]".into(), 5).is_ok());
        assert!(refusal("[1,2,{\"a\":3}]", 4).contains("more than 4 values"));
        let maps = "{\"a\":1},".repeat(120_000);
        assert!(refusal(&format!("{{\"answers\":[{maps}0]}}"), 5000).contains("5000 values"));
    }

    /// What a tree takes at least: a leaf for each seven members of an object, the places of a
    /// vector.
    fn tree(json: &Json) -> (usize, usize, u64) {
        let inside = |(nodes, depth, memory): (usize, usize, u64), one: &Json| {
            let (more, deep, bytes) = tree(one);
            (nodes + more, depth.max(deep), memory + bytes)
        };
        match json {
            Json::Array(values) => {
                let (nodes, depth, memory) = values.iter().fold((1, 0, 0), inside);
                (nodes, depth + 1, memory + 32 * values.len() as u64)
            }
            Json::Object(members) => {
                let (nodes, depth, memory) = members.values().fold((1, 0, 0), inside);
                let names: usize = members.keys().map(String::len).sum();
                let leaves = members.len().div_ceil(7) as u64;
                (nodes, depth + 1, memory + 632 * leaves + names as u64)
            }
            Json::String(text) => (1, 0, text.len() as u64),
            _ => (1, 0, 0),
        }
    }

    fn json() -> impl Strategy<Value = Json> {
        let number = prop_oneof![
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
        ];
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            number,
            ".*".prop_map(Json::from),
            "[\"\\\\,{}\\[\\]:\u{0}]{0,6}".prop_map(Json::from),
        ];
        leaf.prop_recursive(6, 80, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Json::from),
                prop::collection::btree_map(".{0,4}", inner, 0..12)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Every JSON is counted exactly, and charged no less than it takes.
        #[test]
        fn a_text_is_measured_as_it_is_parsed(json in json(), pretty in any::<bool>()) {
            let text = match pretty {
                true => serde_json::to_string_pretty(&json).expect("JSON"),
                false => json.to_string(),
            };
            let (nodes, depth, memory) = tree(&json);
            let mut found = Measure::default();
            found.run(text.as_bytes(), nodes).expect("within its bounds");
            prop_assert_eq!(found.nodes, nodes, "{}", text);
            prop_assert_eq!(found.depth, 0);
            prop_assert!(found.memory >= memory, "{} < {memory}: {text}", found.memory);
            prop_assert!(Measure::default().run(text.as_bytes(), nodes - 1).is_err());
            let most = Measure::default();
            prop_assert!(depth <= MOST_DEPTH && most.rounded.is_none());
        }

        /// What is cut, changed or no JSON at all is accepted and refused as serde_json does.
        #[test]
        fn only_what_is_json_is_accepted(
            json in json(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let mut text = json.to_string().into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            if cut {
                text.truncate(at);
            }
            let plain = serde_json::from_slice::<Json>(&text);
            match Unparsed::new(text.clone().into(), usize::MAX).and_then(Unparsed::parse) {
                Ok(parsed) => prop_assert_eq!(parsed, plain.expect("JSON too")),
                Err(error) if error.code() == Code::BadJson => prop_assert!(plain.is_err()),
                Err(error) => prop_assert_eq!(error.code(), Code::ValidationFailed),
            }
        }

        /// Names that come twice count twice; the last of them stays.
        #[test]
        fn names_may_come_twice(names in prop::collection::vec("[ab]", 1..20)) {
            let members = names.iter().enumerate().map(|(n, name)| format!("{name:?}:{n}"));
            let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
            prop_assert_eq!(measured(&text).nodes, 1 + names.len());
            let parsed = Unparsed::new(text.clone().into(), 100).and_then(Unparsed::parse);
            let plain = serde_json::from_str::<Json>(&text).expect("JSON");
            prop_assert_eq!(parsed.expect("JSON"), plain);
        }
    }
}
