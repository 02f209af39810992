//! Texts that a text must hold, all of them, found in one pass.

use aho_corasick::AhoCorasick;

/// Up to so many are searched for one by one.
const FEW: usize = 4;

/// Texts to search for.
#[derive(Clone, Debug)]
pub(super) struct Needles {
    /// None ends in another: what holds that holds both. So at most one ends at any place.
    texts: Vec<String>,
    search: Option<AhoCorasick>,
}

impl Needles {
    /// None for more than can be searched for at once: a text never holds those.
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
