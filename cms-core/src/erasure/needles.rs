//! The spellings of an address in a text: plain, in a URL, in HTML. Pure.

/// Replaces the address in notes about others.
const CUT: &str = "[erased]";

/// The spellings of an address, in lower case.
#[derive(Clone)]
pub(super) struct Needles([String; 3]);

impl Needles {
    pub(super) fn of(address: &str) -> Self {
        let plain = address.to_ascii_lowercase();
        let in_url = percent_encoding::utf8_percent_encode(&plain, IN_URL).to_string();
        let in_html = plain.replace('&', "&amp;").replace('\'', "&#39;");
        Self([plain, in_url.to_ascii_lowercase(), in_html])
    }

    /// The spellings as patterns of `like ... escape '\'`.
    pub(super) fn patterns(&self) -> [String; 3] {
        self.0.clone().map(|one| {
            let escaped = one.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
            format!("%{escaped}%")
        })
    }

    /// Whether a text contains the address, and not only as part of a longer one.
    pub(super) fn held_in(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        self.0.iter().any(|needle| place(&lower, needle, 0).is_some())
    }

    /// The text with the address cut out.
    pub(super) fn cut(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for needle in &self.0 {
            let mut from = 0;
            while let Some(at) = place(&text.to_ascii_lowercase(), needle, from) {
                text.replace_range(at..at + needle.len(), CUT);
                from = at + CUT.len();
            }
        }
        text
    }

    /// The spellings as bytes, for files.
    pub(super) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|needle| needle.as_bytes())
    }
}

const IN_URL: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// The position of the address from a byte on, where it is not part of a longer one.
fn place(lower: &str, needle: &str, from: usize) -> Option<usize> {
    let found = lower.get(from..)?.match_indices(needle).map(|(at, _)| at + from);
    found
        .into_iter()
        .find(|at| !goes_on_before(&lower[..*at]) && !goes_on_after(&lower[at + needle.len()..]))
}

/// Whether the characters before belong to a longer address.
fn goes_on_before(before: &str) -> bool {
    let mut last = before.chars().rev();
    let (Some(one), two, three) = (last.next(), last.next(), last.next()) else { return false };
    // An escape of JSON or of a URL ends here: \n, \u000a, %0a.
    let is_escape = (two == Some('\\') && "nrtbf".contains(one))
        || before.len() >= 6 && before.as_bytes()[before.len() - 6..].starts_with(b"\\u")
        || three == Some('%')
            && one.is_ascii_hexdigit()
            && two.is_some_and(|c| c.is_ascii_hexdigit());
    !is_escape && (one.is_alphanumeric() || "._-+".contains(one))
}

/// Whether the characters after it belong to a longer address; a full stop alone ends a sentence.
fn goes_on_after(after: &str) -> bool {
    let mut next = after.chars();
    match next.next() {
        Some('.') => next.next().is_some_and(char::is_alphanumeric),
        Some(one) => one.is_alphanumeric() || one == '-' || one == '_',
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_held_as_a_whole() {
        let ada = Needles::of("Ada@Example.org");
        for (text, held) in [
            ("ada@example.org", true),
            ("{\"mail\":\"ADA@example.org\"}", true),
            ("Write to ada@example.org.", true),
            ("<ada@example.org>", true),
            ("line\\nada@example.org\\nend", true),
            ("?mail=ada%40example.org&x", true),
            ("?q=%22ada%40example.org%22", true),
            ("mailto:ada@example.org?subject", true),
            ("lada@example.org", false),
            ("l.ada@example.org", false),
            ("x+ada@example.org", false),
            ("ada@example.org.uk", false),
            ("ada@example.organic", false),
            ("ada@example", false),
            ("", false),
        ] {
            assert_eq!(ada.held_in(text), held, "{text}");
        }
        assert!(Needles::of("o'neil+1@example.org").held_in("<p>o&#39;neil+1@example.org</p>"));
        assert!(Needles::of("a+b@x.org").held_in("?m=a%2Bb%40x.org"));
        assert_eq!(ada.cut("Ada@example.org, lada@example.org"), "[erased], lada@example.org");
    }
}
