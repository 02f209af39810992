//! What a SQL text consists of, as each engine reads it: code, quotes and comments.

use std::collections::BTreeSet;

use super::Dialect;

/// A part of a SQL text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'s> {
    /// Words, numbers and signs.
    Code(&'s str),
    /// A text or a name, with its quotes.
    Quoted(&'s str),
    /// A comment, with its signs.
    Comment(&'s str),
}

/// A part of a statement that is neither space nor comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'s> {
    /// A word, a number or a value such as `$1`.
    Word(&'s str),
    /// A text or a name, without its quotes.
    Quoted(&'s str),
    /// Any other sign.
    Sign(char),
}

impl Dialect {
    /// The parts of a text in their order. A quote or comment that is not closed reaches to the
    /// end.
    pub(crate) fn parts(self, sql: &str) -> Vec<Part<'_>> {
        let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
        while let Some(sign) = sql[at..].chars().next() {
            let Some(part) = self.opaque(&sql[begin..at], &sql[at..]) else {
                at += sign.len_utf8();
                continue;
            };
            if begin < at {
                parts.push(Part::Code(&sql[begin..at]));
            }
            let (Part::Code(text) | Part::Quoted(text) | Part::Comment(text)) = part;
            at += text.len();
            begin = at;
            parts.push(part);
        }
        if begin < at {
            parts.push(Part::Code(&sql[begin..]));
        }
        parts
    }

    /// The quote or comment with which `rest` begins, after the code `before`.
    fn opaque<'s>(self, before: &str, rest: &'s str) -> Option<Part<'s>> {
        let is_postgres = self == Self::Postgres;
        let end = match rest.as_bytes() {
            [b'-', b'-', ..] => {
                // PostgreSQL ends such a comment at a carriage return as well.
                let end = rest.find(|c: char| c == '\n' || (is_postgres && c == '\r'));
                return Some(Part::Comment(&rest[..end.unwrap_or(rest.len())]));
            }
            [b'/', b'*', ..] => return Some(Part::Comment(&rest[..comment(rest, is_postgres)])),
            [b'\'', ..] => {
                let escapes = is_postgres
                    && before.strip_suffix(['e', 'E']).is_some_and(|code| !code.ends_with(in_word));
                quoted(rest, '\'', escapes)
            }
            [b'"', ..] => quoted(rest, '"', false),
            [b'`', ..] if !is_postgres => quoted(rest, '`', false),
            [b'[', ..] if !is_postgres => rest.find(']').map_or(rest.len(), |at| at + 1),
            [b'$', ..] if is_postgres && !before.ends_with(in_word) => dollars(rest)?,
            _ => return None,
        };
        Some(Part::Quoted(&rest[..end]))
    }

    /// The tokens of a text in their order.
    pub(crate) fn tokens(self, sql: &str) -> Vec<Token<'_>> {
        let mut tokens = Vec::new();
        for part in self.parts(sql) {
            match part {
                Part::Comment(_) => {}
                Part::Quoted(text) => {
                    let mut inner = text.chars();
                    inner.next();
                    inner.next_back();
                    tokens.push(Token::Quoted(inner.as_str()));
                }
                Part::Code(mut code) => {
                    while let Some(sign) = code.chars().next() {
                        let end = code.find(|c: char| !in_word(c)).unwrap_or(code.len());
                        let (token, rest) = code.split_at(end.max(sign.len_utf8()));
                        match end {
                            0 if sign.is_whitespace() => {}
                            0 => tokens.push(Token::Sign(sign)),
                            _ => tokens.push(Token::Word(token)),
                        }
                        code = rest;
                    }
                }
            }
        }
        tokens
    }

    /// The statements of a text, each as the words of its code in small letters.
    pub(crate) fn statements(self, sql: &str) -> Vec<Vec<String>> {
        let tokens = self.tokens(sql);
        let statements = tokens.split(|token| *token == Token::Sign(';'));
        let statements = statements.map(|statement| {
            let words = statement.iter().filter_map(|token| match token {
                Token::Word(word) => Some(word.to_lowercase()),
                _ => None,
            });
            words.collect::<Vec<_>>()
        });
        statements.filter(|words| !words.is_empty()).collect()
    }

    /// Refuses a statement whose values are not exactly `$1` to `$count`: SQLite would take null
    /// for missing values and ignore surplus ones.
    pub(crate) fn expect_values(self, sql: &str, count: usize) -> Result<(), String> {
        let mut named = BTreeSet::new();
        let tokens = self.tokens(sql);
        for (at, token) in tokens.iter().enumerate() {
            let is_named = matches!(tokens.get(at + 1), Some(Token::Word(_)));
            let is_other = match token {
                Token::Word(word) => match word.strip_prefix('$').map(str::parse::<usize>) {
                    Some(Ok(number)) => {
                        named.insert(number);
                        false
                    }
                    Some(Err(_)) => true,
                    None => false,
                },
                // These are operators of PostgreSQL.
                Token::Sign(_) if self == Self::Postgres => false,
                Token::Sign('?') => true,
                Token::Sign('@' | '#') => is_named,
                Token::Sign(':') => is_named && (at == 0 || tokens[at - 1] != Token::Sign(':')),
                _ => false,
            };
            if is_other {
                return Err("values are written as $1, $2 …".to_owned());
            }
        }
        if named.iter().copied().eq(1..=count) {
            return Ok(());
        }
        let names: Vec<_> = named.iter().map(|number| format!("${number}")).collect();
        let names = if names.is_empty() { "no value".to_owned() } else { names.join(", ") };
        Err(format!("the statement has {names}, and {count} were bound: bind exactly $1, $2 …"))
    }
}

/// Whether a character can stand within a name or number without quotes.
fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// The length of a quoted part. A quote within it is doubled, or stands after `\`.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut signs = text.char_indices().skip(1).peekable();
    while let Some((at, sign)) = signs.next() {
        if sign == '\\' && escapes {
            signs.next();
        } else if sign == quote && signs.next_if(|(_, next)| *next == quote).is_none() {
            return at + sign.len_utf8();
        }
    }
    text.len()
}

/// The length of a comment. Only PostgreSQL has comments in comments.
fn comment(text: &str, nests: bool) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(two) = text.as_bytes().get(at..at + 2) {
        match two {
            b"/*" if depth == 0 || nests => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of a text between `$$` or `$tag$`; None for a value.
fn dollars(text: &str) -> Option<usize> {
    let end = text[1..].find('$')? + 2;
    let (tag, rest) = text.split_at(end);
    let name = &tag[1..end - 1];
    let is_name = !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(in_word);
    is_name.then(|| rest.find(tag).map_or(text.len(), |at| end + at + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Dialect; 2] = [Dialect::Sqlite, Dialect::Postgres];

    #[test]
    fn quotes_and_comments_are_no_code() {
        use Part::{Code, Comment, Quoted};
        for dialect in BOTH {
            let parts = dialect.parts("a 'it''s; --' b \"c\"\"d\" -- e'\n/* f; */ö");
            let wanted = [
                Code("a "),
                Quoted("'it''s; --'"),
                Code(" b "),
                Quoted("\"c\"\"d\""),
                Code(" "),
                Comment("-- e'"),
                Code("\n"),
                Comment("/* f; */"),
                Code("ö"),
            ];
            assert_eq!(parts, wanted, "{dialect:?}");
            assert_eq!(dialect.parts("'a"), [Quoted("'a")]);
            assert_eq!(dialect.parts("/*/"), [Comment("/*/")]);
            assert!(dialect.parts("").is_empty());
        }
        let [sqlite, postgres] = BOTH;
        assert_eq!(postgres.parts(r"E'a\'b'c"), [Code("E"), Quoted(r"'a\'b'"), Code("c")]);
        assert_eq!(postgres.parts("a$x$b $x$c;$x$d")[1..], [Quoted("$x$c;$x$"), Code("d")]);
        assert_eq!(postgres.parts("$$a$$"), [Quoted("$$a$$")]);
        assert_eq!(postgres.parts("$1 $2"), [Code("$1 $2")]);
        assert_eq!(postgres.parts("/* /* */ a */b"), [Comment("/* /* */ a */"), Code("b")]);
        assert_eq!(sqlite.parts("/* /* */b"), [Comment("/* /* */"), Code("b")]);
        assert_eq!(sqlite.parts("[a;]`b`c"), [Quoted("[a;]"), Quoted("`b`"), Code("c")]);
        assert_eq!(postgres.parts("a[1]"), [Code("a[1]")]);
    }

    #[test]
    fn types_are_filled_in_code_alone() {
        let sql = "a {{false}} BIGINT default 'BIGINT', \"c BIGINT\" -- {{false}} BIGINT";
        let quoted = "default 'BIGINT', \"c BIGINT\" -- {{false}} BIGINT";
        assert_eq!(Dialect::Sqlite.fill(sql), format!("a 0 INTEGER {quoted}"));
        assert_eq!(Dialect::Postgres.fill(sql), format!("a FALSE BIGINT {quoted}"));
    }

    #[test]
    fn statements_end_at_semicolons_of_the_code() {
        for dialect in BOTH {
            let statements = dialect.statements("Select ';', \"x\" ; /* ; */ COMMIT;; -- ;");
            assert_eq!(statements, [vec!["select"], vec!["commit"]], "{dialect:?}");
        }
    }

    #[test]
    fn values_are_exactly_those_that_are_bound() {
        for dialect in BOTH {
            for (sql, count) in [
                ("select 1", 0),
                ("select $1, $2, $1::text", 2),
                ("select '$3 ? :x', \"a$4\", a$5 /* $6 */ from t where a = $1", 1),
            ] {
                assert_eq!(dialect.expect_values(sql, count), Ok(()), "{dialect:?} {sql}");
                assert!(dialect.expect_values(sql, count + 1).is_err(), "{dialect:?} {sql}");
            }
            for (sql, count) in
                [("select $1", 0), ("select $2", 1), ("select $1, $3", 2), ("select $0", 1)]
            {
                assert!(dialect.expect_values(sql, count).is_err(), "{dialect:?} {sql}");
            }
            for sql in ["select $1a", "select $a"] {
                assert!(dialect.expect_values(sql, 1).is_err(), "{dialect:?} {sql}");
            }
        }
        for sql in ["select ?", "select ?1", "select :x", "select @x", "select $1, :1"] {
            assert!(Dialect::Sqlite.expect_values(sql, 1).is_err(), "{sql}");
        }
        let operators = "select a ? $1, a @> $1, a[1:2], @a from t";
        assert_eq!(Dialect::Postgres.expect_values(operators, 1), Ok(()));
    }
}
