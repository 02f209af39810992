//! Lists: one page or all, flags that choose rows, the first match, entries of the audit log.

use std::ops::ControlFlow;

use clap::Args;
use cms_core::AuditRow;
use cms_http::{
    client::{Answer, Ask, Client},
    wire::{
        NoBody, Operation, Page, Record,
        audit::{List, WhichAuditRows},
        parameters::Limit,
    },
};
use serde::Serialize;

use super::{
    call::Paged,
    record::{Cell, cells, plain},
};
use crate::output::{Done, Failure, Output, counted, table};

/// The most rows that the API puts on a page.
pub(crate) const LARGEST_PAGE: u32 = 500;

/// Which part of a list.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Paging {
    /// Rows on a page, 1 to 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: Option<u32>,
    /// Continue after a page: the cursor that it gave
    #[arg(long, value_name = "CURSOR", conflicts_with = "all")]
    cursor: Option<String>,
    /// All pages
    #[arg(long)]
    all: bool,
}

/// Which rows, and which part of them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Chosen {
    #[command(flatten)]
    choose: Choose,
    #[command(flatten)]
    paging: Paging,
}

/// Prints a list. Shows only `columns`, or all columns when that is empty.
pub(crate) async fn list<O: Operation<Body = NoBody, Reply: Paged<Row: Serialize>>>(
    out: &Output,
    client: &Client,
    paging: &Paging,
    columns: &[&str],
    query: impl Fn(Limit, Option<String>) -> O::Query,
) -> Done {
    list_as::<O>(out, client, paging, (columns, plain), query).await
}

/// [`list`] with another way to show columns.
pub(crate) async fn list_as<O: Operation<Body = NoBody, Reply: Paged<Row: Serialize>>>(
    out: &Output,
    client: &Client,
    paging: &Paging,
    shown: (&[&str], Cell<<O::Reply as Paged>::Row>),
    query: impl Fn(Limit, Option<String>) -> O::Query,
) -> Done {
    let all = Chosen { choose: Choose::default(), paging: paging.clone() };
    chosen::<O>(out, client, &all, shown, query).await
}

/// [`list_as`] with the caller's choice of rows and order.
pub(crate) async fn chosen<O: Operation<Body = NoBody, Reply: Paged<Row: Serialize>>>(
    out: &Output,
    client: &Client,
    Chosen { choose, paging }: &Chosen,
    shown: (&[&str], Cell<<O::Reply as Paged>::Row>),
    query: impl Fn(Limit, Option<String>) -> O::Query,
) -> Done {
    let ask = |limit, cursor| Ok(choose.ask(Ask::of::<O>(&query(limit, cursor), &NoBody)?));
    let read = |answer: &Answer| {
        let page = answer.read::<O>()?.page();
        page.ok_or_else(|| Failure::unexpected("it holds no list"))
    };
    pages(out, client, paging, shown, ask, read).await
}

/// Prints rows of a content table.
pub(crate) async fn records(out: &Output, client: &Client, paging: &Paging, ask: Ask) -> Done {
    let page =
        |limit: Limit, cursor| Ok(ask.clone().query("limit", limit.0).maybe("cursor", cursor));
    let read = |answer: &Answer| serde_json::from_str(&answer.body).map_err(Failure::unexpected);
    pages(out, client, paging, (&[], plain::<Record>), page, read).await
}

async fn pages<T: Serialize>(
    out: &Output,
    client: &Client,
    paging: &Paging,
    (columns, cell): (&[&str], Cell<T>),
    ask: impl Fn(Limit, Option<String>) -> Done<Ask>,
    read: impl Fn(&Answer) -> Done<Page<T>>,
) -> Done {
    let limit = match paging.limit {
        Some(limit) => Limit(limit),
        None if paging.all => Limit(LARGEST_PAGE),
        None => Limit::default(),
    };
    let mut cursor = paging.cursor.clone();
    let mut is_first = true;
    loop {
        let answer = client.send(ask(limit, cursor)?).await?;
        if out.json && !paging.all {
            return Ok(out.line(&answer.body)?);
        }
        cursor = if out.json {
            part(out, &answer.body, is_first)?
        } else {
            let page = read(&answer)?;
            print(out, &page, paging, (columns, cell), is_first)?;
            page.meta.next
        };
        is_first = false;
        if cursor.is_none() || !paging.all {
            return Ok(());
        }
    }
}

/// Prints a page as part of one large body, so that `--all` needs memory for one page only.
fn part(out: &Output, body: &str, is_first: bool) -> Done<Option<String>> {
    let page: Page<Record> = serde_json::from_str(body).map_err(Failure::unexpected)?;
    let rows: Vec<_> = page.data.iter().map(Record::json).collect();
    out.raw(if is_first { "{\"data\":[" } else { "," })?;
    out.raw(&rows.join(","))?;
    if page.meta.next.is_none() {
        out.line(&format!("],\"meta\":{{\"limit\":{},\"next\":null}}}}", page.meta.limit))?;
    }
    Ok(page.meta.next)
}

fn print<T: Serialize>(
    out: &Output,
    page: &Page<T>,
    paging: &Paging,
    (columns, cell): (&[&str], Cell<T>),
    is_first: bool,
) -> Done {
    let rows: Vec<_> =
        page.data.iter().map(|row| cells(row, columns, cell)).collect::<Done<_>>()?;
    if let Some(first) = rows.first() {
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        let text = |row: &Vec<(String, String)>| row.iter().map(|(_, text)| text.clone()).collect();
        table::rows(out, &names, &rows.iter().map(text).collect::<Vec<_>>())?;
    } else if is_first {
        out.note("No rows.");
    }
    if let Some(total) = page.meta.total.filter(|_| is_first) {
        out.note(&format!("{} in all.", counted(total.unsigned_abs(), "row")));
    }
    if let Some(next) = page.meta.next.as_ref().filter(|_| !paging.all) {
        out.note(&format!("There are more rows: --cursor {next}, or --all"));
    }
    Ok(())
}

/// Which rows, in which order.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Choose {
    /// Only rows that fulfil column=value or column:op=value, op one of eq ne gt gte lt lte in nin
    /// contains starts_with ends_with null; or JSON that combines conditions by and, or, not:
    /// '{"or":[{"status":{"eq":"new"}},{"total":{"gte":10}}]}'; may be repeated
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<Condition>,
    /// Order by these columns, - in front for descending: -created,title
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Only rows with this text in a column that is searched
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// One condition of the command line.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// A parameter and its value.
    Column(String, String),
    /// JSON for the parameter `filter`.
    Json(String),
}

impl Choose {
    /// The request, limited to these rows.
    pub(crate) fn ask(&self, ask: Ask) -> Ask {
        let ask = self.conditions.iter().fold(ask, |ask, condition| match condition {
            Condition::Column(name, value) => ask.query(name, value),
            Condition::Json(_) => ask,
        });
        ask.maybe("filter", self.json())
            .maybe("sort", self.sort.as_ref())
            .maybe("search", self.search.as_ref())
    }

    /// All conditions in JSON as one, because the service takes the parameter once.
    fn json(&self) -> Option<String> {
        let json = self.conditions.iter().filter_map(|condition| match condition {
            Condition::Json(json) => Some(json.as_str()),
            Condition::Column(..) => None,
        });
        match json.collect::<Vec<_>>().as_slice() {
            [] => None,
            [one] => Some((*one).to_owned()),
            several => Some(format!("{{\"and\":[{}]}}", several.join(","))),
        }
    }
}

/// Reads `column:op=value` as the query parameter `filter[column][op]`, and JSON as it is.
fn condition(text: &str) -> Result<Condition, String> {
    if text.trim_start().starts_with('{') {
        // Checked here too: conditions are joined, and a truncated one would change the others.
        let read = serde_json::from_str::<&serde_json::value::RawValue>(text);
        return match read {
            Ok(_) => Ok(Condition::Json(text.to_owned())),
            Err(why) => Err(format!("this is no JSON ({why})")),
        };
    }
    let form = "write column=value or column:op=value, such as total:gte=100";
    let (left, value) = text.split_once('=').ok_or(form)?;
    let (column, op) = left.rsplit_once(':').unwrap_or((left, "eq"));
    if column.is_empty() || op.is_empty() {
        return Err(form.to_owned());
    }
    Ok(Condition::Column(format!("filter[{column}][{op}]"), value.to_owned()))
}

/// Reads page after page up to the first match of `wanted`.
pub(crate) async fn first<O: Operation<Body = NoBody, Reply: Paged>>(
    client: &Client,
    query: impl Fn(Limit, Option<String>) -> O::Query,
    wanted: impl Fn(&<O::Reply as Paged>::Row) -> bool,
) -> Done<Option<<O::Reply as Paged>::Row>> {
    let mut found = None;
    each::<O>(client, query, |row| {
        if wanted(&row) {
            found = Some(row);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })
    .await?;
    Ok(found)
}

/// Passes row after row to `see`, until it returns `Break`.
pub(super) async fn each<O: Operation<Body = NoBody, Reply: Paged>>(
    client: &Client,
    query: impl Fn(Limit, Option<String>) -> O::Query,
    mut see: impl FnMut(<O::Reply as Paged>::Row) -> ControlFlow<()>,
) -> Done {
    let mut cursor = None;
    loop {
        let reply = client.call::<O>(&query(Limit(LARGEST_PAGE), cursor), &NoBody).await?;
        let page = reply.page().ok_or_else(|| Failure::unexpected("it holds no list"))?;
        for row in page.data {
            if see(row).is_break() {
                return Ok(());
            }
        }
        if page.meta.next.is_none() {
            return Ok(());
        }
        cursor = page.meta.next;
    }
}

/// Prints the entries that `which` selects, newest first; its page is that of `paging`.
pub(crate) async fn acts(
    out: &Output,
    client: &Client,
    which: WhichAuditRows,
    paging: &Paging,
) -> Done {
    let columns = ["id", "created_at", "actor", "action", "table", "row_id", "columns"];
    let query = |limit, cursor| WhichAuditRows { limit, cursor, ..which.clone() };
    list_as::<List>(out, client, paging, (&columns, act_cell), query).await
}

/// Shows an actor as `user 3 (ana)`, and columns as a list of names.
fn act_cell(act: &AuditRow, column: &str) -> Option<String> {
    match column {
        "actor" => {
            let id = act.actor.id.map(|id| format!(" {id}")).unwrap_or_default();
            let name = act.actor.name.as_deref().filter(|name| !name.is_empty());
            let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
            Some(format!("{}{id}{name}", act.actor.kind))
        }
        "columns" => Some(act.columns.join(" ")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        let table = [
            ("a=1", Some(("filter[a][eq]", "1"))),
            ("a:gte=1", Some(("filter[a][gte]", "1"))),
            ("a:eq=x=y:z", Some(("filter[a][eq]", "x=y:z"))),
            ("a=", Some(("filter[a][eq]", ""))),
            ("a", None),
            ("=1", None),
            ("a:=1", None),
        ];
        for (text, expected) in table {
            let expected =
                expected.map(|(name, value)| Condition::Column(name.to_owned(), value.to_owned()));
            assert_eq!(condition(text).ok(), expected, "{text}");
        }
        for (text, is_json) in [(r#" {"a":{"eq":1}}"#, true), ("{", false), ("{}]}", false)] {
            let expected = is_json.then(|| Condition::Json(text.to_owned()));
            assert_eq!(condition(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn json_is_sent_once() {
        let given = |conditions: &[&str]| {
            let conditions = conditions.iter().map(|text| condition(text).expect(text)).collect();
            Choose { conditions, ..Choose::default() }.json()
        };
        let (one, other) = (r#"{"a":{"eq":1}}"#, r#"{"b":{"eq":2}}"#);
        assert_eq!(given(&["a=1"]), None);
        assert_eq!(given(&[one, "a=1"]).as_deref(), Some(one));
        let both = format!("{{\"and\":[{one},{other}]}}");
        assert_eq!(given(&[one, other]), Some(both));
    }
}
