//! One record, and one act for several of them.

use cms_http::{
    client::{Answer, Client},
    wire::{self, Data, NoBody, Operation, parameters::ById},
};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::call::{Single, by_id, call, written};
use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, counted, listed, record::Record, table},
    prompt,
};

/// A row with the reply that shows it. It is changed only if it is still the same.
pub(crate) struct Saved {
    pub(crate) id: i64,
    pub(crate) answer: Answer,
}

/// Calls an operation and prints the record in the reply.
pub(crate) async fn record<O: Operation<Reply: Single<One: Serialize>>>(
    out: &Output,
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done {
    record_as::<O>(out, client, query, body, plain).await
}

/// [`record`] with another way to show columns.
pub(crate) async fn record_as<O: Operation<Reply: Single<One: Serialize>>>(
    out: &Output,
    client: &Client,
    query: &O::Query,
    body: &O::Body,
    cell: Cell<<O::Reply as Single>::One>,
) -> Done {
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

/// Calls an operation and prints its reply: as it came with `--json`, else as `show` does.
pub(crate) async fn printed<O: Operation>(
    out: &Output,
    client: &Client,
    query: &O::Query,
    body: &O::Body,
    show: impl FnOnce(O::Reply) -> Done,
) -> Done {
    let (answer, reply) = call::<O>(client, query, body).await?;
    if out.json { Ok(out.line(&answer.body)?) } else { show(reply) }
}

/// Prints a record: its body with `--json`, else a line for each column.
pub(crate) fn show<T: Serialize>(out: &Output, body: &str, one: &T) -> Done {
    if out.json { Ok(out.line(body)?) } else { show_as(out, one, plain) }
}

/// Prints the record in a reply, with all members that it has.
pub(crate) fn shown(out: &Output, answer: &Answer) -> Done {
    let record: Data<wire::Record> =
        serde_json::from_str(&answer.body).map_err(Failure::unexpected)?;
    show(out, &answer.body, &record.data)
}

fn show_as<T: Serialize>(out: &Output, one: &T, cell: Cell<T>) -> Done {
    let cells = cells(one, &[], cell)?;
    let pairs: Vec<_> = cells.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    Ok(table::pairs(out, &pairs)?)
}

/// Shows a column of a row; None shows it as the API sent it.
pub(crate) type Cell<T> = fn(&T, &str) -> Option<String>;

/// The cell of every column.
pub(crate) fn plain<T>(_: &T, _: &str) -> Option<String> {
    None
}

/// Columns of a row with their texts: the named ones, or all when none are named.
pub(crate) fn cells<T: Serialize>(
    row: &T,
    columns: &[&str],
    cell: Cell<T>,
) -> Done<Vec<(String, String)>> {
    let record = Record::of(row)?;
    let names: Vec<&str> =
        if columns.is_empty() { record.names().collect() } else { columns.to_vec() };
    let text = |name: &str| cell(row, name).unwrap_or_else(|| record.shown(name));
    Ok(names.into_iter().map(|name| (name.to_owned(), text(name))).collect())
}

/// Acts on each row. Stops at the first failure, reports what was done before, and exits with 8.
pub(crate) async fn several<I: Clone + ToString + Into<Json>, T>(
    out: &Output,
    ids: &[I],
    mut act: impl AsyncFnMut(I) -> Done<T>,
) -> Done<Vec<T>> {
    let mut done = Vec::with_capacity(ids.len());
    for (before, id) in ids.iter().enumerate() {
        match act(id.clone()).await {
            Ok(one) => done.push(one),
            Err(failure) if before == 0 => return Err(failure),
            Err(mut failure) => {
                let names: Vec<String> = ids[..before].iter().map(I::to_string).collect();
                out.note(&format!("Done before the failure: {}", names.join(", ")));
                failure.exit = Exit::Partly;
                return Err(failure.fact("done", ids[..before].to_vec()));
            }
        }
    }
    Ok(done)
}

/// Calls an operation for each row, as [`several`] does.
pub(crate) async fn act<O: Operation<Query = ById, Body = NoBody>>(
    out: &Output,
    client: &Client,
    ids: &[i64],
) -> Done {
    several(out, ids, async |id| Ok(client.call::<O>(&by_id(id), &NoBody).await?)).await.map(drop)
}

/// Deletes rows after the question `Delete 2 users: ana, bo`, which `end` completes.
pub(crate) async fn delete<O: Operation<Query = ById, Body = NoBody>>(
    flags: &Flags,
    out: &Output,
    client: &Client,
    (ids, names): (&[i64], &[String]),
    (thing, end): (&str, &str),
) -> Done {
    let many = counted(ids.len() as u64, thing);
    prompt::confirm(flags, &format!("Delete {many}: {}{end}", listed(names)))?;
    act::<O>(out, client, ids).await?;
    out.done(&json!({"deleted": ids}), &format!("{many} deleted: {}", names.join(", ")))
}

/// Changes each. Prints one as a record, several as a table of these columns.
pub(crate) async fn change<O: Operation<Query = ById, Reply: Single<One: Serialize>>>(
    out: &Output,
    client: &Client,
    ids: &[i64],
    body: &O::Body,
    (columns, cell): (&[&str], Cell<<O::Reply as Single>::One>),
) -> Done {
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
        // JSON, because it is printed as it came, even with members that `One` does not know.
        Ok((answer.json()?["data"].take(), row))
    });
    let (bodies, rows): (Vec<Json>, Vec<Vec<String>>) = changed.await?.into_iter().unzip();
    if out.json {
        return Ok(out.data(&Json::Array(bodies))?);
    }
    Ok(table::rows(out, columns, &rows)?)
}
