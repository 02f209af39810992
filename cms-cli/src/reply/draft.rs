//! The draft of a page, read and changed by commands.

use std::path::Path;

use cms_core::pages::builder::{Draft, Edited, NewNode, NodeKind};
use cms_http::{
    client::{Answer, Ask, Client},
    wire::{
        NoBody, Operation,
        pagebuilder::{Add, OfPage, Read, Removal, Remove},
        parameters::NoQuery,
    },
};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{
    call::{Single, call},
    named,
    record::show,
};
use crate::{
    input,
    output::{Done, Exit, Failure, Output},
};

/// The draft of a page with the reply that shows it.
pub(crate) struct DraftView {
    pub(crate) draft: Draft,
    pub(crate) answer: Answer,
}

/// Its id, from an id, an address that begins with `/`, or the name of a view.
pub(crate) async fn id_of(client: &Client, page: &str) -> Done<i64> {
    let column = if page.starts_with('/') { "url_rewrite" } else { "view" };
    match named::records(client, "pages", column, page).await?.as_slice() {
        [id] => Ok(*id),
        [] => Err(Failure::new(Exit::NotFound, format!("there is no page {page}"))
            .hint("name its id, its address or its view: cms pages list")),
        _ => Err(Failure::usage(format!("{page} is a page in several languages"))
            .hint("name the page's id: cms pages list")),
    }
}

impl DraftView {
    pub(crate) async fn find(client: &Client, page: &str) -> Done<Self> {
        let page_id = id_of(client, page).await?;
        let (answer, read) = call::<Read>(client, &OfPage { page_id }, &NoBody).await?;
        Ok(Self { draft: read.data, answer })
    }

    /// Refuses a node that is not in the draft. The service would first compare the tag with the
    /// page that does hold the node.
    pub(crate) fn holds(&self, page: &str, kind: NodeKind, id: i64) -> Done {
        if self.draft.tree.holds(kind, id) {
            return Ok(());
        }
        let what = format!("{} {id} does not stand in the draft of {page}", kind.as_str());
        Err(Failure::new(Exit::NotFound, what).hint(format!("cms pages tree {page} shows its ids")))
    }

    /// Changes the draft, unless it has changed since it was read, and prints what came of it.
    pub(crate) async fn change<O: Operation<Reply: Single<One: Serialize>>>(
        &self,
        out: &Output,
        client: &Client,
        query: &O::Query,
        body: &O::Body,
    ) -> Done {
        let ask = Ask::of::<O>(query, body)?.if_match(self.answer.etag.clone());
        let answer = client.send(ask).await?;
        let one = answer.read::<O>()?.one();
        show(out, &answer.body, &one.ok_or_else(|| Failure::unexpected("it holds a list"))?)
    }
}

/// Adds a node to a draft that still has this tag.
pub(crate) async fn add(
    client: &Client,
    tag: Option<String>,
    node: &NewNode,
) -> Done<(Answer, Edited)> {
    let answer = client.send(Ask::of::<Add>(&NoQuery {}, node)?.if_match(tag)).await?;
    let added = answer.read::<Add>()?.data;
    Ok((answer, added))
}

/// Removes a node of a draft that still has this tag.
pub(crate) async fn remove(
    client: &Client,
    tag: Option<String>,
    (kind, id): (NodeKind, i64),
) -> Done {
    let ask = Ask::of::<Remove>(&Removal { kind, id }, &NoBody)?;
    client.send(ask.if_match(tag)).await?;
    Ok(())
}

/// Values of a node, from a file.
pub(crate) fn values(file: &Path) -> Done<Map<String, Json>> {
    serde_json::from_str(&input::text(file)?).map_err(|why| {
        Failure::usage(format!("{}: {why}", file.display())).hint("a JSON object is expected")
    })
}
