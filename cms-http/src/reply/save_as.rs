//! The name under which a reply is saved.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in `filename*` (RFC 8187, 3.2.1).
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// The value of `Content-Disposition` (RFC 6266), with the name for old readers beside the exact
/// one.
pub(crate) fn attachment(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_ ".contains(c) { c } else { '_' };
    let (old, exact): (String, _) =
        (name.chars().map(plain).collect(), utf8_percent_encode(name, NAME));
    format!("attachment; filename=\"{old}\"; filename*=UTF-8''{exact}")
}
