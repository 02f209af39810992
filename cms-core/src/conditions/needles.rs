//! Whether a text contains all of several texts, in one pass.

use aho_corasick::AhoCorasick;

/// Up to this many texts are searched for one by one.
const FEW: usize = 4;

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
        let texts = super::affixes::longest_endings(texts);
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
    fn many_are_found_as_few_are() {
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
