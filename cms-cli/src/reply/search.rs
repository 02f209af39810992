//! The first match on any page of a list.

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
    let mut cursor = None;
    loop {
        let reply = client.call::<O>(&query(Limit(LARGEST_PAGE), cursor), &NoBody).await?;
        let page = reply.page().ok_or_else(|| Failure::unexpected("it holds no list"))?;
        let found = page.data.into_iter().find(&wanted);
        if found.is_some() || page.meta.next.is_none() {
            return Ok(found);
        }
        cursor = page.meta.next;
    }
}
