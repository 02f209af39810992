//! One call of an operation.

use cms_http::{
    client::{Answer, Ask, Client},
    wire::Operation,
};

use super::shapes::Single;
use crate::output::{Done, Failure};

/// Calls an operation. Returns its reply as text, for `--json`, and as its type.
pub(crate) async fn call<O: Operation>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<(Answer, O::Reply)> {
    let answer = client.send(Ask::of::<O>(query, body)?).await?;
    let reply = answer.read::<O>()?;
    Ok((answer, reply))
}

/// The one thing in the reply of an operation.
pub(crate) async fn data<O: Operation>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<<O::Reply as Single>::One>
where
    O::Reply: Single,
{
    let reply = client.call::<O>(query, body).await?;
    reply.one().ok_or_else(|| Failure::unexpected("it holds a list instead of one record"))
}
