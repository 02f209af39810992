//! One line, or several, that a user types.

use crossterm::event::KeyCode;

use crate::keys::Key;

/// More is not taken: it would be pasted by mistake.
pub(crate) const LONGEST: usize = 256 << 10;
/// What is said of it.
pub(crate) const TOO_LONG: &str = "too long to paste: at most 256 KB fit";

/// Text with a cursor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Input {
    text: String,
    /// In bytes, at a character's boundary.
    at: usize,
    pub(crate) is_multiline: bool,
}

impl Input {
    pub(crate) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), at: text.len(), is_multiline: text.contains('\n') }
    }

    /// Several lines.
    pub(crate) fn lines(text: &str) -> Self {
        Self { is_multiline: true, ..Self::of(text) }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text before and behind the cursor.
    pub(crate) fn parts(&self) -> (&str, &str) {
        self.text.split_at(self.at)
    }

    /// Whether it fits.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        if self.text.len() + text.len() > LONGEST {
            return false;
        }
        let clean: String = text.replace("\r\n", "\n").replace('\r', "\n");
        let clean = if self.is_multiline { clean } else { clean.replace('\n', " ") };
        self.text.insert_str(self.at, &clean);
        self.at += clean.len();
        true
    }

    /// Whether the key was for the text.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        if let Some(c) = key.typed() {
            self.insert(c.encode_utf8(&mut [0; 4]));
            return true;
        }
        match (key.ctrl, key.code) {
            (false, KeyCode::Enter) if self.is_multiline => {
                self.insert("\n");
            }
            (false, KeyCode::Backspace) => self.remove(self.before()),
            (false, KeyCode::Delete) => {
                self.at = self.after();
                self.remove(self.before());
            }
            (true, KeyCode::Char('w')) => {
                let kept = self.text[..self.at].trim_end();
                let blank = kept.char_indices().rfind(|(_, c)| c.is_whitespace());
                self.remove(blank.map_or(0, |(at, c)| at + c.len_utf8()));
            }
            (true, KeyCode::Char('u')) => self.remove(self.line_start()),
            (true, KeyCode::Char('k')) => {
                // At the end of a line, its break.
                let end = self.line_end();
                let end = if end == self.at { self.after() } else { end };
                self.text.replace_range(self.at..end, "");
            }
            (false, KeyCode::Left) => self.at = self.before(),
            (false, KeyCode::Right) => self.at = self.after(),
            (false, KeyCode::Home) | (true, KeyCode::Char('a')) => self.at = self.line_start(),
            (false, KeyCode::End) | (true, KeyCode::Char('e')) => self.at = self.line_end(),
            (false, KeyCode::Up) if self.is_multiline && self.line_start() > 0 => {
                let column = self.text[self.line_start()..self.at].chars().count();
                self.at = self.line_start() - 1;
                self.go_to_column(column);
            }
            (false, KeyCode::Down) if self.is_multiline && self.line_end() < self.text.len() => {
                let column = self.text[self.line_start()..self.at].chars().count();
                self.at = self.line_end() + 1;
                self.go_to_column(column);
            }
            _ => return false,
        }
        true
    }

    fn remove(&mut self, from: usize) {
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    fn before(&self) -> usize {
        self.text[..self.at].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.at..].chars().next().map_or(self.at, |c| self.at + c.len_utf8())
    }

    fn line_start(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.at..].find('\n').map_or(self.text.len(), |at| self.at + at)
    }

    fn go_to_column(&mut self, column: usize) {
        let line = self.line_start()..self.line_end();
        let at = self.text[line.clone()].char_indices().nth(column).map(|(at, _)| at);
        self.at = at.map_or(line.end, |at| line.start + at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(input: &mut Input, keys: &[&str]) -> String {
        for key in keys {
            input.key(key.parse().expect("a key"));
        }
        input.text().to_owned()
    }

    #[test]
    fn keys_edit_as_hands_expect() {
        let mut input = Input::of("große Räder");
        assert_eq!(typed(&mut input, &["Backspace", "Left", "x"]), "große Rädxe");
        assert_eq!(typed(&mut input, &["Ctrl-w"]), "große e");
        assert_eq!(typed(&mut input, &["Home", "Delete", "Ctrl-e", "!"]), "roße e!");
        assert_eq!(typed(&mut input, &["Ctrl-u", "Enter"]), "");
    }

    #[test]
    fn a_word_behind_a_wide_blank_is_removed() {
        for blank in ["\u{a0}", "\u{3000}", " "] {
            let mut input = Input::of(&format!("a{blank}b"));
            assert_eq!(typed(&mut input, &["Ctrl-w"]), format!("a{blank}"));
        }
    }

    #[test]
    fn ctrl_u_and_ctrl_k_keep_the_other_lines() {
        for (keys, left) in [
            (&["Ctrl-u"][..], "abc\nf\nghi"),
            (&["Ctrl-u", "Ctrl-u"], "abc\nf\nghi"),
            (&["Ctrl-k"], "abc\nde\nghi"),
            (&["Ctrl-k", "Ctrl-k"], "abc\ndeghi"),
            (&["Down", "Ctrl-k", "Ctrl-k"], "abc\ndef\ngh"),
        ] {
            let mut input = Input::of("abc\ndef\nghi");
            typed(&mut input, &["Up", "Left"]);
            assert_eq!(typed(&mut input, keys), left, "{keys:?}");
        }
    }

    #[test]
    fn lines_are_walked() {
        let mut input = Input::of("abc\nd\nefg");
        assert_eq!(typed(&mut input, &["Up", "x", "Up", "y"]), "abyc\ndx\nefg");
    }
}
