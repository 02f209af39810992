//! Texts made of other texts: pieces cut out, doubled, exchanged, nested.

/// Levels that are nested at once.
const LEVELS: usize = 5_000;
/// Texts do not grow beyond this.
const MOST: usize = 1 << 20;

#[rustfmt::skip]
pub const JSON: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "null", "true", "-1", "1e999",
    "0x", "\u{feff}", "//", "/*", "\u{0}", "\n", "é", "{\"a\":", "[[", "\"[\\\"",
    "\"content_button\":", "\"tables\":", "\"buttons\":[{", "\"type\":\"edit\"",
    "18446744073709551616", "\"id\":\"blog\",",
];
#[rustfmt::skip]
pub const LESS: &[&str] = &[
    "{", "}", "(", ")", "[", "]", ";", ":", "\"", "'", "`", "\\", "//", "/*", "*/", "@", "@{", "#{",
    "url(", "~\"", "&", ".m(", "when (", "\n", "é", "\u{0}", "!important", "@media ", "@import ",
];

/// SplitMix64: the same seed gives the same texts.
pub struct Random(pub u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }
}

/// Good texts, and words to break them with.
pub struct Corpus {
    texts: Vec<String>,
    words: &'static [&'static str],
}

impl Corpus {
    pub fn new(texts: Vec<String>, words: &'static [&'static str]) -> Self {
        Self { texts, words }
    }

    /// The next text, and whether it is nested deeply.
    pub fn next(&self, random: &mut Random) -> (Vec<u8>, bool) {
        let mut text = self.texts[random.below(self.texts.len())].clone().into_bytes();
        for _ in 0..random.below(6) {
            self.change(&mut text, random);
        }
        let is_deep = random.below(200) == 0;
        if is_deep {
            self.nest(&mut text, random);
        }
        text.truncate(MOST);
        (text, is_deep)
    }

    fn change(&self, text: &mut Vec<u8>, random: &mut Random) {
        let (a, b) = (random.below(text.len() + 1), random.below(text.len() + 1));
        let (from, to) = (a.min(b), a.max(b));
        // Mostly small pieces.
        let to = if random.below(4) > 0 { to.min(from + 24) } else { to };
        let by: Vec<u8> = match random.below(6) {
            0 => Vec::new(),
            1 => self.words[random.below(self.words.len())].into(),
            2 => text[from..to].repeat(2),
            3 => {
                let other = self.texts[random.below(self.texts.len())].as_bytes();
                let start = random.below(other.len());
                other[start..other.len().min(start + random.below(80))].to_vec()
            }
            4 => vec![random.below(256) as u8],
            _ => {
                let word = self.words[random.below(self.words.len())];
                word.repeat(random.below(8)).into()
            }
        };
        if text.len() + by.len() < MOST {
            text.splice(from..to, by);
        }
    }

    /// Puts 5,000 levels somewhere, closed or not; or takes the whole text in.
    fn nest(&self, text: &mut Vec<u8>, random: &mut Random) {
        let (open, close) = [
            ("[", "]"),
            ("{\"a\":", "}"),
            ("{\"buttons\":[", "]}"),
            ("{", "}"),
            ("(", ")"),
            ("a{", "}"),
            ("@media (a) {", "}"),
            ("\"[", "]\""),
            (".m({", "})"),
        ][random.below(9)];
        let at = random.below(text.len() + 1);
        let at = if random.below(2) == 0 { 0 } else { at };
        let to = if random.below(2) == 0 { text.len() } else { at };
        let closed = if random.below(4) == 0 { 0 } else { LEVELS };
        let mut nested = open.repeat(LEVELS).into_bytes();
        nested.extend_from_slice(&text[at..to]);
        nested.extend(close.repeat(closed).into_bytes());
        text.splice(at..to, nested);
    }
}
