//! Durations as people type them.

/// Reads `30s`, `10m`, `2h`, `7d`, or plain seconds.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => (&text[..at], &text[at..]),
        None => (text, "s"),
    };
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return Err("write a time such as 30s, 10m, 2h or 7d".to_owned()),
    };
    let number: i64 =
        number.parse().map_err(|_| "write a time such as 30s, 10m, 2h or 7d".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "the time is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, expected) in
            [("0", Ok(0)), ("30s", Ok(30)), ("10m", Ok(600)), ("2h", Ok(7200)), ("7d", Ok(604_800))]
        {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for text in ["", "m", "1w", "-1s", "1.5h", "99999999999999999d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
