//! `/api/backend/formfunnel`: the inbox, with what visitors of funnels sent

use std::sync::Arc;

use bytes::Bytes;
use cms_core::{
    Code, Error, Result,
    erasure::EraseReceipt,
    funnels::{
        Analytics, AnalyticsQuery, Assignable, Bulk, FunnelSubmissionDetail, InboxQuery, InboxView,
        NewView, SubmissionDeletion, SubmissionUpdate, Undone, WhichFunnel,
    },
    mail::MailAddress,
};
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value as Json, json};

use super::item::if_match;
use crate::{
    body::{Body, Parts},
    call::Call,
    reauthorizer::Reauthorizer,
    reply::{Reply, csv, file::attachment},
    success::Success,
    wire::{
        Data, Done, Page, ReplyKind, Text,
        envelope::Meta,
        inbox::{
            AskedErasure, BulkOutcome, DeletedSubmission, ExportData, FunnelNumbers, Inbox,
            InboxAsked, InboxExported, InboxMeta, MayNameSubmission, Nothing, UpdatedSubmission,
            WhichStoredFile,
        },
        parameters::{ById, ListQuery, NoQuery},
    },
};

/// The most views of one caller.
const VIEWS: u32 = 100;

pub(crate) async fn submissions(call: &Call<'_>, asked: InboxAsked) -> Result<Inbox> {
    let own = [
        ("limit", &asked.limit),
        ("cursor", &asked.cursor),
        ("sort", &asked.sort),
        ("search", &asked.search),
        ("count", &asked.count),
    ];
    let own = own.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let filters = asked.filters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let query = InboxQuery::parse(own.chain(filters))?;
    // A right may be bound to one state. Then the reply must not count the others.
    let counts = !call.demand.bounds(call.request, call.caller()).states;
    let page = call.cms.funnels().submissions(&query, counts).await?;
    let (total, counts) = (page.total, page.counts);
    let meta = InboxMeta { limit: page.limit, next: page.next, total, counts };
    Ok(Inbox { data: page.data, meta })
}

pub(crate) async fn submission(
    call: &Call<'_>,
    which: ById,
) -> Result<Success<Data<FunnelSubmissionDetail>>> {
    let funnels = call.cms.funnels();
    let detail = funnels.submission(which.id).await?;
    let json = serde_json::to_string(&detail).map_err(Error::internal)?;
    let etag = funnels.submission_etag(which.id, &json).await?;
    Ok(Success::data(&json).with(header::ETAG, etag))
}

pub(crate) async fn update(
    call: &Call<'_>,
    named: MayNameSubmission,
    update: SubmissionUpdate,
) -> Result<Success<Data<UpdatedSubmission>>> {
    let (id, if_match) = (which(update.id, named.id)?, if_match(call)?);
    let mut change = call.change().await?;
    let done = call.cms.funnels().update_submission(&mut change, id, update, &if_match).await?;
    let inbox_rev = may_see(call).then_some(done.inbox_rev);
    call.commit(change, Data { data: UpdatedSubmission { id, inbox_rev } }, false).await
}

pub(crate) async fn delete(
    call: &Call<'_>,
    named: MayNameSubmission,
    asked: SubmissionDeletion,
) -> Result<Success<Data<DeletedSubmission>>> {
    let (id, if_match) = (which(asked.id, named.id)?, if_match(call)?);
    let mut change = call.change().await?;
    call.cms.funnels().delete_submission(&mut change, id, asked.rev, &if_match).await?;
    call.commit(change, Data { data: DeletedSubmission { id, deleted: true } }, false).await
}

/// The most named submissions that share their commit with other changes.
const FEW: usize = 500;

pub(crate) async fn bulk(
    call: &Call<'_>,
    _: NoQuery,
    bulk: Bulk,
) -> Result<Success<Data<BulkOutcome>>> {
    let mut change = call.change().await?;
    if bulk.filter.is_some() && !may_see(call) {
        // The number of matches would tell what the inbox holds.
        let detail = "You may not see the inbox, so a filter cannot choose submissions: name their \
                      ids.";
        return Err(unseen(call, detail));
    }
    if bulk.ids.as_ref().is_none_or(|ids| ids.len() > FEW) {
        change = change.large().await?;
    }
    let done = call.cms.funnels().bulk(&mut change, bulk).await?;
    let changed = may_see(call).then_some(done.changed);
    let data = BulkOutcome { matched: done.matched, changed };
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn undo(call: &Call<'_>, _: NoQuery, _: Nothing) -> Result<Success<Data<Undone>>> {
    let mut change = call.change().await?.large().await?;
    let data = call.cms.funnels().undo(&mut change).await?;
    call.commit(change, Data { data }, false).await
}

/// Each part is a change of its own, and judges the caller again. After an interruption the
/// caller repeats the call.
pub(crate) async fn erase(
    call: &Call<'_>,
    _: NoQuery,
    asked: AskedErasure,
) -> Result<Success<Data<EraseReceipt>>> {
    let address = MailAddress::parse(&asked.email).map_err(|error| {
        let why = error.fields().first().map_or(error.detail(), |field| field.message.as_str());
        Error::invalid_field("email", "format", why)
    })?;
    call.judge_again().await?;
    if asked.dry_run && !may_see(call) {
        // A dry run tells whether the person has written, and what.
        let detail = "You may not see the inbox, so you cannot ask what would be erased.";
        return Err(unseen(call, detail));
    }
    let mut eraser = call.cms.eraser(&address, asked.dry_run);
    while let Some(found) = eraser.find().await? {
        if asked.dry_run {
            eraser.look(found).await?;
            continue;
        }
        let mut change = call.change().await?;
        eraser.remove(&mut change, found).await?;
        change.commit().await?;
    }
    let actor = call.caller().actor();
    if asked.dry_run {
        return Ok(Data { data: eraser.receipt(&actor).await? }.into());
    }
    let mut change = call.change().await?;
    eraser.note(&mut change).await?;
    change.commit().await?;
    let mut data = eraser.receipt(&actor).await?;
    if !may_see(call) {
        (data.removed, data.copies, data.unread) = (None, None, None);
    }
    call.commit(call.change().await?, Data { data }, false).await
}

pub(crate) async fn views(call: &Call<'_>, _: NoQuery) -> Result<Page<InboxView>> {
    let data = call.cms.funnels().views(&call.caller().actor()).await?;
    Ok(Page { data, meta: Meta { limit: VIEWS, next: None, total: None } })
}

pub(crate) async fn save_view(
    call: &Call<'_>,
    _: NoQuery,
    new: NewView,
) -> Result<Success<Data<InboxView>>> {
    let mut change = call.change().await?;
    let data = call.cms.funnels().save_view(&mut change, new).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn delete_view(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change().await?;
    call.cms.funnels().delete_view(&mut change, which.id).await?;
    call.commit(change, Done, false).await
}

pub(crate) async fn assignable_users(
    call: &Call<'_>,
    asked: ListQuery,
) -> Result<Page<Assignable>> {
    call.cms.funnels().assignable_users(&asked.query("")?).await.map(Page::from)
}

pub(crate) async fn analytics(call: &Call<'_>, asked: FunnelNumbers) -> Result<Data<Analytics>> {
    let FunnelNumbers { funnel_id, from, to, version, tz } = asked;
    let mut query = AnalyticsQuery::new(funnel_id);
    (query.from, query.to, query.version, query.tz) = (from, to, version, tz);
    Ok(Data { data: call.cms.funnels().analytics(&query).await? })
}

pub(crate) async fn export(call: &Call<'_>, asked: InboxExported) -> Result<Success<Json>> {
    let bom = match asked.bom.as_deref() {
        None | Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(Error::new(Code::BadQuery, "bom is true or false.")),
    };
    if let Some(name) = asked.filters.keys().find(|name| !name.starts_with("filter[")) {
        return Err(Error::new(Code::BadQuery, format!("There is no parameter {name:?} here.")));
    }
    let own = [("sort", &asked.sort), ("search", &asked.search)];
    let own = own.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let filters = asked.filters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let query = InboxQuery::parse(own.chain(filters))?;
    let funnel = asked.funnel_id.map(WhichFunnel::from);
    exported(call, asked.format.as_deref(), funnel, bom, query).await
}

/// The script `submissions/export.php` of the plugin `formfunnel`.
pub(super) async fn export_script(call: &Call<'_>, data: Json) -> Result<Success<Json>> {
    call.judge_again().await?;
    if !may_see(call) {
        // A key may have a right to scripts and none to the inbox.
        return Err(unseen(call, "You may not see the inbox, so you cannot export it."));
    }
    let data = if data.is_null() { json!({}) } else { data };
    let asked: ExportData = serde_json::from_value(data)
        .map_err(|why| Error::invalid_field("data", "format", why.to_string()))?;
    let mut query = asked.filter.query("data.filter")?;
    if let Some(sort) = &asked.sort {
        query = query.sorted_by(sort)?;
    }
    let funnel = asked.funnel_id.map(|which| match which {
        WhichFunnel::Slug(text) => WhichFunnel::from(text),
        id => id,
    });
    let bom = asked.bom.unwrap_or(true);
    exported(call, asked.format.as_deref(), funnel, bom, query).await
}

async fn exported(
    call: &Call<'_>,
    format: Option<&str>,
    funnel: Option<WhichFunnel>,
    bom: bool,
    query: InboxQuery,
) -> Result<Success<Json>> {
    let funnels = call.cms.funnels();
    let (kind, save_as, parts) = match format {
        None | Some("csv") => {
            let mut table = funnels.export_table(funnel.as_ref(), query).await?;
            if let (true, Some(first)) = (bom, table.names.first_mut()) {
                first.insert(0, '\u{feff}');
            }
            let parts = csv::rows(table.names, table.rows);
            (ReplyKind::Csv.media_type(), table.save_as, parts)
        }
        Some("jsonl") => {
            let lines = funnels.export_lines(funnel.as_ref(), query).await?;
            let parts: Parts = lines.lines.map_ok(Bytes::from).boxed();
            ("application/jsonl", lines.save_as, parts)
        }
        Some(_) => return Err(Error::new(Code::BadQuery, "format is csv or jsonl.")),
    };
    let body = Body::streamed(Arc::new(Reauthorizer::of(call)).watching(parts));
    let reply = Reply::new(StatusCode::OK, HeaderValue::from_static(kind), Bytes::new());
    let reply = Reply { body, ..reply };
    Ok(Success::written(reply.with(header::CONTENT_DISPOSITION, &attachment(&save_as))))
}

pub(super) fn unseen(call: &Call<'_>, detail: &str) -> Error {
    Error::new(call.caller().refused_as(), detail)
}

/// The bytes come from a visitor: no browser may show them or guess their type.
pub(crate) async fn file(call: &Call<'_>, asked: WhichStoredFile) -> Result<Success<Text>> {
    let file = call.cms.funnels().file(&asked.file).await?;
    let unknown = HeaderValue::from_static("application/octet-stream");
    let media_type = HeaderValue::from_str(&file.media_type).unwrap_or(unknown);
    let reply = Reply::new(StatusCode::OK, media_type, file.content)
        .with(header::CONTENT_DISPOSITION, &attachment(&file.name))
        .with(header::ETAG, &format!("\"{}\"", file.sha256));
    Ok(Success::written(reply))
}

fn may_see(call: &Call<'_>) -> bool {
    call.caller().may_see_inbox(call.cms)
}

/// The submission that the body or the query names. If both name one, it must be the same.
fn which(body: Option<i64>, query: Option<i64>) -> Result<i64> {
    match (body, query) {
        (Some(body), Some(query)) if body != query => {
            Err(Error::invalid_field("id", "unknown", "the query names another submission"))
        }
        (body, query) => body
            .or(query)
            .ok_or_else(|| Error::invalid_field("id", "required", "the id of a submission")),
    }
}
