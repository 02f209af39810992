//! `/api/backend/media` and `/media`

use cms_core::{
    Code, Error, Result,
    items::{eq, starts_with},
    media::{CheckedFiles, Content, Found, Holder, MediaFile, Stored, Use},
    traffic::{
        address,
        limiter::bucket::{self, Owner},
    },
};
use http::{HeaderValue, header};
use serde::Serialize;

use super::item::if_match;
use crate::{
    call::Call,
    caller::Caller,
    reply::file::{self, File},
    success::{Answers, Success},
    wire::{
        Data, Deferred, Done, OneOrPage, Text,
        envelope::Meta,
        media::{Checking, MediaChange, MediaUses, Read, Removal, Served, UploadInto, WhichMedia},
        parameters::{ById, NoQuery},
    },
};

/// Content at this path never changes.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// A browser must not run anything in a file, or load anything for it.
const INERT: &str = "default-src 'none'; img-src 'self'; media-src 'self'; style-src \
                     'unsafe-inline'; sandbox";

pub(crate) async fn read(
    call: &Call<'_>,
    asked: WhichMedia,
) -> Result<Success<OneOrPage<MediaFile>>> {
    let media = call.cms.media();
    let mut query = asked.list.query("id, folder, type")?;
    if let Some(id) = asked.id {
        call.names_one("id")?;
        return Ok(tagged(call, media.get(id).await?.json()));
    }
    if let Some(folder) = &asked.folder {
        query = query.filter("folder", eq(folder));
    }
    if let Some(start) = &asked.r#type {
        query = query.filter("media_type", starts_with(start));
    }
    let list = media.list(&query).await?;
    let meta = Meta { limit: list.limit, next: list.next.clone(), total: list.total };
    Success::page(list.joined(), &meta)
}

pub(crate) async fn upload(
    call: &Call<'_>,
    _: NoQuery,
    form: Deferred<UploadInto>,
) -> Result<Success<Data<MediaFile>>> {
    let (media, folder) = (call.cms.media(), form.fields.folder.clone());
    let mut coming = form.one()?;
    let mut incoming = media.incoming().await?;
    while let Some(part) = coming.next().await? {
        incoming.write(&part).await?;
    }
    let given = coming.name().to_owned();
    coming.end().await?;
    let ready = media.judge(incoming, &given).await?;
    let mut change = call.change().await?;
    match media.store(&mut change, ready, &folder).await? {
        Stored::New(name, written) => {
            let id = written.key.as_i64().unwrap_or_default();
            let made =
                call.commit(change, shown_to(call, id, written.record.json()), false).await?;
            media.settled(&name);
            Ok(made)
        }
        Stored::Present(id) => {
            // Commit first: the row may be as new as this change.
            change.commit().await?;
            let record = media.get(id).await?;
            let answers = Answers { status: 200, ..call.answers };
            let shown = shown_to::<Data<MediaFile>>(call, id, record.json());
            Ok(Success::written(shown.reply(answers)?))
        }
    }
}

pub(crate) async fn update(
    call: &Call<'_>,
    which: ById,
    MediaChange(body): MediaChange,
) -> Result<Success<Data<MediaFile>>> {
    let if_match = if_match(call)?;
    let mut change = call.change().await?;
    let written = call.cms.media().update(&mut change, which.id, &if_match, &body).await?;
    call.commit(change, shown_to(call, which.id, written.record.json()), false).await
}

/// A file that was written, if the caller may read it; otherwise its id.
fn shown_to<T: Serialize>(call: &Call<'_>, id: i64, json: &str) -> Success<T> {
    match call.may_read::<Read>(id) {
        true => tagged(call, json),
        false => Success::only_id(id),
    }
}

/// Files are records of a content table.
fn tagged<T: Serialize>(call: &Call<'_>, json: &str) -> Success<T> {
    Success::data(json).with(header::ETAG, call.cms.items().etag("media", json))
}

pub(crate) async fn delete(call: &Call<'_>, asked: Removal) -> Result<Success<Done>> {
    let (media, if_match) = (call.cms.media(), if_match(call)?);
    if asked.force != Some(true) {
        unused(call, media.uses(asked.id).await?)?;
    }
    let mut change = call.change().await?;
    let name = media.delete(&mut change, asked.id, &if_match).await?;
    let done = call.commit(change, Done, false).await?;
    media.discard(&name).await;
    Ok(done)
}

pub(crate) async fn uses(call: &Call<'_>, which: ById) -> Result<Success<Data<MediaUses>>> {
    let (uses, hidden) = shown(call, call.cms.media().uses(which.id).await?);
    Ok(Data { data: MediaUses { uses, hidden } }.into())
}

/// The places that the caller may read, and the number of the others.
fn shown(call: &Call<'_>, uses: Vec<Use>) -> (Vec<Use>, usize) {
    let caller = call.caller();
    let may_see = |one: &Use| match (one.what, &one.table) {
        (Holder::Record, Some(table)) => caller.may_read(call.cms, table),
        _ => caller.may_see_funnels(call.cms),
    };
    let all = uses.len();
    let seen: Vec<_> = uses.into_iter().filter(may_see).collect();
    let hidden = all - seen.len();
    (seen, hidden)
}

/// Refuses while the file is in use.
fn unused(call: &Call<'_>, uses: Vec<Use>) -> Result<()> {
    if uses.is_empty() {
        return Ok(());
    }
    let (seen, hidden) = shown(call, uses);
    let mut places: Vec<_> = seen.iter().map(ToString::to_string).collect();
    if hidden > 0 {
        places.push(format!("{hidden} that you may not read"));
    }
    let detail = format!(
        "The file is in use: {}. Change these first, or delete it with force=true.",
        places.join(", ")
    );
    Err(Error::new(Code::Conflict, detail))
}

pub(crate) async fn check(
    call: &Call<'_>,
    _: NoQuery,
    asked: Checking,
) -> Result<Success<Data<CheckedFiles>>> {
    call.judge_again().await?;
    let data = call.cms.media().check(asked.remove).await?;
    Ok(Data { data }.into())
}

pub(crate) async fn serve(call: &Call<'_>, asked: Served) -> Result<Success<Text>> {
    let media = call.cms.media();
    let found = match media.open(&asked.folder, &asked.file, asked.w).await? {
        Found::Served(found) => found,
        Found::Unmade(unmade) => {
            admit(call).await?;
            media.make(unmade).await?
        }
    };
    let tag = HeaderValue::from_str(&format!("\"{}\"", found.etag)).map_err(Error::internal)?;
    let file = File {
        content: match found.content {
            Content::File(file) => file::Content::File(tokio::fs::File::from_std(file)),
            Content::Remote(read) => file::Content::Remote(read),
        },
        length: found.length,
        media_type: HeaderValue::from_static(found.media_type),
        etag: tag,
        save_as: found.save_as,
    };
    let reply = file.reply(call.request).await?;
    let modified = jiff::Timestamp::from_millisecond(found.modified).map_err(Error::internal)?;
    let modified = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&modified)
        .map_err(Error::internal)?;
    let reply = reply
        .with(header::LAST_MODIFIED, &modified)
        .with(header::CACHE_CONTROL, FOREVER)
        .with(header::CONTENT_SECURITY_POLICY, INERT);
    Ok(Success::written(reply))
}

/// Making a variant costs work, so it counts as a request.
async fn admit(call: &Call<'_>) -> Result<()> {
    if matches!(call.caller(), Caller::Operator) {
        return Ok(());
    }
    let owner = Owner::Network(address::network(call.client.address));
    let quota = call.cms.limiter().take(owner, bucket::PUBLIC, None).await;
    match quota.and_then(|quota| quota.retry_after_s) {
        None => Ok(()),
        Some(seconds) => {
            let detail = format!("Too many new widths of pictures: wait {seconds} s.");
            Err(Error::new(Code::RateLimited, detail).retry_after(seconds))
        }
    }
}
