//! `/api/backend/item`

use cms_core::{
    Change, Code, Error, Result,
    access::{HeldPermissions, RecordAct},
    content,
    items::{self, IfMatch, Query, Written},
};
use http::header;
use serde::Serialize;
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
    let expand = &query.expand;
    let is_hooked = items.has_read_hooks(table, expand.iter().map(String::as_str));
    if let Some(id) = id {
        let record = items.get(table, id, &query).await?;
        // If-Match compares with the record as it is stored.
        let tag = items.etag(table, record.json());
        let success = match is_hooked {
            true => Success::data(&hooked(call, table, expand, &[record]).await?)
                .with(header::CACHE_CONTROL, NO_STORE),
            false => Success::data(record.json()),
        };
        return Ok(success.with(header::ETAG, tag));
    }
    let list = items.list(table, &query).await?;
    let meta = Meta { limit: list.limit, next: list.next.clone(), total: list.total };
    if !is_hooked {
        return Success::page(list.joined(), &meta);
    }
    let records = hooked(call, table, expand, &list.records()?).await?;
    Ok(Success::page(&records, &meta)?.with(header::CACHE_CONTROL, NO_STORE))
}

/// The records of one reply as the hooks on reads leave them, joined by commas.
pub(super) async fn hooked(
    call: &Call<'_>,
    table: &str,
    expand: &[String],
    records: &[items::Record],
) -> Result<String> {
    let (actor, rights) = (call.caller().actor(), call.caller().permissions());
    let shown = call.cms.items().run_read_hooks(table, expand, (&actor, &rights), records);
    Ok(shown.await?.join(","))
}

/// Replies that hooks on reads have shaped: nobody knows when they change.
const NO_STORE: &str = "no-store";

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
            let mut all = Vec::with_capacity(rows.len());
            for (index, row) in rows.iter().enumerate() {
                let row = row.as_object().ok_or_else(|| {
                    Error::new(Code::BadJson, format!("{} is no object.", entry(index)))
                })?;
                call.admit_record(&mut change, table, row).await?;
                let written = items.create(&mut change, table, row).await;
                all.push(written.map_err(|error| in_row(index, &error))?);
            }
            commit(call, change, table, &all, true).await
        }
        _ => {
            let mut change = begin(call, table, no_events).await?;
            let row = body.object()?;
            call.admit_record(&mut change, table, row).await?;
            let written = items.create(&mut change, table, row).await?;
            commit(call, change, table, &[written], false).await
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
    commit(call, change, &table, &[written], false).await
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

/// Commits a write, and answers with the records; of one that the caller may not read, with its id.
/// Hooks on reads run after the commit, so the reply that is kept for a repetition has ids alone.
/// With such hooks, one record of a batch that the caller may not read turns the reply into ids.
async fn commit<T: Serialize>(
    call: &Call<'_>,
    change: Change,
    table: &str,
    all: &[Written],
    is_batch: bool,
) -> Result<Success<T>> {
    let items = call.cms.items();
    let may_read = |one: &Written| call.caller().may_read_record(call.cms, table, &one.id);
    let all: Vec<_> = all.iter().map(|one| (one, may_read(one))).collect();
    let is_hooked = items.has_read_hooks(table, None);
    let success = |records: &str| -> Success<T> {
        match all[..] {
            _ if is_batch => Success::data(&format!("[{records}]")),
            [(one, true)] => {
                Success::data(records).with(header::ETAG, items.etag(table, one.record.json()))
            }
            _ => Success::data(records),
        }
    };
    let stored = |(one, is_readable): &(&Written, bool)| match !is_hooked && *is_readable {
        true => Ok(one.record.json().to_owned()),
        false => serde_json::to_string(&OnlyId { id: one.key.clone() }).map_err(Error::internal),
    };
    let stored = all.iter().map(stored).collect::<Result<Vec<_>>>()?.join(",");
    let committed: Success<T> = call.commit(change, success(&stored), false).await?;
    if !is_hooked || !all.iter().all(|(_, is_readable)| *is_readable) {
        return Ok(committed);
    }
    let records: Vec<_> = all.iter().map(|(one, _)| one.record.clone()).collect();
    match hooked(call, table, &[], &records).await {
        Ok(records) => Ok(success(&records)),
        // An error would say that nothing was written.
        Err(error) => {
            tracing::warn!(table, ?error, "a hook on reads failed: the reply to a write has ids");
            Ok(committed)
        }
    }
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
