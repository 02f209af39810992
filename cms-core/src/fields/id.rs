//! Ids of fields.

/// Bytes of an id at most.
const MOST: usize = 64;

/// Whether it is up to 64 letters, digits, `_` and `-`.
pub(super) fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !id.is_empty() && id.len() <= MOST && id.bytes().all(fits)
}
