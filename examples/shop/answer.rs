//! The bodies that handlers of the shop read, and their errors, which look like those of the API.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{FromRequest, Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use cms_core::{Code, Error};
use cms_http::Api;
use serde::{Serialize, de::DeserializeOwned};

pub type Answer = Result<Response, Refusal>;

/// An error on its way to [`refuse`].
pub struct Refusal(Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(Arc::new(self.0));
        response
    }
}

/// Turns errors of handlers into replies as the API has them. Requests that axum refuses before a
/// handler runs, such as `/orders/x`, get axum's own reply.
pub async fn refuse(State(api): State<Api>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Arc<Error>>() {
        Some(error) => api.refuse(&error).into_response(),
        None => response,
    }
}

/// A JSON body. A form of another website can send text, but not JSON.
pub struct Sent<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Error::new(Code::UnsupportedMediaType, "Send application/json.").into());
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|why| Error::new(Code::PayloadTooLarge, why.body_text()))?;
        let sent = serde_json::from_slice(&body);
        Ok(Self(sent.map_err(|why| Error::new(Code::BadJson, why.to_string()))?))
    }
}

pub fn json_of(value: &impl Serialize) -> Answer {
    let body = serde_json::to_string(value).map_err(Error::internal)?;
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}
