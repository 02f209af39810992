//! `/api/backend/pagebuilder`

use cms_core::{
    Code, Error, Result,
    pages::builder::{
        Difference, Draft, Edited, Link, MadeLink, Move, NewNode, NodeKind, PageState, Plan,
        Published, Replaced, Revision, RevisionTree, Schedule, draft_tag,
    },
};
use http::header;

use super::{inbox::unseen, item::if_match, pages::api};
use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done, Page,
        pagebuilder::{
            Compared, Copied, LinkFor, MayName, OfPage, OnePage, Planned, Removal, Restored,
            Scheduled, TakenOff, Values, WhichLinks, WhichNode, WhichRevision, WhichRevisions,
        },
        parameters::{ById, Listing, NoQuery},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: OfPage) -> Result<Success<Data<Draft>>> {
    let data = call.cms.pages().draft(asked.page_id).await?;
    let tag = draft_tag(data.page_id, data.rev);
    Ok(Success::from(Data { data }).with(header::ETAG, tag))
}

pub(crate) async fn add(
    call: &Call<'_>,
    _: NoQuery,
    new: NewNode,
) -> Result<Success<Data<Edited>>> {
    let if_match = if_match(call)?;
    let mut change = call.change().await?;
    let made = call.cms.pages().add_node(&mut change, &if_match, &new).await;
    let data = shown(call, hide_others_edits(call, made)?);
    done(call, change, (data.page_id, data.rev), data).await
}

pub(crate) async fn set(
    call: &Call<'_>,
    which: WhichNode,
    values: Values,
) -> Result<Success<Data<Edited>>> {
    let node = match (which.widget_id, which.item_id) {
        (Some(id), None) => (NodeKind::Widget, id),
        (None, Some(id)) => (NodeKind::Item, id),
        _ => return Err(Error::new(Code::BadQuery, "Either widget_id or item_id is expected.")),
    };
    let if_match = if_match(call)?;
    let mut change = call.change().await?;
    let made = call.cms.pages().set_node(&mut change, &if_match, node, &values.data).await;
    let data = shown(call, hide_others_edits(call, made)?);
    done(call, change, (data.page_id, data.rev), data).await
}

pub(crate) async fn remove(call: &Call<'_>, asked: Removal) -> Result<Success<Done>> {
    let if_match = if_match(call)?;
    let mut change = call.change().await?;
    let node = (asked.kind, asked.id);
    let (page, rev) =
        hide_others_edits(call, call.cms.pages().remove_node(&mut change, &if_match, node).await)?;
    let made = Success::from(Done).with(header::ETAG, draft_tag(page, rev));
    call.commit(change, made, false).await
}

pub(crate) async fn move_node(
    call: &Call<'_>,
    _: NoQuery,
    asked: Move,
) -> Result<Success<Data<Edited>>> {
    let if_match = if_match(call)?;
    let mut change = call.change().await?;
    let made = call.cms.pages().move_node(&mut change, &if_match, &asked).await;
    let data = shown(call, hide_others_edits(call, made)?);
    done(call, change, (data.page_id, data.rev), data).await
}

pub(crate) async fn publish(
    call: &Call<'_>,
    named: MayName,
    asked: OnePage,
) -> Result<Success<Data<Published>>> {
    let (page, if_match) = (which(asked.page_id, named)?, if_match(call)?);
    let mut change = call.change().await?;
    let data =
        hide_others_edits(call, call.cms.pages().publish(&mut change, page, &if_match).await)?;
    done(call, change, (page, data.rev), data).await
}

pub(crate) async fn take_off(
    call: &Call<'_>,
    named: MayName,
    asked: OnePage,
) -> Result<Success<Data<TakenOff>>> {
    let (page_id, if_match) = (which(asked.page_id, named)?, if_match(call)?);
    let mut change = call.change().await?;
    let (_, rev) =
        hide_others_edits(call, call.cms.pages().take_off(&mut change, page_id, &if_match).await)?;
    done(call, change, (page_id, rev), TakenOff { page_id, published: false, rev }).await
}

pub(crate) async fn discard(
    call: &Call<'_>,
    named: MayName,
    asked: OnePage,
) -> Result<Success<Data<Replaced>>> {
    let (page, if_match) = (which(asked.page_id, named)?, if_match(call)?);
    let mut change = call.change().await?;
    let data =
        hide_others_edits(call, call.cms.pages().discard(&mut change, page, &if_match).await)?;
    let data = replaced(call, data);
    done(call, change, (page, data.rev), data).await
}

pub(crate) async fn restore(
    call: &Call<'_>,
    named: MayName,
    asked: Restored,
) -> Result<Success<Data<Replaced>>> {
    let (page, if_match) = (which(asked.page_id, named)?, if_match(call)?);
    let mut change = call.change().await?;
    let data = hide_others_edits(
        call,
        call.cms.pages().restore(&mut change, page, asked.revision, &if_match).await,
    )?;
    let data = replaced(call, data);
    done(call, change, (page, data.rev), data).await
}

pub(crate) async fn copy(
    call: &Call<'_>,
    _: NoQuery,
    asked: Copied,
) -> Result<Success<Data<Replaced>>> {
    let (if_match, pages) = (if_match(call)?, (asked.from_page_id, asked.page_id));
    let mut change = call.change().await?;
    if !call.caller().may_see_draft(call.cms, Some(asked.from_page_id)) {
        // The key may have a right to the draft of the target only.
        let detail = "The copy would show you the other draft: you need the right to read it.";
        return Err(unseen(call, detail));
    }
    let data = hide_others_edits(
        call,
        call.cms.pages().copy(&mut change, pages, &if_match, asked.replace).await,
    )?;
    done(call, change, (asked.page_id, data.rev), data).await
}

pub(crate) async fn plans(call: &Call<'_>, asked: Listing) -> Result<Page<Plan>> {
    call.cms.pages().plans(&asked.paging()).await.map(Page::from)
}

pub(crate) async fn schedule(
    call: &Call<'_>,
    named: MayName,
    asked: Planned,
) -> Result<Success<Data<Scheduled>>> {
    let (page_id, if_match) = (which(asked.page_id, named)?, if_match(call)?);
    let mut wanted = Schedule::default();
    (wanted.publish_at, wanted.take_off_at) = (asked.publish_at, asked.take_off_at);
    let mut change = call.change().await?;
    let pages = call.cms.pages();
    let (schedule, rev) =
        hide_others_edits(call, pages.schedule(&mut change, page_id, &if_match, &wanted).await)?;
    done(call, change, (page_id, rev), Scheduled { page_id, schedule, rev }).await
}

pub(crate) async fn link(
    call: &Call<'_>,
    named: MayName,
    asked: LinkFor,
) -> Result<Success<Data<Link>>> {
    let page = which(asked.page_id, named)?;
    let mut change = call.change().await?;
    if !call.caller().may_see_draft(call.cms, Some(page)) {
        let detail = "A link shows the draft: you need the right to read the draft.";
        return Err(unseen(call, detail));
    }
    let (pages, how) = (call.cms.pages(), (asked.ttl_s, asked.note.as_deref()));
    let data = pages.link(&mut change, page, how, &api(call)).await?;
    call.commit(change, Data { data }, true).await
}

pub(crate) async fn links(call: &Call<'_>, asked: WhichLinks) -> Result<Page<MadeLink>> {
    let paging = asked.limit.after(asked.cursor, asked.count);
    call.cms.pages().links(asked.page_id, &paging).await.map(Page::from)
}

pub(crate) async fn unlink(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change().await?;
    call.cms.pages().unlink(&mut change, which.id).await?;
    call.commit(change, Done, false).await
}

pub(crate) async fn revisions(call: &Call<'_>, asked: WhichRevisions) -> Result<Page<Revision>> {
    let paging = asked.limit.after(asked.cursor, asked.count);
    call.cms.pages().revisions(asked.page_id, &paging).await.map(Page::from)
}

pub(crate) async fn revision(call: &Call<'_>, asked: WhichRevision) -> Result<Data<RevisionTree>> {
    let data = call.cms.pages().revision(asked.page_id, asked.number).await?;
    Ok(Data { data })
}

pub(crate) async fn diff(call: &Call<'_>, asked: Compared) -> Result<Page<Difference>> {
    let from = asked.from.as_deref().map(PageState::parse).transpose()?;
    let to = asked.to.as_deref().map_or(Ok(PageState::Draft), PageState::parse)?;
    call.cms.pages().diff(asked.page_id, from, to).await.map(Page::whole)
}

/// The result of an edit. Its values are only for callers that may read the draft.
fn shown(call: &Call<'_>, mut made: Edited) -> Edited {
    if !call.caller().may_see_draft(call.cms, Some(made.page_id)) {
        (made.widget, made.data) = (None, None);
    }
    made
}

/// The result of replacing a draft. What was left out is only for callers that may read the draft.
fn replaced(call: &Call<'_>, mut made: Replaced) -> Replaced {
    if !call.caller().may_see_draft(call.cms, Some(made.page_id)) {
        made.left_out.clear();
    }
    made
}

/// A refusal names what others have edited only to callers that may read drafts.
fn hide_others_edits<T>(call: &Call<'_>, outcome: Result<T>) -> Result<T> {
    outcome.map_err(|error| match error.code() {
        Code::Stale if !call.caller().may_see_draft(call.cms, None) => {
            error.with_fields(Vec::new())
        }
        _ => error,
    })
}

/// Commits an edit. The reply has the entity tag of the draft after it.
async fn done<T: serde::Serialize>(
    call: &Call<'_>,
    change: cms_core::Change,
    (page, rev): (i64, i64),
    data: T,
) -> Result<Success<Data<T>>> {
    let made = Success::from(Data { data }).with(header::ETAG, draft_tag(page, rev));
    call.commit(change, made, false).await
}

/// The page that the body or the query names. If both name one, it must be the same.
fn which(body: Option<i64>, named: MayName) -> Result<i64> {
    match (body, named.page_id) {
        (Some(body), Some(query)) if body != query => {
            Err(Error::invalid_field("page_id", "unknown", "the query names another page"))
        }
        (body, query) => body
            .or(query)
            .ok_or_else(|| Error::invalid_field("page_id", "required", "the id of a page")),
    }
}
