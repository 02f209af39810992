//! The declaration of a list with a preview.

use cms_http::wire::{
    NoBody, Operation,
    parameters::{self, Limit, OneOrList},
};
use serde_json::Value as Json;

use super::{Above, ExtraColumns, Parts};
use crate::{
    actions::Scene,
    calls::Fault,
    screens::cells::Column,
    step::{Calling, Step, get},
    theme::Role,
    widgets::window::{PAGE, Row},
};

/// What is asked of the service for a list.
#[derive(Debug, Default)]
pub(crate) struct ListQuery<'a> {
    pub(crate) subject: &'a Json,
    pub(crate) cursor: Option<String>,
    /// The words of the filter.
    pub(crate) filter: &'a str,
    pub(crate) now: i64,
    pub(crate) sort: Option<String>,
    /// Who the user is, once known.
    pub(crate) who: &'a str,
}

impl ListQuery<'_> {
    /// A page of a list that the service sorts by any column.
    pub(crate) fn page(&self) -> parameters::ListQuery {
        let page = parameters::ListQuery::page(Limit(PAGE), self.cursor.clone());
        parameters::ListQuery { sort: self.sort.clone(), ..page }
    }
}

/// Counts the rows that fit.
pub(super) type Count = fn(&ListQuery<'_>) -> Result<Calling, Fault>;
/// Reads a row whole: the row, the subject.
pub(super) type Detail = fn(&Json, &Json) -> Result<Calling, Fault>;
/// Lines about a row: the row, its details once read, the subject, the time.
pub(super) type Preview = fn(&Json, Option<&Json>, &Json, i64) -> Vec<(Role, String)>;

/// A list's declaration.
pub(crate) struct Spec {
    pub(crate) noun: &'static str,
    pub(crate) title: fn(&Json) -> String,
    pub(crate) columns: fn(&Json) -> Vec<Column>,
    pub(crate) list: fn(&ListQuery<'_>) -> Result<Calling, Fault>,
    /// Counts the rows; None: the service cannot count them.
    pub(crate) count: Option<Count>,
    /// Parts of it, one of which is seen.
    pub(crate) parts: Option<&'static Parts>,
    /// Lines about the whole list.
    pub(crate) above: Option<&'static Above>,
    /// Another call that fills columns.
    pub(crate) extra: Option<&'static ExtraColumns>,
    /// Reads one row whole, for the preview.
    pub(crate) detail: Option<Detail>,
    /// The rows of a reply.
    pub(crate) rows: fn(&Json, Json) -> Vec<Row>,
    pub(crate) preview: Preview,
    /// Help for the filter; None: the service does not filter, so the rows are filtered here.
    pub(crate) tokens: Option<fn(&Json) -> String>,
    /// Columns that can be sorted by.
    pub(crate) sorts: fn(&Json) -> Vec<String>,
    pub(crate) act: fn(&str, &Scene<'_>) -> Step,
    /// Whether `*` marks all rows that match, not only those that are loaded.
    pub(crate) marks_all: bool,
    /// What Enter opens.
    pub(crate) open: Option<fn(&Json, &Json) -> Step>,
    pub(crate) empty: &'static str,
    pub(crate) poll_s: i64,
    pub(crate) follows: fn(&str, &Json) -> bool,
}

impl Spec {
    /// A declaration with the values that most lists share.
    pub(crate) const fn new(
        noun: &'static str,
        title: fn(&Json) -> String,
        columns: fn(&Json) -> Vec<Column>,
        list: fn(&ListQuery<'_>) -> Result<Calling, Fault>,
        act: fn(&str, &Scene<'_>) -> Step,
    ) -> Self {
        Self {
            noun,
            title,
            columns,
            list,
            count: None,
            parts: None,
            above: None,
            extra: None,
            detail: None,
            rows: |_, data| by_id(data, "id"),
            preview: |row, detail, _, _| crate::widgets::viewer::json_lines(detail.unwrap_or(row)),
            tokens: None,
            sorts: |_| Vec::new(),
            act,
            marks_all: false,
            open: None,
            empty: "Nothing here.",
            poll_s: 5,
            follows: |_, _| false,
        }
    }
}

#[cfg(test)]
impl Spec {
    /// What the service is asked for this filter.
    pub(crate) fn asks(&self, subject: &Json, filter: &str) -> Result<String, Fault> {
        let asked = ListQuery { subject, filter, ..ListQuery::default() };
        (self.list)(&asked).map(|call| call.ask.line())
    }
}

/// Asks for a page of a list that the service sorts by any column.
pub(crate) fn listed<O>(asked: &ListQuery<'_>) -> Result<Calling, Fault>
where
    O: Operation<Query = OneOrList, Body = NoBody>,
{
    get::<O>(&OneOrList { id: None, list: asked.page() })
}

/// Rows identified by a member.
pub(crate) fn by_id(data: Json, name: &str) -> Vec<Row> {
    let Json::Array(rows) = data else { return Vec::new() };
    let id = |row: &Json| row[name].as_str().map_or_else(|| row[name].to_string(), str::to_owned);
    rows.into_iter().map(|json| Row { id: id(&json), json }).collect()
}
