//! The connection to the store: its address, a client with this program's TLS, a timeout for each
//! call, and the message of a failure.
//!
//! The operator sets the address, so it may belong to this machine or a private network. Addresses
//! that others enter may not.

use std::{error, future::Future, time::Duration};

use futures_util::TryStreamExt as _;
use object_store::{
    BackoffConfig, ClientOptions, Error as Fault, ObjectStore as _, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    client::{HttpClient, HttpConnector},
    path::Path as Key,
};

use super::RESPONSE_TIMEOUT;
use crate::{
    Code, Error, Result, Secret,
    outbound::{public_roots, tls},
    settings,
};

/// `retry_after` of errors, in seconds.
pub(super) const AGAIN_S: u64 = 10;
/// Timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Limit on all retries of a call. The caller's deadline ends them long before, see `within`.
const RETRYING: Duration = Duration::from_secs(86_400);
/// Retries of a call that failed in a way that may pass.
const RETRIES: usize = 2;
/// Idle connections that are kept for later calls.
const IDLE: usize = 32;

/// The URL of the bucket. The name of the bucket stands before the host or in the path, as
/// `media.path_style` says.
///
/// # Errors
/// `validation_failed` for a text that is not a URL: the client would panic on it.
pub(super) fn address(settings: &settings::MediaSettings) -> Result<String> {
    let bucket = settings.bucket.as_deref().unwrap_or_default();
    let amazon = || format!("https://s3.{}.amazonaws.com", settings.region);
    let endpoint = settings.endpoint.clone().unwrap_or_else(amazon);
    let endpoint = endpoint.trim_end_matches('/');
    let address = match endpoint.split_once("://") {
        Some((scheme, rest)) if !settings.path_style => format!("{scheme}://{bucket}.{rest}"),
        _ => format!("{endpoint}/{bucket}"),
    };
    match reqwest::Url::parse(&address) {
        Ok(_) => Ok(address),
        Err(fault) => {
            let message = format!(
                "makes {address}, which is not a valid URL ({fault}): set media.path_style if the \
                 host is an IP address, or change the endpoint"
            );
            Err(Error::invalid_field("media.endpoint", "format", message))
        }
    }
}

pub(super) fn store(
    settings: &settings::MediaSettings,
    address: &str,
    client: reqwest::Client,
) -> object_store::Result<AmazonS3> {
    let secret = |value: &Option<Secret>| {
        value.as_ref().map(|secret| secret.expose().to_owned()).unwrap_or_default()
    };
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(1),
        base: 2.0,
    };
    let retry = RetryConfig { backoff, max_retries: RETRIES, retry_timeout: RETRYING };
    AmazonS3Builder::new()
        .with_bucket_name(settings.bucket.clone().unwrap_or_default())
        .with_region(settings.region.clone())
        .with_access_key_id(secret(&settings.access_key))
        .with_secret_access_key(secret(&settings.secret_key))
        .with_endpoint(address)
        // The address already contains the bucket.
        .with_virtual_hosted_style_request(true)
        .with_allow_http(true)
        // Not every store can remove several objects with one call.
        .with_disable_bulk_delete(true)
        .with_retry(retry)
        .with_http_connector(Connector(client))
        .build()
}

/// Makes the store use the client of this program.
#[derive(Debug)]
struct Connector(reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

pub(super) fn client() -> Result<reqwest::Client> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(public_roots()).map_err(Error::internal)?)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .pool_max_idle_per_host(IDLE)
        .connect_timeout(CONNECT);
    client.build().map_err(Error::internal)
}

/// The answer of the store, if it comes in time. `None`: there is no such object.
pub(super) async fn answered<T>(
    patience: Duration,
    asked: impl Future<Output = object_store::Result<T>>,
) -> Result<Option<T>> {
    match tokio::time::timeout(patience, asked).await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        // A missing bucket looks like a missing object; `Bucket::reach_cached` tells.
        Ok(Err(Fault::NotFound { .. })) => Ok(None),
        Ok(Err(fault)) => Err(failed(&fault)),
        Err(_) => Err(unreachable(late(patience))),
    }
}

/// The answer of the store, if it comes in time.
pub(super) async fn within<T>(
    patience: Duration,
    asked: impl Future<Output = object_store::Result<T>>,
) -> Result<T> {
    let answer = tokio::time::timeout(patience, asked).await;
    answer.map_err(|_| unreachable(late(patience)))?.map_err(|fault| failed(&fault))
}

/// The names in a folder with their lengths, without subfolders.
pub(super) async fn list(store: &AmazonS3, folder: &Key) -> Result<Vec<(String, u64)>> {
    let mut listed = store.list(Some(folder));
    let mut files = Vec::new();
    while let Some(object) = within(RESPONSE_TIMEOUT, listed.try_next()).await? {
        let file = object.location.filename().unwrap_or_default();
        if folder.clone().join(file) == object.location {
            files.push((file.to_owned(), object.size));
        }
    }
    Ok(files)
}

pub(super) fn late(patience: Duration) -> String {
    format!("it does not answer within {} s", patience.as_secs())
}

pub(super) fn failed(fault: &Fault) -> Error {
    unreachable(reason(fault))
}

/// Whether the store forbids this call. It may allow others.
pub(super) fn is_forbidden(fault: &Fault) -> bool {
    matches!(fault, Fault::PermissionDenied { .. } | Fault::Unauthenticated { .. })
}

/// The error for callers, which says only that the store failed; the log has the reason.
pub(super) fn unreachable(reason: String) -> Error {
    let detail = "The store of files does not answer as it should: try again later.";
    Error::new(Code::Unavailable, detail).retry_after(AGAIN_S).caused_by(reason)
}

/// Why a call failed, in words.
pub(super) fn reason(fault: &Fault) -> String {
    let mut innermost: &dyn error::Error = fault;
    let mut chain = fault.to_string();
    while let Some(source) = innermost.source() {
        innermost = source;
        chain = format!("{chain}\n{source}");
    }
    store_refusal(&chain).unwrap_or_else(|| innermost.to_string())
}

/// The answer of a store that refused a call: its code or its status alone, because its texts
/// repeat the id of the access key and what was signed. `None`: the store did not answer.
fn store_refusal(chain: &str) -> Option<String> {
    let word = |text: &str| -> String {
        text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == ' ').take(64).collect()
    };
    let code = chain.split_once("<Code>").map(|(_, rest)| word(rest));
    let status = || chain.split_once("status code: ").map(|(_, rest)| word(rest));
    let other = || chain.contains("error response: ").then(|| "an error".to_owned());
    code.or_else(status).or_else(other).map(|said| format!("it answers {}", said.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn the_bucket_stands_in_the_path_or_before_the_host() {
        for (endpoint, path_style, expected) in [
            (None, true, "https://s3.eu-central-1.amazonaws.com/pics"),
            (None, false, "https://pics.s3.eu-central-1.amazonaws.com"),
            (Some("http://127.0.0.1:9000/"), true, "http://127.0.0.1:9000/pics"),
            (Some("https://s3.example.net/x"), false, "https://pics.s3.example.net/x"),
        ] {
            let mut settings = Settings::default().media;
            settings.bucket = Some("pics".to_owned());
            settings.region = "eu-central-1".to_owned();
            settings.endpoint = endpoint.map(str::to_owned);
            settings.path_style = path_style;
            assert_eq!(address(&settings).expect("an address"), expected);
        }
        for (endpoint, path_style) in
            [("http://127.0.0.1:9000", false), ("http://127.0.0.1:99999", true)]
        {
            let mut settings = Settings::default().media;
            settings.bucket = Some("pics".to_owned());
            settings.endpoint = Some(endpoint.to_owned());
            settings.path_style = path_style;
            let refused = address(&settings).expect_err("no address");
            assert_eq!(refused.code(), Code::ValidationFailed, "{endpoint}");
        }
    }

    #[test]
    fn what_a_store_writes_is_not_passed_on() {
        let body =
            "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA1</AWSAccessKeyId>";
        for (chain, expected) in [
            (
                format!("Server returned non-2xx status code: 403 Forbidden: {body}"),
                Some("it answers SignatureDoesNotMatch"),
            ),
            (
                "Server returned non-2xx status code: 403 Forbidden: <html>AKIA1".to_owned(),
                Some("it answers 403 Forbidden"),
            ),
            ("Server returned error response: AKIA1".to_owned(), Some("it answers an error")),
            ("tcp connect error: Connection refused".to_owned(), None),
        ] {
            assert_eq!(store_refusal(&chain).as_deref(), expected, "{chain}");
        }
    }
}
