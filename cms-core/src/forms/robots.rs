//! Who is taken for a program. Pure.

/// Whether a submission looks like that of a program: it filled in an input that people do not see,
/// or was sent sooner than people can answer. `seconds` is what the page says; programs that know
/// nothing of it leave it out.
pub(super) fn looks_automatic(trap: Option<&str>, seconds: Option<f64>, least: i64) -> bool {
    let is_filled = trap.is_some_and(|text| !text.trim().is_empty());
    // Few enough seconds to be exact.
    let is_quick = least > 0 && seconds.unwrap_or(0.0) < least as f64;
    is_filled || is_quick
}

#[cfg(test)]
mod tests {
    use super::looks_automatic;

    #[test]
    fn a_filled_trap_and_too_few_seconds_give_a_program_away() {
        for (trap, seconds, least, expected) in [
            (None, None, 0, false),
            (Some(""), None, 0, false),
            (Some(" \n"), Some(9.0), 3, false),
            (Some("http://spam.example"), Some(9.0), 3, true),
            (Some("x"), None, 0, true),
            (None, Some(0.0), 0, false),
            (None, Some(2.9), 3, true),
            (None, Some(3.0), 3, false),
            (None, Some(-5.0), 3, true),
            (None, None, 3, true),
        ] {
            let found = looks_automatic(trap, seconds, least);
            assert_eq!(found, expected, "{trap:?} {seconds:?} {least}");
        }
    }
}
