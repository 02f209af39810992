//! Addresses that a visitor is led to.

use crate::ground::plain;

/// Characters of an address to go to at most.
const ADDRESS: usize = 2048;

/// A page of this site by its path, or of any site. Other schemes would run in the visitor's page.
pub(crate) fn is_page(text: &str) -> bool {
    if text.len() > ADDRESS || text.chars().any(|c| plain::is_hidden(c) || c == '\\') {
        return false;
    }
    if text.starts_with('/') {
        return !text.starts_with("//");
    }
    url::Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "https" | "http")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn pages_run_nothing_and_hide_nothing() {
        for (text, expected) in [
            ("/thanks?a=b", true),
            ("https://example.org/a", true),
            ("http://example.org", true),
            ("", false),
            ("thanks", false),
            ("//evil.example", false),
            ("/\\evil.example", false),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("https://user@example.org/", false),
            ("https://example.org/\u{202e}", false),
        ] {
            assert_eq!(is_page(text), expected, "{text}");
        }
    }
}
