//! The words of a filter: `status:failed since:2d text`.

use crate::calls::Fault;

/// A word: a token with its value, or free text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word<'a> {
    Token(&'a str, &'a str),
    Text(&'a str),
}

pub(crate) fn words(filter: &str) -> impl Iterator<Item = Word<'_>> {
    filter.split_whitespace().map(Word::of)
}

impl<'a> Word<'a> {
    pub(crate) fn of(word: &'a str) -> Self {
        match word.split_once(':') {
            Some((name, value)) if !name.is_empty() => Self::Token(name, value),
            _ => Self::Text(word),
        }
    }
}

/// The words of a filter in which `"two words"` are one, and whether a word begins with a quote. A
/// quote that is not closed yet ends with the line.
pub(crate) fn quoted_words(filter: &str) -> Vec<(String, bool)> {
    let (mut words, mut word, mut is_open) = (Vec::new(), None::<(String, bool)>, false);
    for c in filter.chars() {
        match c {
            '"' => {
                is_open = !is_open;
                word.get_or_insert((String::new(), true));
            }
            c if c.is_whitespace() && !is_open => words.extend(word.take()),
            c => word.get_or_insert_default().0.push(c),
        }
    }
    words.extend(word);
    words.retain(|(word, _)| !word.is_empty());
    words
}

/// A value as one word of a filter.
pub(crate) fn quoted(value: &str) -> String {
    match value.contains(char::is_whitespace) {
        true => format!("\"{}\"", value.replace('"', "")),
        false => value.replace('"', ""),
    }
}

/// What is wrong with a word, and which there are.
pub(crate) fn unknown(word: &str, known: &str) -> Fault {
    Fault::new(format!("{word} is not understood; type {known}"))
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
    use super::*;

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
