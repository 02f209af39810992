//! One act for several things, one after the other.

use cms_http::{
    client::Client,
    wire::{Operation, parameters::ById},
};
use serde::Serialize;
use serde_json::Value as Json;

use super::{
    call::written,
    cells::{Cell, cells},
    query::by_id,
    shapes::Single,
    single::record_as,
};
use crate::output::{Done, Exit, Output, table};

/// Acts on each. Stops at the first failure; what was done before it is told, and ends with 8.
pub(crate) async fn several<T>(
    out: &Output,
    ids: &[i64],
    mut act: impl AsyncFnMut(i64) -> Done<T>,
) -> Done<Vec<T>> {
    let mut done = Vec::with_capacity(ids.len());
    for (before, id) in ids.iter().enumerate() {
        match act(*id).await {
            Ok(one) => done.push(one),
            Err(failure) if before == 0 => return Err(failure),
            Err(mut failure) => {
                let names: Vec<String> = ids[..before].iter().map(i64::to_string).collect();
                out.note(&format!("Done before the failure: {}", names.join(", ")));
                failure.exit = Exit::Partly;
                return Err(failure.fact("done", ids[..before].to_vec()));
            }
        }
    }
    Ok(done)
}

/// Changes each. Prints one as a record, several as a table of these columns.
pub(crate) async fn change<O: Operation<Query = ById>>(
    out: &Output,
    client: &Client,
    ids: &[i64],
    body: &O::Body,
    (columns, cell): (&[&str], Cell<<O::Reply as Single>::One>),
) -> Done
where
    O::Reply: Single,
    <O::Reply as Single>::One: Serialize,
{
    if let [id] = ids {
        return record_as::<O>(out, client, &by_id(*id), body, cell).await;
    }
    let changed = several(out, ids, async |id| {
        let (answer, one) = written::<O>(client, &by_id(id), body).await?;
        let row: Vec<String> = match one {
            Some(one) => cells(&one, columns, cell)?.into_iter().map(|(_, text)| text).collect(),
            None => {
                let known =
                    |name: &&str| if *name == "id" { id.to_string() } else { String::new() };
                columns.iter().map(known).collect()
            }
        };
        // JSON: it is printed as it came, with members that `One` may not know.
        Ok((answer.json()?["data"].take(), row))
    });
    let (bodies, rows): (Vec<Json>, Vec<Vec<String>>) = changed.await?.into_iter().unzip();
    if out.json {
        return Ok(out.data(&Json::Array(bodies))?);
    }
    Ok(table::rows(out, columns, &rows)?)
}
