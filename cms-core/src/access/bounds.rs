//! How far the rows of rights that allow a call limit what it may learn and change.

use super::{KeyCall, Right};

/// The limits of one call. Each holds only if every row that allows the call sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The call is about one record, whose identity it cannot change.
    pub record: bool,
    /// The call learns nothing about columns that it does not show.
    pub fields: bool,
    /// The call learns nothing about submissions outside the inbox states that its filter names.
    pub states: bool,
}

impl Bounds {
    /// The bounds of a call; None when no row allows it. A row without bounds lifts those of the
    /// other rows.
    #[must_use]
    pub fn of(rights: &[Right], call: &KeyCall) -> Option<Self> {
        let bounds = rights.iter().filter(|right| right.allows(call)).map(|right| Self {
            record: right.query.contains_key("id"),
            fields: right.query.contains_key("fields"),
            states: right.query.keys().any(|name| name.starts_with("filter[inbox_status]")),
        });
        bounds.reduce(|a, b| Self {
            record: a.record && b.record,
            fields: a.fields && b.fields,
            states: a.states && b.states,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(query: &str) -> Right {
        Right::parse(&format!("GET,PATCH /api/backend/item?{query}")).expect("a right")
    }

    fn pairs(query: &str) -> Vec<(String, String)> {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn allows(right: &Right, query: &str) -> bool {
        let query = pairs(query);
        let path = "/api/backend/item";
        right.allows(&KeyCall { method: "GET", path, query: &query, body_table: None })
    }

    #[test]
    fn a_row_binds_what_it_does_not_name() {
        let (one, two) = ("table=t&id=1", "table=t&fields=id,a");
        for (right, query, expected) in [
            (one, "table=t&id=1", true),
            (one, "table=t&id=1&fields=x", true),
            (one, "table=t&id=1&language=de", false),
            ("table=t", "table=t&id=1&language=de", true),
            (two, "table=t&fields=id,a&sort=-a, id&limit=3&count=true&search=x", true),
            (two, "table=t&fields=id,a&sort=a,-b", false),
            (two, "table=t&fields=id,a&filter[a][gt]=1", true),
            (two, "table=t&fields=id,a&filter[a]=1", true),
            (two, "table=t&fields=id,a&filter[b][null]=true", false),
            (two, "table=t&fields=id,a&filter[b]=1", false),
            (two, "table=t&fields=id,a&filter={\"a\":{\"gt\":1}}", true),
            (
                two,
                "table=t&fields=id,a&filter={\"or\":[{\"a\":{\"eq\":1}},{\"b\":{\"eq\":1}}]}",
                false,
            ),
            (two, "table=t&fields=id,a&filter={\"a\":{\"eq\":1}}&filter={\"b\":{\"eq\":1}}", false),
            (two, "table=t&fields=id,a&expand=b", false),
            (two, "table=t&fields=id,a&language=de", false),
            ("table=t&fields=language_short", "table=t&fields=language_short&language=de", true),
            (
                "table=t&fields=language_short",
                "table=t&fields=language_short&language=de&id=1",
                false,
            ),
            ("table=t&fields=a&filter[b]=1", "table=t&fields=a&filter[b]=1", true),
            ("table=t&fields=a&filter[b]=1", "table=t&fields=a&filter[b]=1&filter[b][gt]=0", false),
        ] {
            assert_eq!(allows(&row(right), query), expected, "{right}: {query}");
        }
    }

    #[test]
    fn a_bound_row_grants_no_way_out() {
        for (held, asked, expected) in [
            ("table=t&fields=a", "table=t&fields=a&sort=a", true),
            ("table=t&fields=a", "table=t&fields=a&filter[b]=1", false),
            ("table=t&fields=a", "table=t&fields=a&filter={\"b\":{\"eq\":1}}", false),
            ("table=t&id=1", "table=t&id=1&fields=a", true),
            ("table=t&id=1", "table=t&id=1&language=de", false),
        ] {
            assert_eq!(row(held).covers(&row(asked)), expected, "{held} for {asked}");
        }
    }

    #[test]
    fn a_free_row_frees_from_the_bounds_of_another() {
        let query = pairs("table=t&fields=a&id=1");
        let path = "/api/backend/item";
        let call = KeyCall { method: "GET", path, query: &query, body_table: None };
        let both = Some(Bounds { record: true, fields: true, states: false });
        assert_eq!(Bounds::of(&[row("table=t&fields=a&id=1")], &call), both);
        let rights = [row("table=t&id=1"), row("table=t&fields=a")];
        assert_eq!(Bounds::of(&rights, &call), Some(Bounds::default()));
        assert_eq!(Bounds::of(&[Right::everything()], &call), Some(Bounds::default()));
        assert_eq!(Bounds::of(&[row("table=u")], &call), None);
    }
}
