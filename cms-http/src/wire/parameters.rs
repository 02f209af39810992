//! Queries that many endpoints share.

use std::{borrow::Cow, collections::BTreeMap};

use cms_core::{
    Code, DEFAULT_LIMIT, Error, MAX_LIMIT, Millis, Paging, Result, items::Query, parse_rfc3339,
    rfc3339,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A query for a page of a list: its own parameters, then those that choose the page.
macro_rules! paged {
    ($(#$about:tt)* pub struct $name:ident { $($own:tt)* }) => {
        $(#$about)*
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            /// Rows of a page.
            #[serde(default)]
            pub limit: Limit,
            /// Where the page starts: `meta.next` of the page before.
            pub cursor: Option<String>,
            /// Whether to count all matching rows.
            pub count: Option<bool>,
        }
    };
}
pub(crate) use paged;

/// No parameters.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoQuery {}

/// Parameters that say nothing.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AnyQuery {}

/// One thing by its id.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ById {
    /// Its id.
    #[schemars(example = 1)]
    pub id: i64,
}

/// One thing by its id, else a page of the list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct OneOrList {
    /// The one to show.
    pub id: Option<i64>,
    /// Which page of the list.
    #[serde(flatten)]
    pub list: ListQuery,
}

impl OneOrList {
    /// A page of the whole list.
    #[must_use]
    pub fn page(limit: Limit, cursor: Option<String>) -> Self {
        Self { id: None, list: ListQuery::page(limit, cursor) }
    }
}

/// A page of a list, whose rows are chosen and sorted by columns, as records are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListQuery {
    /// Rows of a page.
    #[serde(default)]
    pub limit: Limit,
    /// Where the page starts: `meta.next` of the page before.
    pub cursor: Option<String>,
    /// Columns separated by commas; `-` before one sorts it downwards.
    pub sort: Option<String>,
    /// Text that a name, an address or a prefix of the row must contain.
    #[schemars(length(max = 200))]
    pub search: Option<String>,
    /// Whether to count all matching rows.
    #[schemars(with = "Option<bool>")]
    pub count: Option<String>,
    /// Conditions as JSON, combined by `and`, `or` and `not`; `filter[column][op]` beside it must
    /// hold too.
    #[schemars(example = &r#"{"not":{"id":{"in":[1,2]}}}"#)]
    pub filter: Option<String>,
    /// `filter[column][op]` and their values.
    #[serde(flatten)]
    #[schemars(skip)]
    pub filters: BTreeMap<String, String>,
}

impl ListQuery {
    /// A page of all rows, in the list's own order.
    #[must_use]
    pub fn page(limit: Limit, cursor: Option<String>) -> Self {
        Self { limit, cursor, ..Self::default() }
    }

    /// `one`: the parameters that name one row.
    pub(crate) fn query(&self, one: &str) -> Result<Query> {
        let Self { limit, cursor, sort, search, count, filter, filters } = self;
        let is_filter = |name: &str| name.starts_with("filter[") && name.ends_with(']');
        if let Some(name) = filters.keys().find(|name| !is_filter(name)) {
            let known = "limit, cursor, sort, search, count, filter, filter[column][op]";
            let and = if one.is_empty() { "" } else { ", " };
            return Err(Error::new(
                Code::BadQuery,
                format!("There is no parameter {name:?}; there are {one}{and}{known}."),
            ));
        }
        let named = [
            ("cursor", cursor),
            ("sort", sort),
            ("search", search),
            ("count", count),
            ("filter", filter),
        ];
        let named = named.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)));
        let filters = filters.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        Ok(Query::parse(named.chain(filters))?.limit(limit.0))
    }
}

paged! {
    /// A page of a list.
    pub struct Listing {}
}

impl Listing {
    /// The page in the list's own order.
    pub(crate) fn paging(self) -> Paging {
        self.limit.after(self.cursor, self.count)
    }
}

/// Rows of a page, 1 to 500; 50 by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limit(pub u32);

impl Limit {
    /// So many rows after `cursor`, in the list's own order; with `count` also their number in all.
    pub(crate) fn after(self, cursor: Option<String>, count: Option<bool>) -> Paging {
        let mut paging = Paging::first(self.0);
        paging.cursor = cursor;
        paging.count = count == Some(true);
        paging
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(DEFAULT_LIMIT)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.parse().ok().filter(|number| (1..=MAX_LIMIT).contains(number));
        number.map(Self).ok_or_else(|| {
            D::Error::custom(format!("limit is a whole number from 1 to {MAX_LIMIT}."))
        })
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT})
    }
}

/// A moment, as RFC 3339 in a query: `2026-11-21T09:30:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub Millis);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let expected = "A date-time such as 2026-11-21T09:30:00Z is expected.";
        parse_rfc3339(&text).map(Self).ok_or_else(|| D::Error::custom(expected))
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}
