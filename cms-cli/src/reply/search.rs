//! Rows of a list, page by page, and the first match among them.

use std::ops::ControlFlow;

use cms_http::{
    client::Client,
    wire::{NoBody, Operation, parameters::Limit},
};

use super::{list::LARGEST_PAGE, shapes::Paged};
use crate::output::{Done, Failure};

/// Reads page after page up to the first match of `wanted`.
pub(crate) async fn first<O: Operation<Body = NoBody>>(
    client: &Client,
    query: impl Fn(Limit, Option<String>) -> O::Query,
    wanted: impl Fn(&<O::Reply as Paged>::Row) -> bool,
) -> Done<Option<<O::Reply as Paged>::Row>>
where
    O::Reply: Paged,
{
    let mut found = None;
    each::<O>(client, query, |row| {
        if wanted(&row) {
            found = Some(row);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })
    .await?;
    Ok(found)
}

/// Shows row after row to `see`, until it has seen enough.
pub(super) async fn each<O: Operation<Body = NoBody>>(
    client: &Client,
    query: impl Fn(Limit, Option<String>) -> O::Query,
    mut see: impl FnMut(<O::Reply as Paged>::Row) -> ControlFlow<()>,
) -> Done
where
    O::Reply: Paged,
{
    let mut cursor = None;
    loop {
        let reply = client.call::<O>(&query(Limit(LARGEST_PAGE), cursor), &NoBody).await?;
        let page = reply.page().ok_or_else(|| Failure::unexpected("it holds no list"))?;
        for row in page.data {
            if see(row).is_break() {
                return Ok(());
            }
        }
        if page.meta.next.is_none() {
            return Ok(());
        }
        cursor = page.meta.next;
    }
}
