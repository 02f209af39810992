//! Whether a text begins or ends with one of many texts, by one search in sorted order, and whether
//! it contains all of several texts, in one pass.

use aho_corasick::AhoCorasick;

/// Up to this many texts are searched for one by one.
const FEW: usize = 4;

/// Which side of a text is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Start,
    End,
}

/// Beginnings or ends to look for.
#[derive(Clone, Debug)]
pub(super) struct Affixes {
    side: Side,
    /// Sorted; ends are kept backwards. None begins with another, because the shorter one would
    /// be enough. So only the last one that does not sort after a text can be its beginning.
    sorted: Vec<Vec<u8>>,
}

impl Affixes {
    pub(super) fn new(side: Side, texts: &[String]) -> Self {
        let mut sorted: Vec<_> = texts.iter().map(|text| bytes(side, text)).collect();
        sorted.sort_unstable();
        sorted.dedup_by(|next, kept| next.starts_with(kept));
        Self { side, sorted }
    }

    /// Whether the text begins or ends with one of them.
    pub(super) fn fit(&self, text: &str) -> bool {
        match (&*self.sorted, self.side) {
            ([], _) => false,
            ([only], Side::Start) => text.as_bytes().starts_with(only),
            (sorted, side) => {
                let text = bytes(side, text);
                let after = sorted.partition_point(|affix| *affix <= text);
                after > 0 && text.starts_with(&sorted[after - 1])
            }
        }
    }
}

fn bytes(side: Side, text: &str) -> Vec<u8> {
    match side {
        Side::Start => text.bytes().collect(),
        Side::End => text.bytes().rev().collect(),
    }
}

/// Drops every text that is the ending of another.
fn longest_endings(texts: Vec<String>) -> Vec<String> {
    let mut texts: Vec<_> = texts.into_iter().map(|text| (bytes(Side::End, &text), text)).collect();
    // Longer ones first among those that begin alike.
    texts.sort_unstable_by(|(one, _), (two, _)| two.cmp(one));
    texts.dedup_by(|(next, _), (kept, _)| kept.starts_with(next));
    texts.into_iter().map(|(_, text)| text).collect()
}

/// Texts to search for.
#[derive(Clone, Debug)]
pub(super) struct Needles {
    /// None is the ending of another, because the longer one contains it. So at most one ends at
    /// any place.
    texts: Vec<String>,
    search: Option<AhoCorasick>,
}

impl Needles {
    /// None for more texts than one search can take: no text counts as containing them.
    pub(super) fn new(texts: Vec<String>) -> Option<Self> {
        let texts = longest_endings(texts);
        let search = (texts.len() > FEW).then(|| AhoCorasick::new(&texts)).transpose().ok()?;
        Some(Self { texts, search })
    }

    /// Whether the text holds all of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let Some(search) = &self.search else {
            return self.texts.iter().all(|needle| text.contains(needle));
        };
        let mut left = self.texts.len();
        let mut found = vec![false; left];
        for place in search.find_overlapping_iter(text) {
            if let Some(seen) = found.get_mut(place.pattern().as_usize())
                && !std::mem::replace(seen, true)
            {
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_affixes_are_found_as_few_are() {
        let texts = ["a", "ab", "abc", "b", "ba", "cab", "ü", "üa", "aü", "c", "abd", "abcd"];
        let owned: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        for from in 0..texts.len() {
            for until in from..=texts.len() {
                let chosen = &owned[from..until];
                let start = Affixes::new(Side::Start, chosen);
                let end = Affixes::new(Side::End, chosen);
                for text in texts.iter().chain(&["", "xab", "abx", "bab", "zzz"]) {
                    let expected = chosen.iter().any(|affix| text.starts_with(affix.as_str()));
                    assert_eq!(start.fit(text), expected, "{text} starts {chosen:?}");
                    let expected = chosen.iter().any(|affix| text.ends_with(affix.as_str()));
                    assert_eq!(end.fit(text), expected, "{text} ends {chosen:?}");
                }
            }
        }
    }

    #[test]
    fn many_needles_are_found_as_few_are() {
        let needles = |texts: &str| texts.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (texts, text) in [
            ("a b c d e f", "fedcba"),
            ("a b c d e f", "fedcb"),
            ("a aa aaa aaaa aaaaa b", "baaaaa"),
            ("a aa aaa aaaa aaaaa b", "baaaa"),
            ("ab bc cd de ef fg", "abcdefg"),
            ("ab bc cd de ef fg", "abcdef"),
            ("a a a a a a", "a"),
            ("ä ö ü äö öü ß", "äöüß"),
        ] {
            let expected = needles(texts).iter().all(|needle| text.contains(needle));
            let found = Needles::new(needles(texts)).expect("few").are_in(text);
            assert_eq!(found, expected, "{texts} in {text}");
        }
    }
}
