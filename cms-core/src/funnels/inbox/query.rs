//! Queries of the inbox, and the views that a caller saves. Anything that cannot be read is
//! refused: if a filter were ignored, a bulk change could meet every row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::row::{COLUMNS, kind, names};
use crate::{
    Code, Error, FieldError, Result,
    items::{Filter, Op, Query, read_times, searched},
    plain,
};

/// The order of lists without `sort`.
const NEWEST: &str = "-started_at";

/// Selects and sorts submissions.
#[derive(Clone, Debug)]
pub struct InboxQuery(pub(super) Query);

/// Conditions on columns of the inbox, and a text to search for under the member `search`. A
/// condition is a value, a list of values, null, or an object of operators:
/// `{"inbox_status": "new", "started_at": {"gte": "2026-11-01T00:00:00Z"}}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("examples" = [{"inbox_status": "new", "search": "ada"}]))]
pub struct InboxFilter(pub Map<String, Json>);

impl InboxQuery {
    /// Reads `filter[column][op]`, `sort`, `search`, `count`, `limit` and `cursor`.
    ///
    /// # Errors
    /// `bad_query` for anything that is unknown or cannot be read.
    pub fn parse<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let parameters: Vec<_> = parameters.into_iter().collect();
        let known = |name: &str| {
            matches!(name, "sort" | "search" | "count" | "limit" | "cursor")
                || name.starts_with("filter[")
        };
        if let Some((name, _)) = parameters.iter().find(|(name, _)| !known(name)) {
            let known = "sort, search, count, limit, cursor, filter[column][op]";
            return Err(bad(format!("There is no parameter {name:?}; there are {known}.")));
        }
        let mut query = Query::parse(parameters)?;
        read_times(&COLUMNS, &mut query)?;
        for filter in &query.filters {
            check(filter).map_err(|why| bad(format!("filter[{}]: {}.", filter.column, why)))?;
        }
        Ok(Self::sorted(query))
    }

    /// In this order, such as `-score,started_at`.
    pub fn sorted_by(mut self, sort: &str) -> Result<Self> {
        self.0.sort = Query::parse([("sort", sort)])?.sort;
        Ok(self)
    }

    /// Adds the default order, and the columns that a search looks in. Answers are composed, so the
    /// text is too.
    fn sorted(mut query: Query) -> Self {
        query.search = query.search.map(|text| plain::composed(&text).into_owned());
        if query.sort.is_empty() {
            let column = NEWEST.trim_start_matches('-').to_owned();
            query.sort.push((column, NEWEST.starts_with('-')));
        }
        query.search_in = searched(&COLUMNS);
        Self(query)
    }

    /// Selects only submissions of one funnel.
    pub(super) fn of_funnel(mut self, id: i64) -> Self {
        let (column, values) = ("funnel_id".to_owned(), vec![id.to_string()]);
        self.0.filters.push(Filter { column, op: Op::Eq, values });
        self
    }

    /// The only funnel whose submissions the query selects, if a condition names one.
    pub(super) fn funnel(&self) -> Option<i64> {
        let named =
            |filter: &&Filter| filter.column == "funnel_id" && matches!(filter.op, Op::Eq | Op::In);
        let mut named = self.0.filters.iter().filter(named);
        named.find_map(|filter| match filter.values.as_slice() {
            [one] => one.parse().ok(),
            _ => None,
        })
    }

    /// `Some(None)` if the query selects all submissions, in whatever state of the inbox; `Some`
    /// with an id if it selects all of that funnel; else None.
    pub(super) fn whole(&self) -> Option<Option<i64>> {
        let others: Vec<_> = self.0.filters.iter().filter(|filter| !is_of_state(filter)).collect();
        match others.as_slice() {
            _ if self.0.search.is_some() => None,
            [] => Some(None),
            [Filter { column, op: Op::Eq, values }] if column == "funnel_id" => {
                values.first()?.parse().ok().map(Some)
            }
            _ => None,
        }
    }

    /// The query without its page and order, for any state of the inbox.
    pub(super) fn of_any_state(&self) -> Query {
        let filters = self.0.filters.iter().filter(|filter| !is_of_state(filter));
        let (filters, sort) = (filters.cloned().collect(), Vec::new());
        Query { filters, sort, cursor: None, ..self.0.clone() }
    }

    /// As [`InboxQuery::of_any_state`], for one state of the inbox.
    pub(super) fn of_state(&self, state: &str) -> Query {
        let mut query = self.of_any_state();
        let (column, values) = ("inbox_status".to_owned(), vec![state.to_owned()]);
        query.filters.push(Filter { column, op: Op::Eq, values });
        query
    }
}

fn is_of_state(filter: &Filter) -> bool {
    filter.column == "inbox_status"
}

impl InboxFilter {
    /// Turns the filter into a query. `field`: its name in errors.
    ///
    /// # Errors
    /// `validation_failed` for anything that is unknown or cannot be read.
    pub fn query(&self, field: &str) -> Result<InboxQuery> {
        let mut pairs = Vec::new();
        for (name, given) in &self.0 {
            if name == "search" {
                let text = given.as_str().filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| wrong(field, name, "a text is expected"))?;
                pairs.push(("search".to_owned(), text.to_owned()));
                continue;
            }
            if kind(name).is_none() {
                return Err(wrong(field, name, &format!("there are {}", names())));
            }
            conditions(name, given, &mut pairs).map_err(|why| wrong(field, name, why))?;
        }
        let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        InboxQuery::parse(pairs).map_err(|error| {
            let (code, message) = ("format", error.detail().trim_end_matches('.').to_owned());
            Error::invalid(vec![FieldError { field: field.to_owned(), code, message }])
        })
    }
}

/// The query parameters that mean the same as a member of a filter.
fn conditions(
    name: &str,
    given: &Json,
    pairs: &mut Vec<(String, String)>,
) -> Result<(), &'static str> {
    let Json::Object(ops) = given else {
        let op = match given {
            Json::Null => "null",
            Json::Array(_) => "in",
            _ => "eq",
        };
        pairs.push((format!("filter[{name}][{op}]"), text(op, given)?));
        return Ok(());
    };
    if ops.is_empty() {
        return Err("an operator is expected, such as {\"gte\": 5}");
    }
    for (op, value) in ops {
        pairs.push((format!("filter[{name}][{op}]"), text(op, value)?));
    }
    Ok(())
}

fn text(op: &str, value: &Json) -> Result<String, &'static str> {
    match (op, value) {
        ("null", Json::Null) => Ok("true".to_owned()),
        ("in" | "nin", Json::Array(values)) if !values.is_empty() => {
            let one = |value: &Json| match scalar(value) {
                Some(text) if !text.contains(',') => Ok(text),
                _ => Err("a list of values without commas is expected"),
            };
            Ok(values.iter().map(one).collect::<Result<Vec<_>, _>>()?.join(","))
        }
        ("in" | "nin", _) => Err("a list of values is expected"),
        (_, value) => scalar(value).ok_or("one value is expected"),
    }
}

fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Checks the values of a filter.
fn check(filter: &Filter) -> Result<(), String> {
    let column = filter.column.as_str();
    if filter.op == Op::Null {
        return Ok(());
    }
    let choices = COLUMNS.iter().find(|one| one.name == column).map_or(&[][..], |one| one.choices);
    if choices.is_empty() {
        return Ok(());
    }
    if !matches!(filter.op, Op::Eq | Op::Ne | Op::In | Op::Nin) {
        return Err("compare it with eq, ne, in or nin".to_owned());
    }
    match filter.values.iter().find(|value| !choices.contains(&value.as_str())) {
        Some(other) => Err(format!("{other:?} is none of {}", choices.join(", "))),
        None => Ok(()),
    }
}

fn bad(detail: String) -> Error {
    Error::new(Code::BadQuery, detail)
}

fn wrong(field: &str, name: &str, why: &str) -> Error {
    Error::invalid_field(format!("{field}.{name}"), "unknown", why)
}

/// What a view selects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "InboxViewQuery")]
#[non_exhaustive]
pub struct ViewQuery {
    /// Conditions, and what is searched for.
    #[serde(default)]
    pub filter: InboxFilter,
    /// The order, as in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
}

/// A view to save. One of the same name is replaced.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewInboxView")]
#[schemars(extend("examples" = [{"name": "New", "query": {"filter": {"inbox_status": "new"}}}]))]
#[non_exhaustive]
pub struct NewView {
    /// Its name, 1 to 100 characters.
    pub name: String,
    /// What it selects.
    #[serde(default)]
    pub query: ViewQuery,
}

impl NewView {
    /// A view of this name, of all submissions.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), query: ViewQuery::default() }
    }
}

/// A saved view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct InboxView {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// What it selects.
    pub query: ViewQuery,
    /// When it was made.
    pub created_at: String,
    /// When it was saved last.
    pub updated_at: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_cannot_be_read_is_refused() {
        for wrong in [
            ("filter[inbox_status]", "nwe"),
            ("filter[inbox_status][contains]", "new"),
            ("filter[inbox_status][in]", "new,,"),
            ("filter[status]", "new"),
            ("filter[end_kind]", "fine"),
            ("filter[mail_status]", "sent"),
            ("filter[started_at][gte]", "yesterday"),
            ("filter[started_at][gte]", "1763717400000"),
            ("inbox_status", "new"),
            ("filters[inbox_status]", "new"),
            ("filter", r#"{"inbox_status":{"eq":"new"}}"#),
            ("expand", "assigned_to"),
            ("offset", "5"),
        ] {
            let refused = InboxQuery::parse([wrong]).expect_err(wrong.1);
            assert_eq!(refused.code(), Code::BadQuery, "{wrong:?}");
        }
        for wrong in [
            json!({"inbox_state": "new"}),
            json!({"inbox_status": "nwe"}),
            json!({"inbox_status": {"is": "new"}}),
            json!({"inbox_status": {}}),
            json!({"inbox_status": []}),
            json!({"inbox_status": [["new"]]}),
            json!({"inbox_status": {"eq": ["new"]}}),
            json!({"company": ["a,b"]}),
            json!({"started_at": {"gte": 5}}),
            json!({"search": 5}),
            json!({"search": ""}),
            json!({"sort": "score"}),
        ] {
            let Json::Object(members) = wrong.clone() else { continue };
            let refused = InboxFilter(members).query("filter").expect_err("refused");
            assert_eq!(refused.code(), Code::ValidationFailed, "{wrong}");
        }
    }

    #[test]
    fn a_filter_says_what_parameters_say() {
        let Json::Object(members) = json!({
            "inbox_status": ["new", "qualified"], "assigned_to": null, "is_spam": false,
            "started_at": {"gte": "1970-01-01T00:00:01Z", "lt": "1970-01-01T00:00:02Z"},
            "score": {"gt": 5}, "search": "zoe\u{308}",
        }) else {
            return;
        };
        let read = InboxFilter(members).query("filter").expect("read").0;
        let mut said: Vec<_> =
            read.filters.iter().map(|f| (f.column.as_str(), f.op, f.values.join("|"))).collect();
        said.sort_by_key(|(column, op, _)| (*column, format!("{op:?}")));
        let expected = [
            ("assigned_to", Op::Null, "true"),
            ("inbox_status", Op::In, "new|qualified"),
            ("is_spam", Op::Eq, "false"),
            ("score", Op::Gt, "5"),
            ("started_at", Op::Gte, "1000"),
            ("started_at", Op::Lt, "2000"),
        ];
        assert_eq!(said, expected.map(|(column, op, value)| (column, op, value.to_owned())));
        assert_eq!(read.search.as_deref(), Some("zo\u{eb}"), "composed, as answers are");
    }
}
