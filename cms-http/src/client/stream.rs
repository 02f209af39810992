//! A reply as it comes, part by part.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http_body_util::BodyExt as _;

use super::{Ask, Client, ClientError, local_request, retry_after};

/// The parts of a reply's body.
pub type Parts = Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>> + Send>>;

impl Client {
    /// Makes the call once, for a reply that is larger than memory should hold, or has no end.
    ///
    /// # Errors
    /// [`ClientError`], also for every status that is not 2xx. A part is an error when the reply
    /// broke off.
    pub async fn stream(&self, ask: &Ask) -> Result<Parts, ClientError> {
        match self {
            Self::Local(api) | Self::LocalAs(api, _) => {
                let credential = match self {
                    Self::LocalAs(_, credential) => Some(credential),
                    _ => None,
                };
                let request = local_request(ask, credential)?;
                let (parts, body) = api.handle(request).await.into_parts();
                if !parts.status.is_success() {
                    let text = body.collect().await.map(|all| all.to_bytes()).unwrap_or_default();
                    let text = String::from_utf8_lossy(&text);
                    let problem = ClientError::problem(parts.status, &text);
                    return Err(problem.after(retry_after(&parts.headers)));
                }
                let broken = |_| ClientError::Unreachable("the stream broke off".to_owned());
                Ok(body.into_data_stream().map(move |part| part.map_err(broken)).boxed())
            }
            Self::Remote(remote) => {
                let mut response = remote.open(ask).await?;
                if !response.status().is_success() {
                    let (status, after) = (response.status(), retry_after(response.headers()));
                    let text = response.text().await.unwrap_or_default();
                    return Err(ClientError::problem(status, &text).after(after));
                }
                let broken = |e: reqwest::Error| ClientError::Unreachable(e.to_string());
                Ok(Box::pin(stream::poll_fn(move |context| {
                    let chunk = std::pin::pin!(response.chunk());
                    chunk.poll(context).map(|part| part.map_err(broken).transpose())
                })))
            }
        }
    }
}
