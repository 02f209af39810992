//! What a row of rights binds besides the parameters that it fixes: a row that fixes `id` covers
//! that record alone, one that fixes `fields` no other column.

use std::collections::BTreeMap;

use crate::ground::filter;

/// Whether the parameters `sent` keep within a row that fixes `fixed`. What the row fixes itself is
/// granted.
pub(super) fn keep<'a>(
    fixed: &BTreeMap<String, String>,
    mut sent: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> bool {
    let alone = fixed.contains_key("id");
    if alone && sent.clone().any(|(name, _)| name == "language") {
        return false;
    }
    let Some(fields) = fixed.get("fields") else { return true };
    let shown = |column: &str| list(fields).any(|field| field == column);
    let about_record = sent.clone().any(|(name, _)| name == "id");
    sent.all(|(name, value)| {
        fixed.contains_key(name)
            || match name {
                "sort" => list(value).all(|one| shown(one.strip_prefix('-').unwrap_or(one))),
                "expand" => list(value).all(shown),
                "language" => shown("language_short") && (!about_record || shown("base_id")),
                "filter" => filter::names_only(value, shown),
                _ => filtered(name).is_none_or(shown),
            }
    })
}

/// Why a row makes no sense.
pub(super) fn problem(fixed: &BTreeMap<String, String>) -> Option<&'static str> {
    if fixed.contains_key("id") && fixed.contains_key("language") {
        return Some("a row that fixes id covers that record alone: leave language out");
    }
    if fixed.get("fields").is_some_and(|fields| list(fields).next().is_none()) {
        return Some("fields names at least one column, such as id,title");
    }
    None
}

/// The column of `filter[column]` or `filter[column][op]`.
fn filtered(name: &str) -> Option<&str> {
    let inside = name.strip_prefix("filter[")?.strip_suffix(']')?;
    Some(inside.rsplit_once("][").map_or(inside, |(column, _)| column))
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_make_no_sense_are_named() {
        for (fixed, makes_sense) in [
            (&[("id", "7")][..], true),
            (&[("language", "de")], true),
            (&[("id", "7"), ("language", "de")], false),
            (&[("fields", "id")], true),
            (&[("fields", " , ")], false),
        ] {
            let row = fixed.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            assert_eq!(problem(&row).is_none(), makes_sense, "{fixed:?}");
        }
    }
}
