//! One call of an operation.

use cms_http::{
    client::{Answer, Ask, Client},
    wire::Operation,
};
use serde_json::Value as Json;

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

/// What a reply holds, or no more than the id of a row and the secret that is shown once.
type Once<R> = Result<R, (Json, String)>;

/// As [`call`], for a reply with a secret that only this reply holds.
pub(crate) async fn call_once<O: Operation>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<(Answer, Once<O::Reply>)> {
    let answer = client.send(Ask::of::<O>(query, body)?).await?;
    let reply = match (answer.read::<O>(), answer.only_secret()) {
        (Ok(reply), _) => Ok(reply),
        (Err(_), Some(only)) => Err(only),
        (Err(error), None) => return Err(error.into()),
    };
    Ok((answer, reply))
}

/// As [`call`], with the one thing in the reply. None: the write is done, and the caller may see no
/// more than the id.
pub(super) async fn written<O: Operation>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<(Answer, Option<<O::Reply as Single>::One>)>
where
    O::Reply: Single,
{
    let answer = client.send(Ask::of::<O>(query, body)?).await?;
    match answer.read::<O>() {
        Err(_) if answer.only_id().is_some() => Ok((answer, None)),
        read => {
            let one = read?.one();
            let one = one.ok_or_else(|| Failure::unexpected("it holds no single record"))?;
            Ok((answer, Some(one)))
        }
    }
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
