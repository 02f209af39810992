//! Texts as they are stored.

use unicode_normalization::UnicodeNormalization as _;

use super::kind::{Refusal, refuse};

/// One line: composed (NFC), without blanks around it, without control characters.
pub(super) fn line(text: &str) -> Result<String, Refusal> {
    let text: String = text.trim().nfc().collect();
    if text.chars().any(char::is_control) {
        return refuse("characters", "one line without control characters is expected");
    }
    Ok(text)
}

/// Lines: composed, with LF at their ends, no other control character but tabs.
pub(super) fn lines(text: &str) -> Result<String, Refusal> {
    let text: String = text.replace("\r\n", "\n").trim().nfc().collect();
    if text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n')) {
        return refuse("characters", "text without control characters is expected");
    }
    Ok(text)
}

/// Checks how many characters a text has.
pub(super) fn length(text: &str, least: usize, most: usize) -> Result<(), Refusal> {
    let count = text.chars().count();
    if count < least {
        return refuse("min_length", format!("at least {least} characters are expected"));
    }
    if count > most {
        return refuse("max_length", format!("at most {most} characters are expected"));
    }
    Ok(())
}
