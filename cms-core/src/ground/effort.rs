//! What a search for a regular expression costs, estimated from the expression alone.

use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind, Look, Repetition},
};

/// What a search costs for each byte in any case, in states.
const BASE: usize = 4;
/// An assertion looks at the characters around it.
const ASSERTION: usize = 3;

/// Ranges of characters that count as a state: they are compiled once, in some 30 microseconds.
const RANGES: usize = 64;

/// How many states a search may be in at once, plus the cost of compiling. The search visits all
/// of them for each byte of a text, in some 20 nanoseconds each. None for a text that is not a
/// regular expression.
pub(crate) fn states(parser: &ParserBuilder, pattern: &str) -> Option<usize> {
    let read = parser.build().parse(pattern).ok()?;
    Some(at_once(&read, true).saturating_add(ranges(&read) / RANGES).saturating_add(BASE))
}

/// The states of one part. `anywhere`: matches of the part may have begun at several places of a
/// text. Otherwise the place determines how far the match has come, so the part is in few states.
fn at_once(part: &Hir, anywhere: bool) -> usize {
    match part.kind() {
        HirKind::Empty => 1,
        HirKind::Look(_) => ASSERTION,
        HirKind::Literal(text) if anywhere => text.0.len(),
        HirKind::Literal(_) | HirKind::Class(Class::Bytes(_)) => 1,
        // Ranges are tried one by one.
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len().min(64) / 16,
        HirKind::Capture(group) => at_once(&group.sub, anywhere).saturating_add(2),
        HirKind::Alternation(parts) => {
            let each = parts.iter().map(|part| at_once(part, anywhere).saturating_add(1));
            each.fold(0, usize::saturating_add)
        }
        HirKind::Concat(parts) => {
            let (mut sum, mut anywhere) = (0_usize, anywhere);
            for part in parts {
                sum = sum.saturating_add(at_once(part, anywhere));
                anywhere = match part.kind() {
                    HirKind::Look(Look::Start) => false,
                    _ => anywhere || length(part).is_none(),
                };
            }
            sum
        }
        HirKind::Repetition(repeated) => {
            let is_counted = !anywhere && length(&repeated.sub).is_some_and(|length| length > 0);
            if is_counted {
                return at_once(&repeated.sub, false).saturating_add(2);
            }
            let one = at_once(&repeated.sub, true).saturating_add(1);
            one.saturating_mul(copies(repeated)).saturating_add(1)
        }
    }
}

/// How often the repeated part is written out.
fn copies(repeated: &Repetition) -> usize {
    usize::try_from(repeated.max.unwrap_or(repeated.min).max(1)).unwrap_or(usize::MAX)
}

/// Ranges of characters, and characters, of the part when it is written out.
fn ranges(part: &Hir) -> usize {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(text) => text.0.len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Capture(group) => ranges(&group.sub),
        HirKind::Alternation(parts) | HirKind::Concat(parts) => {
            parts.iter().map(ranges).fold(0, usize::saturating_add)
        }
        HirKind::Repetition(repeated) => ranges(&repeated.sub).saturating_mul(copies(repeated)),
    }
}

/// How many characters the part matches, if the number is always the same.
fn length(part: &Hir) -> Option<usize> {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(0),
        HirKind::Literal(text) => Some(std::str::from_utf8(&text.0).ok()?.chars().count()),
        HirKind::Class(_) => Some(1),
        HirKind::Capture(group) => length(&group.sub),
        HirKind::Alternation(parts) => {
            let first = length(parts.first()?)?;
            parts.iter().all(|part| length(part) == Some(first)).then_some(first)
        }
        HirKind::Concat(parts) => {
            parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(length(part)?))
        }
        HirKind::Repetition(repeated) => {
            let times = repeated.max.filter(|most| *most == repeated.min)?;
            length(&repeated.sub)?.checked_mul(usize::try_from(times).ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_costs_the_states_that_it_may_be_in() {
        let of = |pattern: &str| states(&ParserBuilder::new(), pattern);
        for (pattern, least, most) in [
            ("x", 1, 10),
            ("^[A-Z]{3}-\\d{3}$", 10, 30),
            ("^[\\w.+-]+@[\\w-]+\\.[\\w.-]+$", 20, 100),
            // It takes a MiB.
            ("^\\w{30}", 200, 500),
            // The place in the text determines how often the part was repeated.
            ("^.{20,1000}$", 5, 50),
            ("^(?:[ab]{50}){50}!", 5, 60),
            ("^a?[ab]{500}!", 1000, 2000),
            ("(?m)^[ab]{500}", 500, 2000),
            ("a.{500}", 1000, 3000),
            ("^(?:x?){500}y", 1000, 3000),
            ("^(?:\\b|x){500}y", 1000, 5000),
            ("(?:(?:a{0,10}){0,10}){0,10}!", 2000, 3000),
            ("(?:(?:(?:(?:a{999}){999}){999}){999}){999}(?:b{999}){999}", 1_000_000, usize::MAX),
        ] {
            let found = of(pattern).expect(pattern);
            assert!((least..=most).contains(&found), "{pattern}: {found}");
        }
        assert_eq!(of("("), None);
    }
}
