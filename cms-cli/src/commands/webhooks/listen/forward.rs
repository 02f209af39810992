//! Forwards deliveries to the receiver that is being written

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri};

use crate::output::{Done, Exit, Failure, Output};

/// The service itself waits as long for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Headers of one connection, not of the delivery (RFC 9110, 7.6.1).
const OF_THE_CONNECTION: [&str; 9] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
];

/// Reads an address to forward to.
pub(super) fn address(text: &str) -> Result<Uri, String> {
    let uri =
        text.parse::<Uri>().ok().filter(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    let known =
        |uri: &Uri| uri.scheme_str().is_some_and(|scheme| ["http", "https"].contains(&scheme));
    uri.filter(known)
        .ok_or_else(|| "write an address such as http://127.0.0.1:3000/hook".to_owned())
}

/// The receiver that deliveries are forwarded to.
pub(super) struct Forward {
    http: reqwest::Client,
    address: String,
}

impl Forward {
    pub(super) fn new(address: Uri) -> Done<Self> {
        let failed = |e: reqwest::Error| Failure::new(Exit::Failed, e.to_string());
        let http =
            cms_http::client::transport()?.no_proxy().timeout(TIMEOUT).build().map_err(failed)?;
        Ok(Self { http, address: address.to_string() })
    }

    /// Sends the same headers and body. Returns the status of the answer, else 502 or 504.
    pub(super) async fn send(
        &self,
        out: &Output,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> StatusCode {
        for name in OF_THE_CONNECTION {
            headers.remove(name);
        }
        match self.http.post(&self.address).headers(headers).body(body).send().await {
            Ok(response) => response.status(),
            Err(error) => {
                let status = if error.is_timeout() {
                    StatusCode::GATEWAY_TIMEOUT
                } else {
                    StatusCode::BAD_GATEWAY
                };
                // The address may hold a password, so it is not printed.
                out.note(&format!(
                    "answered {status}: the address of --forward cannot be reached: {}",
                    error.without_url()
                ));
                status
            }
        }
    }
}
