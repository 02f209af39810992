//! Finds an address in a text, however the address is spelled: in a URL, in HTML, in JSON. Pure.
//!
//! `places` alone decides. The database only preselects rows, by parts of the address that
//! both engines find alike.

use std::{collections::BTreeSet, ops::Range};

/// Replaces the address in notes about others.
const CUT: &str = "[erased]";
/// What a local part may hold besides letters, digits and dots (RFC 5322, 3.2.3), but without
/// `!#&/=?|`: these delimit addresses in URLs and lists.
const ATOM: &str = "$%'*+-^_`{}~";

/// The spellings of an address.
#[derive(Clone)]
pub(super) struct Needles {
    /// In lower case; the domain as ASCII, and as people write it.
    spellings: Vec<Vec<char>>,
    /// A part of the local part, and for each spelling of the domain a part of it. These parts
    /// have no other spelling; they are in lower case.
    local: String,
    domains: [String; 2],
    /// Whether the address itself may look percent-encoded.
    has_percent: bool,
    /// The spellings in files, with ASCII letters in lower case.
    in_files: BTreeSet<String>,
}

impl Needles {
    pub(super) fn of(address: &str) -> Self {
        let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
        let domains = [domain.to_lowercase(), idna::domain_to_unicode(domain).0];
        let spellings: BTreeSet<String> =
            domains.iter().map(|domain| format!("{local}@{domain}")).collect();
        let lower =
            |text: &String| -> Vec<char> { text.chars().flat_map(char::to_lowercase).collect() };
        Self {
            spellings: spellings.iter().map(lower).collect(),
            local: plain_part(local, char::is_ascii_alphanumeric),
            domains: domains.map(|domain| plain_part(&domain, char::is_ascii)),
            has_percent: local.contains('%'),
            in_files: spellings.iter().flat_map(|spelling| in_files(spelling)).collect(),
        }
    }

    /// Patterns of `like` that preselect rows. Their parts have no `%`, `_` or `\`.
    pub(super) fn patterns(&self) -> [String; 2] {
        self.domains.each_ref().map(|domain| format!("%{}%{domain}%", self.local))
    }

    /// Whether a text contains the address, and not only as part of a longer one.
    pub(super) fn held_in(&self, text: &str) -> bool {
        !self.places(text).is_empty()
    }

    /// The text with the address cut out.
    pub(super) fn cut(&self, text: &str) -> String {
        let (mut cut, mut from) = (String::with_capacity(text.len()), 0);
        for place in self.places(text) {
            if place.start >= from {
                cut.push_str(&text[from..place.start]);
                cut.push_str(CUT);
                from = place.end;
            }
        }
        cut.push_str(&text[from..]);
        cut
    }

    /// The spellings as bytes, for files.
    pub(super) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.in_files.iter().map(String::as_bytes)
    }

    /// The bytes of a text that are the address, where it is not part of a longer one.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let lower = text.to_ascii_lowercase();
        let has = |part: &String| lower.contains(part.as_str());
        if !has(&self.local) || !self.domains.iter().any(has) {
            return Vec::new();
        }
        let chars: Vec<Char> = text.char_indices().map(|(at, char)| (char, at)).collect();
        let chars = decoded(&decoded(&chars, json), html);
        let mut places = self.places_in(&decoded(&chars, percent), text.len());
        if self.has_percent {
            places.extend(self.places_in(&chars, text.len()));
            places.sort_by_key(|place| place.start);
        }
        places
    }

    /// As [`Needles::places`], in the decoded characters of a text with `end` bytes.
    fn places_in(&self, chars: &[Char], end: usize) -> Vec<Range<usize>> {
        let lower = chars.iter().flat_map(|&(char, at)| char.to_lowercase().map(move |c| (c, at)));
        let lower: Vec<Char> = lower.collect();
        let mut places = Vec::new();
        for (index, &(_, from)) in lower.iter().enumerate() {
            let (before, here) = lower.split_at(index);
            let is_here = |spelling: &&Vec<char>| {
                here.len() >= spelling.len() && here.iter().zip(*spelling).all(|(c, s)| c.0 == *s)
            };
            if let Some(spelling) = self.spellings.iter().find(is_here) {
                let after = &here[spelling.len()..];
                if !goes_on_before(before, after) && !goes_on_after(after) {
                    places.push(from..after.first().map_or(end, |(_, at)| *at));
                }
            }
        }
        places
    }
}

/// The longest part of a text without characters that have other spellings, in lower case.
fn plain_part(text: &str, is_plain: fn(&char) -> bool) -> String {
    let parts = text.split(|char: char| !is_plain(&char));
    parts.max_by_key(|part| part.len()).unwrap_or_default().to_ascii_lowercase()
}

/// How a file may hold an address. Capitals beyond ASCII are found where all letters are capitals.
fn in_files(address: &str) -> Vec<String> {
    let cases = [address.to_lowercase(), address.to_uppercase()];
    let spelled = cases.iter().flat_map(|address| {
        [
            address.clone(),
            percent_encoding::utf8_percent_encode(address, IN_URL).to_string(),
            address.replace('@', "%40"),
            address.replace('&', "&amp;").replace('\'', "&#39;"),
        ]
    });
    spelled.map(|spelling| spelling.to_ascii_lowercase()).collect()
}

const IN_URL: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// A character, and the byte of the text where it begins.
type Char = (char, usize);
/// Decodes the escape at the start of some characters: what it stands for, and its length.
type Decode = fn(&[Char]) -> Option<(char, usize)>;

fn decoded(chars: &[Char], decode: Decode) -> Vec<Char> {
    let (mut meant, mut at) = (Vec::with_capacity(chars.len()), 0);
    while let Some(&(char, from)) = chars.get(at) {
        let (char, length) = decode(&chars[at..]).unwrap_or((char, 1));
        meant.push((char, from));
        at += length;
    }
    meant
}

/// `\n`, `\"`, `\u0040`.
fn json(chars: &[Char]) -> Option<(char, usize)> {
    let [('\\', _), (kind, _), ..] = chars else { return None };
    match kind {
        '"' | '\\' | '/' => Some((*kind, 2)),
        'n' | 'r' | 't' | 'b' | 'f' => Some(('\n', 2)),
        'u' => {
            let digits: String = chars.get(2..6)?.iter().map(|(char, _)| char).collect();
            let code = u32::from_str_radix(&digits, 16).ok()?;
            Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 6))
        }
        _ => None,
    }
}

/// `&amp;`, `&#39;`, `&#x27;`.
fn html(chars: &[Char]) -> Option<(char, usize)> {
    let [('&', _), rest @ ..] = chars else { return None };
    let length = rest.iter().take(9).position(|(char, _)| *char == ';')?;
    let name: String = rest[..length].iter().map(|(char, _)| char).collect();
    let meant = match name.as_str() {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((meant, length + 2))
}

/// `%40`, `%C3%B6`. What is no UTF-8 stays as it is.
fn percent(chars: &[Char]) -> Option<(char, usize)> {
    let mut bytes = Vec::new();
    for escape in chars.chunks(3).take(4) {
        let [('%', _), (high, _), (low, _)] = escape else { return None };
        bytes.push(u8::try_from(high.to_digit(16)? * 16 + low.to_digit(16)?).ok()?);
        if let Ok(text) = std::str::from_utf8(&bytes) {
            return Some((text.chars().next()?, 3 * bytes.len()));
        }
    }
    None
}

/// Whether the characters before belong to a longer address: a letter or digit directly before the
/// address does, and marks do when a letter or digit stands before them (`o'neil`). Marks alone do
/// when a quoted value begins with them and ends with the address: `"_ada@example.org"`.
fn goes_on_before(before: &[Char], after: &[Char]) -> bool {
    let is_quoted = after.first().is_some_and(|(char, _)| *char == '"');
    let (mut next, mut has_letter) = (None, false);
    for &(char, _) in before.iter().rev() {
        match char {
            // Another address ends here: `ada@example.org'bob@example.org`.
            '@' => return false,
            '"' if is_quoted => return has_letter || next.is_some_and(|next| next != '.'),
            // An address has no two dots in a row.
            '.' if next == Some('.') => break,
            char if char.is_alphanumeric() && next.is_none() => return true,
            char if char.is_alphanumeric() => has_letter = true,
            char if char != '.' && !ATOM.contains(char) => break,
            _ => {}
        }
        next = Some(char);
    }
    has_letter
}

/// Whether the characters after it belong to a longer address. A full stop ends a sentence, `-`
/// and `_` mark words, unless a letter or digit follows.
fn goes_on_after(after: &[Char]) -> bool {
    let mut next = after.iter().map(|(char, _)| *char).peekable();
    if next.next_if_eq(&'.').is_none() {
        while next.next_if(|char| matches!(char, '-' | '_')).is_some() {}
    }
    next.next().is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_held_as_a_whole() {
        let ada = Needles::of("Ada@example.org");
        for (text, held) in [
            ("ada@example.org", true),
            ("{\"mail\":\"ADA@example.org\"}", true),
            ("Write to ada@example.org.", true),
            ("wait...ada@example.org", true),
            ("<ada@example.org>", true),
            ("&lt;ada@example.org&gt;", true),
            ("line\\nada@example.org\\nend", true),
            ("\\\"ada\\u0040example.org\\\"", true),
            ("?mail=ada%40example.org&x", true),
            ("a=1&mail=ada@example.org", true),
            ("?q=%22ada%40example.org%22", true),
            ("?q=%0aada%40example.org%20x", true),
            ("https://x.example/u/ada@example.org", true),
            ("https://x.example/?u=/u/ada@example.org", true),
            ("mailto:ada@example.org?subject", true),
            ("'ada@example.org'", true),
            ("_ada@example.org_ is mine", true),
            ("-ada@example.org-", true),
            ("%ada@example.org", true),
            ("bob@example.org/ada@example.org", true),
            ("bob@example.org|ada@example.org", true),
            ("bob@example.org&ada@example.org", true),
            ("bob@example.org'ada@example.org", true),
            ("'bob@example.org','ada@example.org'", true),
            ("https://x.example/?m=x/ada@example.org", true),
            ("\"ada@example.org\"", true),
            ("\"'ada@example.org'\"", true),
            ("\"...ada@example.org\"", true),
            ("\"- ada@example.org\"", true),
            ("\"_ada@example.org is mine\"", true),
            ("{\"mail\":\"_ada@example.org\"}", false),
            ("\"'ada@example.org\"", false),
            ("\"+ada@example.org\"", false),
            ("?q=%22-ada%40example.org%22", false),
            ("lada@example.org", false),
            ("l.ada@example.org", false),
            ("l%2eada%40example.org", false),
            ("x+ada@example.org", false),
            ("x%2Bada%40example.org", false),
            ("d'ada@example.org", false),
            ("d%27ada%40example.org", false),
            ("d&#39;ada@example.org", false),
            ("d\\u0027ada@example.org", false),
            ("\\u00fcada@example.org", false),
            ("x__ada@example.org", false),
            ("x--ada@example.org", false),
            ("ada@example.org.uk", false),
            ("ada@example.org%2Euk", false),
            ("ada@example.organic", false),
            ("ada@example.org-x", false),
            ("ada@example.org_x", false),
            ("ada@example", false),
            ("adam, eve@example.org", false),
            ("", false),
        ] {
            assert_eq!(ada.held_in(text), held, "{text}");
        }
        for char in ATOM.chars() {
            assert!(!ada.held_in(&format!("x{char}ada@example.org")), "{char}");
        }
        for char in "!#&/=?|".chars() {
            assert!(ada.held_in(&format!("x{char}ada@example.org")), "{char}");
        }
        assert_eq!(
            ada.cut("Ada@Example.org, ada%40example.org, lada@example.org"),
            "[erased], [erased], lada@example.org"
        );
    }

    /// Whether the text matches one of the patterns, as the database matches it.
    fn is_preselected(needles: &Needles, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        needles.patterns().iter().any(|pattern| {
            let mut parts = pattern.split('%');
            parts.try_fold(lower.as_str(), |rest, part| Some(rest.split_once(part)?.1)).is_some()
        })
    }

    #[test]
    fn every_spelling_is_found() {
        for (address, text) in [
            ("o'neil+1@example.org", "<p>o&#39;neil+1@example.org</p>"),
            ("a+b@x.org", "?m=a%2Bb%40x.org"),
            ("a+b@x.org", "?m=a+b%40x.org"),
            ("a%41b@x.org", "a%41b@x.org"),
            ("a%41b@x.org", "?m=a%2541b@x.org"),
            ("JÖRG@example.org", "JÖRG@example.org"),
            ("JÖRG@example.org", "jörg@example.org"),
            ("jörg@example.org", "JÖRG@EXAMPLE.ORG"),
            ("jörg@example.org", "?m=J%C3%96RG%40example.org"),
            ("jörg@example.org", "j\\u00f6rg@example.org"),
            ("ö@example.org", "?m=%C3%96%40example.org"),
            ("ida@xn--bcher-kva.example", "ida@xn--bcher-kva.example"),
            ("ida@xn--bcher-kva.example", "to IDA@BÜCHER.example!"),
            ("ida@xn--bcher-kva.example", "?m=ida%40b%C3%BCcher.example"),
        ] {
            let needles = Needles::of(address);
            assert!(needles.held_in(text), "{address} in {text}");
            assert!(is_preselected(&needles, text), "{address} in {text}");
        }
        assert!(!is_preselected(&Needles::of("ada@example.org"), "eve@example.org"));
        let held = |address: &str, text: &str| {
            Needles::of(address).bytes().any(|bytes| bytes == text.as_bytes())
        };
        assert!(held("a+b@x.org", "a+b%40x.org") && held("a+b@x.org", "a%2bb%40x.org"));
        assert!(held("JÖRG@x.org", "jörg@x.org") && held("jörg@x.org", "jÖrg@x.org"));
        assert!(held("i@xn--bcher-kva.example", "i@bücher.example"));
    }
}
