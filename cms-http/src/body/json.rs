//! The JSON of a request, measured before it is parsed. A parsed tree takes up to eighty times
//! the bytes of its text, so a limit on the bytes alone does not limit memory.

use std::ops::Range;

use bytes::Bytes;
use cms_core::{Code, Error, Result, content::significant_digits};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// The deepest nesting of values.
pub(crate) const MOST_DEPTH: usize = 64;

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
mod tests;
