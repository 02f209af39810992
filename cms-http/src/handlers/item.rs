//! `/api/backend/item`

use cms_core::{
    Code, Error, Result,
    items::{IfMatch, Query, Written, etag},
};
use http::{StatusCode, header};
use serde_json::Value as Json;

use crate::{
    call::{Call, Caller},
    reply::Reply,
};

pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    let (request, items) = (call.request, call.cms.items());
    let table = request.required("table")?;
    items.table(table)?;
    let query =
        Query::parse(request.query.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    for column in &query.expand {
        may_see(call, &items.reference(table, column)?.name)?;
    }
    if let Some(id) = request.parameter("id") {
        let json = items.get(table, id, &query).await?;
        return Ok(Reply::data(StatusCode::OK, &json).with(header::ETAG, &etag(&json)));
    }
    let list = items.list(table, &query).await?;
    Ok(Reply::list(&list.records, list.limit, list.next.as_deref(), list.total))
}

/// Entries of a batch: more would keep the writer of SQLite from everybody else for too long.
const MAX_BATCH: usize = 1000;

/// A reference is followed only into tables that the caller may read.
fn may_see(call: &Call<'_>, table: &str) -> Result<()> {
    if call.caller.may_read(call.cms, table) {
        return Ok(());
    }
    let code = if matches!(call.caller, Caller::User { .. }) {
        Code::PermissionDenied
    } else {
        Code::ApiKeyForbidden
    };
    Err(Error::new(code, format!("You have no right to read {table}, so it cannot be expanded.")))
}

pub(crate) async fn create(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["table"])?;
    let (table, items) = (call.request.required("table")?, call.cms.items());
    items.table(table)?;
    match &call.body {
        Some(Json::Array(rows)) if rows.len() > MAX_BATCH => Err(Error::new(
            Code::ValidationFailed,
            format!(
                "{} entries are more than a batch may have ({MAX_BATCH}): send several.",
                rows.len()
            ),
        )),
        Some(Json::Array(rows)) => {
            let mut change = call.change().await?;
            let mut records = Vec::with_capacity(rows.len());
            for (index, row) in rows.iter().enumerate() {
                let row = row.as_object().ok_or_else(|| {
                    Error::new(Code::BadJson, format!("Entry {index} is no object."))
                })?;
                let written = items
                    .create(&mut change, table, row)
                    .await
                    .map_err(|error| in_row(index, &error))?;
                records.push(written.json);
            }
            let reply = Reply::data(StatusCode::CREATED, &format!("[{}]", records.join(",")));
            call.commit(change, reply, false).await
        }
        _ => {
            let body = call.object()?;
            let mut change = call.change().await?;
            let written = items.create(&mut change, table, body).await?;
            call.commit(change, record(StatusCode::CREATED, &written), false).await
        }
    }
}

pub(crate) async fn update(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["table", "id", "language"])?;
    let (table, items) = (call.request.required("table")?, call.cms.items());
    items.table(table)?;
    let (id, body) = (call.request.required("id")?, call.object()?);
    let mut change = call.change().await?;
    let written = items
        .update(&mut change, table, id, call.request.parameter("language"), &if_match(call)?, body)
        .await?;
    call.commit(change, record(StatusCode::OK, &written), false).await
}

pub(crate) async fn delete(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["table", "id", "language"])?;
    let (table, items) = (call.request.required("table")?, call.cms.items());
    items.table(table)?;
    let id = call.request.required("id")?;
    let mut change = call.change().await?;
    items
        .delete(&mut change, table, id, call.request.parameter("language"), &if_match(call)?)
        .await?;
    call.commit(change, Reply::no_content(), false).await
}

/// What the caller demands of the record as it is.
pub(super) fn if_match(call: &Call<'_>) -> Result<IfMatch> {
    Ok(IfMatch::parse(call.request.header(&header::IF_MATCH)?))
}

fn record(status: StatusCode, written: &Written) -> Reply {
    Reply::data(status, &written.json).with(header::ETAG, &etag(&written.json))
}

/// Which entry of a batch is wrong; all others are not written either.
fn in_row(index: usize, error: &Error) -> Error {
    let fields = error.fields().iter().cloned().map(|mut field| {
        field.field = format!("[{index}].{}", field.field);
        field
    });
    match error.code() {
        Code::Internal | Code::Unavailable => bad_batch(error),
        code => Error::new(code, format!("Entry {index}: {}", error.detail()))
            .with_fields(fields.collect()),
    }
}

fn bad_batch(error: &Error) -> Error {
    Error::new(error.code(), error.detail()).caused_by(format!("{error:?}"))
}
