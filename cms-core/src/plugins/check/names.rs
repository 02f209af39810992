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

/// A path whose parts after the first may be parameters, `{id}`, each with a name of its own.
pub(super) fn is_endpoint(path: &str) -> bool {
    let mut names = std::collections::BTreeSet::new();
    let mut parts = path.split('/');
    path.len() <= 200
        && parts.next().is_some_and(is_word)
        && parts.all(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => is_identifier(name) && names.insert(name),
            None => is_word(part),
        })
}

/// The path of a picture below its widget's folder.
pub(super) fn is_icon(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(stem, end)| {
        is_path(stem) && ["svg", "png", "jpg", "jpeg", "webp"].contains(&end)
    })
}

pub(super) fn is_word(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}
