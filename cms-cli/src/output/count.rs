//! Numbers of things, counted right.

/// `1 step`, `2 steps`.
pub(crate) fn counted(number: impl Into<u64>, thing: &str) -> String {
    match number.into() {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        for (number, text) in [(0_u64, "0 rows"), (1, "1 row"), (2, "2 rows")] {
            assert_eq!(counted(number, "row"), text);
        }
    }
}
