//! One record.

use cms_http::{client::Client, wire::Operation};
use serde::Serialize;

use super::{
    call::written,
    cells::{Cell, cells, plain},
    shapes::Single,
};
use crate::output::{Done, Output, table};

/// Calls an operation and prints the record in the reply.
pub(crate) async fn record<O: Operation>(
    out: &Output,
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done
where
    O::Reply: Single,
    <O::Reply as Single>::One: Serialize,
{
    record_as::<O>(out, client, query, body, plain).await
}

/// [`record`] with another way to show columns.
pub(crate) async fn record_as<O: Operation>(
    out: &Output,
    client: &Client,
    query: &O::Query,
    body: &O::Body,
    cell: Cell<<O::Reply as Single>::One>,
) -> Done
where
    O::Reply: Single,
    <O::Reply as Single>::One: Serialize,
{
    let (answer, one) = written::<O>(client, query, body).await?;
    match one {
        _ if out.json => Ok(out.line(&answer.body)?),
        Some(one) => show_as(out, &one, cell),
        None => {
            let id = answer.only_id().unwrap_or_default();
            out.note("Done. You may see no more of it than its id.");
            Ok(table::pairs(out, &[("id", id.to_string())])?)
        }
    }
}

/// Prints a record: its body with `--json`, else a line for each column.
pub(crate) fn show<T: Serialize>(out: &Output, body: &str, one: &T) -> Done {
    if out.json { Ok(out.line(body)?) } else { show_as(out, one, plain) }
}

fn show_as<T: Serialize>(out: &Output, one: &T, cell: Cell<T>) -> Done {
    let cells = cells(one, &[], cell)?;
    let pairs: Vec<_> = cells.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    Ok(table::pairs(out, &pairs)?)
}
