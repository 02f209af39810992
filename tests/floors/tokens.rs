//! Rust text as tokens: enough to find modules, imports and paths.

/// A piece of Rust text. Comments and numbers are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    /// The content of a string literal.
    Text(String),
    /// `::`
    Step,
    Sign(char),
}

impl Token {
    pub(super) fn is(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }

    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Takes a text apart.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    let next = |at: usize| chars.get(at).copied().unwrap_or(' ');
    while at < chars.len() {
        let c = chars[at];
        if c == '/' && next(at + 1) == '/' {
            at = end_of_line(&chars, at);
        } else if c == '/' && next(at + 1) == '*' {
            at = end_of_comment(&chars, at);
        } else if let Some(start) = raw_string(&chars, at) {
            at = end_of_raw_string(&chars, start);
        } else if c == '"' {
            let end = end_of_quoted(&chars, at, '"');
            tokens.push(Token::Text(chars[at + 1..end.max(at + 2) - 1].iter().collect()));
            at = end;
        } else if c == '\'' && (next(at + 1) == '\\' || next(at + 2) == '\'') {
            at = end_of_quoted(&chars, at, '\'');
        } else if c.is_alphabetic() || c == '_' {
            let end = end_of_word(&chars, at);
            tokens.push(Token::Word(chars[at..end].iter().collect()));
            at = end;
        } else if c.is_ascii_digit() {
            at = end_of_word(&chars, at);
        } else if c == ':' && next(at + 1) == ':' {
            tokens.push(Token::Step);
            at += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    tokens
}

fn end_of_line(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |length| at + length)
}

/// Block comments nest.
fn end_of_comment(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Where the number signs and the quote of a raw string stand, if one begins here.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
    let start = match chars[at..] {
        ['r', '"' | '#', ..] => at + 1,
        ['b', 'r', '"' | '#', ..] => at + 2,
        _ => return None,
    };
    let inside_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    let quote = chars[start..].iter().find(|c| **c != '#');
    (!inside_word && quote == Some(&'"')).then_some(start)
}

fn end_of_raw_string(chars: &[char], start: usize) -> usize {
    let signs = chars[start..].iter().take_while(|c| **c == '#').count();
    let mut at = start + signs + 1;
    while at < chars.len() {
        if chars[at] == '"' && chars[at + 1..].iter().take(signs).all(|c| *c == '#') {
            return at + 1 + signs;
        }
        at += 1;
    }
    at
}

fn end_of_quoted(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start + 1;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn end_of_word(chars: &[char], at: usize) -> usize {
    let more = |c: &&char| c.is_alphanumeric() || **c == '_';
    at + chars[at..].iter().take_while(more).count()
}
