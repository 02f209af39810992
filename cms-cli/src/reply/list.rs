//! Lists: one page, or all.

use clap::Args;
use cms_http::{
    client::{Answer, Ask, Client},
    wire::{NoBody, Operation, Page, Record, parameters::Limit},
};
use serde::Serialize;

use super::{
    Choose,
    cells::{Cell, cells, plain},
    shapes::Paged,
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
pub(crate) async fn list<O: Operation<Body = NoBody>>(
    out: &Output,
    client: &Client,
    paging: &Paging,
    columns: &[&str],
    query: impl Fn(Limit, Option<String>) -> O::Query,
) -> Done
where
    O::Reply: Paged,
    <O::Reply as Paged>::Row: Serialize,
{
    list_as::<O>(out, client, paging, (columns, plain), query).await
}

/// [`list`] with another way to show columns.
pub(crate) async fn list_as<O: Operation<Body = NoBody>>(
    out: &Output,
    client: &Client,
    paging: &Paging,
    shown: (&[&str], Cell<<O::Reply as Paged>::Row>),
    query: impl Fn(Limit, Option<String>) -> O::Query,
) -> Done
where
    O::Reply: Paged,
    <O::Reply as Paged>::Row: Serialize,
{
    let all = Chosen { choose: Choose::default(), paging: paging.clone() };
    chosen::<O>(out, client, &all, shown, query).await
}

/// [`list_as`] of some rows only, in an order of the caller's.
pub(crate) async fn chosen<O: Operation<Body = NoBody>>(
    out: &Output,
    client: &Client,
    Chosen { choose, paging }: &Chosen,
    shown: (&[&str], Cell<<O::Reply as Paged>::Row>),
    query: impl Fn(Limit, Option<String>) -> O::Query,
) -> Done
where
    O::Reply: Paged,
    <O::Reply as Paged>::Row: Serialize,
{
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

/// Prints a page as a part of one large body, so that `--all` needs the memory of one page.
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
