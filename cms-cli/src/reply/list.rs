//! Lists: one page, or all.

use clap::Args;
use cms_http::client::{Ask, Client};

use super::envelope::{Many, RawMany};
use crate::output::{
    Done, Failure, Output, counted,
    record::{Record, Shown},
    table,
};

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

/// Prints a list. Shows only `columns`, or all columns when that is empty.
pub(crate) async fn print(
    out: &Output,
    client: &Client,
    ask: Ask,
    paging: &Paging,
    columns: &[&str],
) -> Done {
    print_as(out, client, ask, paging, columns, Record::shown).await
}

/// [`print()`] with another way to show columns.
pub(crate) async fn print_as(
    out: &Output,
    client: &Client,
    ask: Ask,
    paging: &Paging,
    columns: &[&str],
    shown: Shown,
) -> Done {
    let limit = paging.limit.or(paging.all.then_some(LARGEST_PAGE));
    let ask = ask.maybe("limit", limit);
    let mut cursor = paging.cursor.clone();
    let mut pages = 0;
    loop {
        let body = client.send(ask.clone().maybe("cursor", cursor.as_deref())).await?.body;
        if out.json && !paging.all {
            return Ok(out.line(&body)?);
        }
        cursor = if out.json {
            raw(out, &body, pages)?
        } else {
            page(out, &body, paging, (columns, shown), pages)?
        };
        pages += 1;
        if cursor.is_none() || !paging.all {
            return Ok(());
        }
    }
}

/// Prints a page as a part of one large body, so that `--all` needs the memory of one page.
fn raw(out: &Output, body: &str, pages: usize) -> Done<Option<String>> {
    let many: RawMany<'_> = serde_json::from_str(body).map_err(Failure::unexpected)?;
    let text = many.data.get().trim();
    let rows = text[1..text.len() - 1].trim();
    out.raw(if pages == 0 { "{\"data\":[" } else { "," })?;
    out.raw(rows)?;
    if many.meta.next.is_none() {
        out.line(&format!("],\"meta\":{{\"limit\":{},\"next\":null}}}}", many.meta.limit))?;
    }
    Ok(many.meta.next)
}

fn page(
    out: &Output,
    body: &str,
    paging: &Paging,
    (columns, shown): (&[&str], Shown),
    pages: usize,
) -> Done<Option<String>> {
    let many: Many = serde_json::from_str(body).map_err(Failure::unexpected)?;
    table::records(out, columns, &many.data, shown)?;
    if many.data.is_empty() && pages == 0 {
        out.note("No rows.");
    }
    if let Some(total) = many.meta.total.filter(|_| pages == 0) {
        out.note(&format!("{} in all.", counted(total.unsigned_abs(), "row")));
    }
    if let Some(next) = many.meta.next.as_ref().filter(|_| !paging.all) {
        out.note(&format!("There are more rows: --cursor {next}, or --all"));
    }
    Ok(many.meta.next)
}
