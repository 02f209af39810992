//! A sorted list as ranges that follow one another.
//!
//! Each range is one stretch of an index on the sort columns: values on one side of a bound, or
//! nulls. The engine therefore seeks to the place where a page begins and reads on from there, in
//! both directions, although nulls come last in both.

/// A column of the order.
pub(super) struct Term {
    /// The expression by which rows are compared.
    pub(super) value: String,
    pub(super) descending: bool,
    pub(super) nullable: bool,
    /// Whether no index can seek by this column together with the columns before it.
    pub(super) apart: bool,
}

/// Conditions that all hold within the range, and the order of its rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) conditions: Vec<String>,
    pub(super) order: String,
}

/// Columns of the order that are split into ranges. Later columns are compared within the last
/// range, so that the statement stays short for a long order.
const SPLIT: usize = 4;

/// The whole list.
pub(super) fn all(order: &[Term]) -> Vec<Range> {
    let mut ranges = Ranges { order, found: Vec::new() };
    ranges.all(0, &[]);
    ranges.found
}

/// The list after a place: the bound value of each column, None for null.
pub(super) fn after(order: &[Term], place: &[Option<String>]) -> Vec<Range> {
    let mut ranges = Ranges { order, found: Vec::new() };
    ranges.after(0, place, &[]);
    ranges.found
}

struct Ranges<'a> {
    order: &'a [Term],
    found: Vec<Range>,
}

impl Ranges<'_> {
    /// All rows that have the values `same` in the columns before `at`.
    fn all(&mut self, at: usize, same: &[String]) {
        match self.order.get(at).filter(|term| at < SPLIT && term.nullable) {
            None => self.add(at, same, None),
            Some(Term { value, .. }) => {
                self.add(at + 1, same, Some(format!("{value} is not null")));
                self.all(at + 1, &with(same, format!("{value} is null")));
            }
        }
    }

    /// The rows after `place` that have its values in the columns before `at`.
    fn after(&mut self, at: usize, place: &[Option<String>], same: &[String]) {
        let (Some(term), Some(bound)) = (self.order.get(at), place.get(at)) else { return };
        let value = &term.value;
        if at == SPLIT {
            let later = later(&self.order[at..], &place[at..]);
            return self.add(at, same, Some(later));
        }
        let Some(bound) = bound else {
            return self.after(at + 1, place, &with(same, format!("{value} is null")));
        };
        // Following columns with the same direction and without nulls are compared as one row
        // value: one range.
        let beside = self.order.iter().zip(place).take(SPLIT).skip(at + 1);
        let beside = beside.map_while(|(next, bound)| {
            let fits = next.descending == term.descending && !next.nullable && !next.apart;
            bound.as_ref().filter(|_| fits).map(|bound| (&next.value, bound))
        });
        let (values, bounds): (Vec<_>, Vec<_>) =
            std::iter::once((value, bound)).chain(beside).unzip();
        let equal = values.iter().zip(&bounds).map(|(value, bound)| format!("{value} = {bound}"));
        let equal: Vec<_> = same.iter().cloned().chain(equal).collect();
        self.after(at + values.len(), place, &equal);
        let side = if term.descending { "<" } else { ">" };
        self.add(at + 1, same, Some(format!("{} {side} {}", row(&values), row(&bounds))));
        if term.nullable {
            self.all(at + 1, &with(same, format!("{value} is null")));
        }
    }

    /// Adds a range. In this range each of the first `decided` columns is always null or never
    /// null, so the order need not place nulls, and an index fits in either direction.
    fn add(&mut self, decided: usize, same: &[String], more: Option<String>) {
        let order = self.order.iter().enumerate().map(|(i, term)| {
            let direction = if term.descending { " desc" } else { "" };
            let nulls = if i >= decided && term.nullable { " nulls last" } else { "" };
            format!("{}{direction}{nulls}", term.value)
        });
        let order = order.collect::<Vec<_>>().join(", ");
        let conditions = same.iter().cloned().chain(more).collect();
        self.found.push(Range { conditions, order });
    }
}

/// One value, or several in parentheses.
fn row(values: &[&String]) -> String {
    match values {
        [one] => (*one).clone(),
        several => {
            let several: Vec<_> = several.iter().map(|value| value.as_str()).collect();
            format!("({})", several.join(", "))
        }
    }
}

fn with(same: &[String], condition: String) -> Vec<String> {
    same.iter().cloned().chain([condition]).collect()
}

/// The rows after `place`, as one condition.
fn later(order: &[Term], place: &[Option<String>]) -> String {
    let mut same: Vec<String> = Vec::new();
    let mut ways = Vec::new();
    for (Term { value, descending, nullable, .. }, bound) in order.iter().zip(place) {
        let Some(bound) = bound else {
            // Only other nulls come after null.
            same.push(format!("{value} is null"));
            continue;
        };
        let side = if *descending { "<" } else { ">" };
        let nulls = if *nullable { format!(" or {value} is null") } else { String::new() };
        ways.push(with(&same, format!("({value} {side} {bound}{nulls})")).join(" and "));
        same.push(format!("{value} = {bound}"));
    }
    if ways.is_empty() { "1 = 0".to_owned() } else { format!("({})", ways.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(value: &str) -> Term {
        let name = value.trim_start_matches('-').trim_end_matches(['?', '!']).to_owned();
        let (descending, nullable) = (value.starts_with('-'), value.ends_with('?'));
        Term { value: name, descending, nullable, apart: value.ends_with('!') }
    }

    fn shown(ranges: &[Range]) -> Vec<String> {
        let line = |range: &Range| format!("{} | {}", range.conditions.join(" & "), range.order);
        ranges.iter().map(line).collect()
    }

    #[test]
    fn a_list_is_read_range_by_range() {
        let order = |terms: &[&str]| terms.iter().map(|t| term(t)).collect::<Vec<_>>();
        let place = |bounds: &[&str]| {
            let bound = |b: &&str| (*b != "null").then(|| (*b).to_owned());
            bounds.iter().map(bound).collect::<Vec<_>>()
        };
        for (terms, expected) in [
            (vec!["id"], vec![" | id"]),
            (vec!["-a", "-id"], vec![" | a desc, id desc"]),
            (
                vec!["-a?", "-id"],
                vec!["a is not null | a desc, id desc", "a is null | a desc, id desc"],
            ),
            (vec!["a", "b?", "id"], vec![" | a, b nulls last, id"]),
        ] {
            assert_eq!(shown(&all(&order(&terms))), expected, "{terms:?}");
        }
        for (terms, bounds, expected) in [
            (vec!["id"], vec!["$1"], vec!["id > $1 | id"]),
            (vec!["-a", "-id"], vec!["$1", "$2"], vec!["(a, id) < ($1, $2) | a desc, id desc"]),
            (
                vec!["a", "b", "id!"],
                vec!["$1", "$2", "$3"],
                vec!["a = $1 & b = $2 & id > $3 | a, b, id", "(a, b) > ($1, $2) | a, b, id"],
            ),
            (
                vec!["a", "-id"],
                vec!["$1", "$2"],
                vec!["a = $1 & id < $2 | a, id desc", "a > $1 | a, id desc"],
            ),
            (
                vec!["a?", "id"],
                vec!["$1", "$2"],
                vec!["(a, id) > ($1, $2) | a, id", "a is null | a, id"],
            ),
            (vec!["a?", "id"], vec!["null", "$1"], vec!["a is null & id > $1 | a, id"]),
            (vec!["a?"], vec!["null"], vec![]),
            (
                vec!["a", "-b?", "-id"],
                vec!["$1", "$2", "$3"],
                vec![
                    "a = $1 & (b, id) < ($2, $3) | a, b desc, id desc",
                    "a = $1 & b is null | a, b desc, id desc",
                    "a > $1 | a, b desc nulls last, id desc",
                ],
            ),
        ] {
            assert_eq!(shown(&after(&order(&terms), &place(&bounds))), expected, "{terms:?}");
        }
    }

    #[test]
    fn a_long_order_has_few_ranges() {
        let order: Vec<_> = (0..200).map(|i| term(&format!("c{i}?"))).collect();
        let place: Vec<_> = (0..200).map(|i| Some(format!("${i}"))).collect();
        assert_eq!(all(&order).len(), SPLIT + 1);
        assert!(after(&order, &place).len() < 20);
    }
}
