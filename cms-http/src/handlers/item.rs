//! `/api/backend/item`

use cms_core::{
    Change, Code, Error, Result,
    access::{HeldPermissions, RecordAct},
    content,
    items::{IfMatch, Query, Written},
};
use http::header;
use serde_json::{Map, Value as Json};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done, OneOrPage, OnlyId, Record,
        envelope::Meta,
        item::{Columns, OneOrMany, Rows, Table, WhichItem, WhichItems},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: WhichItems) -> Result<Success<OneOrPage<Record>>> {
    records(call, &asked.table, asked.id.as_deref()).await
}

/// One record by its id, or a page of records.
pub(super) async fn records(
    call: &Call<'_>,
    table: &str,
    id: Option<&str>,
) -> Result<Success<OneOrPage<Record>>> {
    let (request, items) = (call.request, call.cms.items());
    items.table(table)?;
    let mut query =
        Query::parse(request.query.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    if call.demand.bounds(request, call.caller()).fields {
        query.search_in.clone_from(&query.fields);
    }
    for column in &query.expand {
        let target = items.reference(table, column)?;
        // Everybody may read this table at its public endpoint anyway.
        let is_shown = target.name == table && call.endpoint.is_some_and(|by| by.public);
        if !is_shown {
            may_see(call, &target.name)?;
        }
    }
    if let Some(id) = id {
        let record = items.get(table, id, &query).await?;
        let json = record.json();
        return Ok(Success::data(json).with(header::ETAG, items.etag(table, json)));
    }
    let list = items.list(table, &query).await?;
    let meta = Meta { limit: list.limit, next: list.next.clone(), total: list.total };
    Success::page(list.joined(), &meta)
}

/// The most entries of a batch: a larger one would hold SQLite's one writer for too long.
const MAX_BATCH: usize = 1000;

/// A reference is followed only into tables that the caller may read.
fn may_see(call: &Call<'_>, table: &str) -> Result<()> {
    if call.caller().may_read(call.cms, table) {
        return Ok(());
    }
    let detail = format!("You have no right to read {table}, so it cannot be expanded.");
    Err(Error::new(call.caller().refused_as(), detail))
}

pub(crate) async fn create(
    call: &Call<'_>,
    Table { table, no_events }: Table,
    Rows(body): Rows,
) -> Result<Success<Data<OneOrMany>>> {
    let (table, items) = (table.as_str(), call.cms.items());
    items.table(table)?;
    match &body.0 {
        Some(Json::Array(rows)) if rows.len() > MAX_BATCH => Err(Error::new(
            Code::ValidationFailed,
            format!(
                "{} entries are more than a batch may have ({MAX_BATCH}): send several.",
                rows.len()
            ),
        )),
        Some(Json::Array(rows)) => {
            let mut change = begin(call, table, no_events).await?;
            let mut records = Vec::with_capacity(rows.len());
            for (index, row) in rows.iter().enumerate() {
                let row = row.as_object().ok_or_else(|| {
                    Error::new(Code::BadJson, format!("{} is no object.", entry(index)))
                })?;
                call.admit_record(&mut change, table, row).await?;
                let written = items
                    .create(&mut change, table, row)
                    .await
                    .map_err(|error| in_row(index, &error))?;
                records.push(match shown(call, table, &written) {
                    Some(json) => json,
                    None => only_id(written)?,
                });
            }
            let batch = Success::data(&format!("[{}]", records.join(",")));
            call.commit(change, batch, false).await
        }
        _ => {
            let mut change = begin(call, table, no_events).await?;
            let row = body.object()?;
            call.admit_record(&mut change, table, row).await?;
            let written = items.create(&mut change, table, row).await?;
            call.commit(change, record(call, table, &written), false).await
        }
    }
}

/// Begins a change that adds records. Only administrators may add them without events; they are
/// judged again under the change, as every caller is.
async fn begin(call: &Call<'_>, table: &str, no_events: Option<bool>) -> Result<Change> {
    let mut change = call.change().await?;
    if no_events != Some(true) {
        return Ok(change);
    }
    if call.caller().permissions() != HeldPermissions::Admin {
        let detail = "Only administrators write records without events: leave no_events out.";
        return Err(Error::new(Code::PermissionDenied, detail));
    }
    change.without_events(table).await?;
    Ok(change)
}

pub(crate) async fn update(
    call: &Call<'_>,
    WhichItem { table, id, language }: WhichItem,
    body: Columns,
) -> Result<Success<Data<Record>>> {
    let items = call.cms.items();
    items.table(&table)?;
    let (body, if_match) = (body.object()?, if_match(call)?);
    if call.demand.bounds(call.request, call.caller()).record {
        names_itself(call, &table, &id, body).await?;
    }
    let mut change = call.change().await?;
    call.admit_columns(&table, RecordAct::Update, body.keys())?;
    let written =
        items.update(&mut change, &table, &id, language.as_deref(), &if_match, body).await?;
    if call.demand.bounds(call.request, call.caller()).record {
        stays(&*items.table(&table)?, &written)?;
    }
    call.commit(change, record(call, &table, &written), false).await
}

pub(crate) async fn delete(
    call: &Call<'_>,
    WhichItem { table, id, language }: WhichItem,
) -> Result<Success<Done>> {
    let items = call.cms.items();
    items.table(&table)?;
    let if_match = if_match(call)?;
    let mut change = call.change().await?;
    items.delete(&mut change, &table, &id, language.as_deref(), &if_match).await?;
    call.commit(change, Done, false).await
}

/// The condition that `If-Match` puts on the record.
pub(super) fn if_match(call: &Call<'_>) -> Result<IfMatch> {
    IfMatch::parse(call.request.header(&header::IF_MATCH)?)
}

/// The record, if the caller may read it; otherwise its id.
fn record<T: serde::Serialize>(call: &Call<'_>, table: &str, written: &Written) -> Success<T> {
    match shown(call, table, written) {
        Some(json) => Success::data(&json).with(header::ETAG, call.cms.items().etag(table, &json)),
        None => Success::only_id(written.key.clone()),
    }
}

fn shown(call: &Call<'_>, table: &str, written: &Written) -> Option<String> {
    let may_read = call.caller().may_read_record(call.cms, table, &written.id);
    may_read.then(|| written.record.json().to_owned())
}

/// One record of a batch, for a caller that may not read it.
fn only_id(written: Written) -> Result<String> {
    serde_json::to_string(&OnlyId { id: written.key }).map_err(Error::internal)
}

/// Refuses a body that would make another record of this one, before any other record is looked
/// at: a later refusal of a reference or a second id would tell which records exist.
async fn names_itself(
    call: &Call<'_>,
    table: &str,
    id: &str,
    body: &Map<String, Json>,
) -> Result<()> {
    let items = call.cms.items();
    let known = items.table(table)?;
    let named: Vec<&str> =
        body.keys().map(String::as_str).filter(|column| known.identifies(column)).collect();
    if named.is_empty() {
        return Ok(());
    }
    let query = Query::parse([("fields", named.join(",").as_str())])?;
    let record = items.get(table, id, &query).await?;
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match named.iter().find(|column| text(&body[**column]) != text(&record[**column])) {
        None => Ok(()),
        Some(column) => Err(for_this_alone(column)),
    }
}

/// Refuses a write that has changed which record this is: the key's right is for this one alone.
fn stays(table: &content::Table, written: &Written) -> Result<()> {
    let moved = written.changed.iter().find(|column| table.identifies(column));
    match moved {
        None => Ok(()),
        Some(column) => Err(for_this_alone(column)),
    }
}

fn for_this_alone(column: &str) -> Error {
    let detail = format!(
        "The key's right is for this record alone: it cannot change {column}. Nothing was changed."
    );
    Error::new(Code::ApiKeyForbidden, detail)
}

/// Names an entry of a batch by the number that `errors` uses.
fn entry(index: usize) -> String {
    format!("Entry {index} (counted from 0)")
}

/// The error of a batch, with the entry that is wrong. No other entry is written either.
fn in_row(index: usize, error: &Error) -> Error {
    let fields = error.fields().iter().cloned().map(|mut field| {
        field.field = format!("[{index}].{}", field.field);
        field
    });
    match error.code() {
        Code::Internal | Code::Unavailable => bad_batch(error),
        code => Error::new(code, format!("{}: {}", entry(index), error.detail()))
            .with_fields(fields.collect()),
    }
}

fn bad_batch(error: &Error) -> Error {
    Error::new(error.code(), error.detail()).caused_by(format!("{error:?}"))
}
