//! Forms of names.

pub(super) const IDENTIFIER: &str = "lower-case letters, digits and _, a letter first,";

pub(super) fn is_identifier(name: &str) -> bool {
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    starts
        && name.len() <= 60
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Parts of letters, digits, `_` and `-`, with slashes between them.
pub(super) fn is_path(path: &str) -> bool {
    path.len() <= 200 && path.split('/').all(is_word)
}

pub(super) fn is_word(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}
