//! A settings file as a list of dotted keys with their lines.

use serde::Deserialize;
use toml::{
    Spanned, Value,
    de::{DeTable, DeValue, Error, ValueDeserializer},
};

/// One `key = value` of a file.
pub(super) struct Line {
    pub(super) key: String,
    pub(super) value: Value,
    /// Counted from 1.
    pub(super) line: usize,
}

/// A parser error: its message and its line.
#[derive(Debug)]
pub(super) struct NotToml {
    pub(super) message: String,
    pub(super) line: usize,
}

/// The keys of `text` in the order of the file; `[table]` and `table.key` are equivalent. An empty
/// table counts as a key, so that a mistyped table is noticed.
pub(super) fn lines(text: &str) -> Result<Vec<Line>, NotToml> {
    // The error's own display quotes the line, which may contain a secret.
    let not_toml = |error: Error| NotToml {
        message: error.message().to_owned(),
        line: error.span().map_or(1, |span| line_of(text, span.start)),
    };
    let mut found = Vec::new();
    collect(DeTable::parse(text).map_err(not_toml)?.get_ref(), "", &mut found).map_err(not_toml)?;
    found.sort_by_key(|(_, _, offset)| *offset);
    Ok(found
        .into_iter()
        .map(|(key, value, offset)| Line { key, value, line: line_of(text, offset) })
        .collect())
}

fn collect(
    table: &DeTable<'_>,
    prefix: &str,
    found: &mut Vec<(String, Value, usize)>,
) -> Result<(), Error> {
    for (name, value) in table {
        let key = format!("{prefix}{}", name.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if !inner.is_empty() => {
                collect(inner, &format!("{key}."), found)?
            }
            _ => found.push((key, plain(value)?, name.span().start)),
        }
    }
    Ok(())
}

fn plain(value: &Spanned<DeValue<'_>>) -> Result<Value, Error> {
    Value::deserialize(ValueDeserializer::from(value.clone()))
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_order_with_their_lines() {
        let text = "b = 1\r\n# c\na.x = true\n\n[http]\ny = 2\n[empty]\n";
        let found: Vec<_> =
            lines(text).expect("toml").into_iter().map(|l| (l.key, l.line)).collect();
        let expected = [("b", 1), ("a.x", 3), ("http.y", 6), ("empty", 7)];
        assert_eq!(found, expected.map(|(key, line)| (key.to_owned(), line)));
    }

    #[test]
    fn invalid_toml_is_reported_by_line_and_not_quoted() {
        for (text, line) in
            [("a = 1\npw = hunter2\n", 2), ("a = 1\na = 2\n", 2), ("a =\n", 1), ("\n\n[x\n", 3)]
        {
            let error = lines(text).map(|_| ()).expect_err(text);
            assert_eq!(error.line, line, "{text}");
            assert!(!error.message.contains("hunter2"), "{}", error.message);
        }
    }
}
