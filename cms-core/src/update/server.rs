//! Requests to the update server. Every reply is limited in bytes and time. The credentials are
//! sent only to the server's own host.

use std::{error::Error as _, io, time::Duration};

use reqwest::{Client, Response, StatusCode, Url, header};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    time::{Instant, timeout, timeout_at},
};

use super::{
    Release, UpdateError, UpdateFault,
    release::{MAX_DESCRIPTION_BYTES, too_large},
};
use crate::{
    Millis, Secret,
    outbound::{public_roots, tls},
    settings::Settings,
};

/// Longest wait for a connection, for the head of a reply, and for its next bytes.
const IDLE: Duration = Duration::from_secs(20);
/// Minimum speed; a slower server is given up.
const LEAST_BYTES_PER_SECOND: u64 = 16 << 10;
const MAX_REDIRECTS: usize = 5;

/// The update server of a site.
pub struct UpdateServer {
    http: Client,
    base: Url,
    login: Option<(String, Secret)>,
    idle: Duration,
}

/// The offer of the server.
#[derive(Debug)]
#[non_exhaustive]
pub struct Latest {
    /// The release; its signature is valid.
    pub release: Release,
    /// When the server says that it wrote the description.
    pub modified: Option<Millis>,
}

impl UpdateServer {
    /// The server at `update_base_url`.
    ///
    /// # Errors
    /// An error when the setting is missing.
    pub fn new(settings: &Settings) -> Result<Self, UpdateError> {
        let refused = |why: String| UpdateError::new(UpdateFault::Refused, why);
        let Some(base) = settings.update_base_url.as_deref() else {
            return Err(refused(
                "update_base_url is not set, so there is no server to ask".to_owned(),
            ));
        };
        let base = Url::parse(&format!("{}/", base.trim_end_matches('/')))
            .map_err(|e| refused(format!("update_base_url is not an address: {e}")))?;
        let local = |e: &dyn std::fmt::Display| UpdateError::new(UpdateFault::Local, e.to_string());
        let http = Client::builder()
            .tls_backend_preconfigured(tls(public_roots()).map_err(|e| local(&e))?)
            // Redirects are followed here, without the credentials.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .http1_only()
            .user_agent(concat!("cms/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| local(&e))?;
        let login = settings.update_user.clone().zip(settings.update_password.clone());
        Ok(Self { http, base, login, idle: IDLE })
    }

    /// The same server with another limit on waiting for its next bytes.
    #[must_use]
    pub fn waiting(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    /// Whether both credentials are set.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.login.is_some()
    }

    /// Requests `latest.json` and checks its signature with `keys`, see [`Release::verified`].
    ///
    /// # Errors
    /// As [`UpdateFault`] lists them.
    pub async fn latest(&self, keys: &[String]) -> Result<Latest, UpdateError> {
        let until = self.until(MAX_DESCRIPTION_BYTES);
        let mut reply = self.get("latest.json", until).await?;
        let modified = reply.headers().get(header::LAST_MODIFIED);
        let modified = modified.and_then(|value| value.to_str().ok()).and_then(written);
        let mut text = Vec::new();
        while let Some(chunk) = self.next(&mut reply, until).await? {
            if (text.len() + chunk.len()) as u64 > MAX_DESCRIPTION_BYTES {
                return Err(too_large());
            }
            text.extend_from_slice(&chunk);
        }
        Ok(Latest { release: Release::verified(&text, keys)?, modified })
    }

    /// Downloads the archive of a release into `to`, and checks its length and digest on the way.
    /// Calls `on_bytes` with the number of bytes so far. After an error, discard what was written.
    ///
    /// # Errors
    /// As [`UpdateFault`] lists them.
    pub async fn download(
        &self,
        release: &Release,
        to: &mut (impl AsyncWrite + Unpin),
        mut on_bytes: impl FnMut(u64),
    ) -> Result<(), UpdateError> {
        let until = self.until(release.size);
        let mut reply = self.get(&release.file, until).await?;
        let wrong = |bytes: u64| {
            let (file, size) = (&release.file, release.size);
            UpdateError::invalid(format!("{file} has {bytes} bytes, but latest.json says {size}"))
        };
        if let Some(length) = reply.content_length().filter(|length| *length != release.size) {
            return Err(wrong(length));
        }
        let (mut digest, mut bytes) = (Sha256::new(), 0);
        while let Some(chunk) = self.next(&mut reply, until).await? {
            bytes += chunk.len() as u64;
            if bytes > release.size {
                return Err(wrong(bytes));
            }
            digest.update(&chunk);
            to.write_all(&chunk).await.map_err(|e| unwritten(&e))?;
            on_bytes(bytes);
        }
        to.flush().await.map_err(|e| unwritten(&e))?;
        if bytes != release.size {
            return Err(wrong(bytes));
        }
        let found = data_encoding::HEXLOWER.encode(&digest.finalize());
        if found != release.sha256 {
            let why = format!("{} has the SHA-256 {found}, not the signed one", release.file);
            return Err(UpdateError::invalid(why));
        }
        Ok(())
    }

    /// The deadline for a reply of this many bytes.
    fn until(&self, bytes: u64) -> Instant {
        Instant::now() + self.idle + Duration::from_secs(bytes / LEAST_BYTES_PER_SECOND + 1)
    }

    /// Requests a file next to `latest.json`, following redirects.
    async fn get(&self, name: &str, until: Instant) -> Result<Response, UpdateError> {
        let invalid = |why: String| UpdateError::invalid(format!("{name}: {why}"));
        let mut url = self.base.join(name).map_err(|e| invalid(e.to_string()))?;
        for _ in 0..=MAX_REDIRECTS {
            let mut ask = self.http.get(url.clone());
            let is_its_own = url.origin() == self.base.origin();
            if let Some((user, password)) = self.login.as_ref().filter(|_| is_its_own) {
                ask = ask.basic_auth(user, Some(password.expose()));
            }
            let reply = timeout_at(until, timeout(self.idle, ask.send())).await;
            let Ok(Ok(reply)) = reply else { return Err(self.late()) };
            let reply = reply.map_err(unreachable)?;
            if !reply.status().is_redirection() {
                return self.judged(name, reply);
            }
            let to = reply.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| url.join(to).ok());
            url = to.ok_or_else(|| invalid("a redirect has no valid address".to_owned()))?;
            let is_safe = url.scheme() == "https" || self.base.scheme() == "http";
            if !is_safe || !["http", "https"].contains(&url.scheme()) {
                return Err(invalid("a redirect leads away from https".to_owned()));
            }
        }
        Err(invalid(format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// The reply, if its status says that it is the file.
    fn judged(&self, name: &str, reply: Response) -> Result<Response, UpdateError> {
        let fault = match reply.status() {
            StatusCode::OK => return Ok(reply),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => UpdateFault::NoRight,
            StatusCode::NOT_FOUND | StatusCode::GONE => UpdateFault::NotFound,
            status if status.is_server_error() => UpdateFault::Unreachable,
            StatusCode::TOO_MANY_REQUESTS => UpdateFault::Unreachable,
            _ => UpdateFault::Invalid,
        };
        let status = reply.status().as_u16();
        let why = match (fault, self.has_credentials()) {
            (UpdateFault::NoRight, true) => ": it refuses update_user and update_password",
            (UpdateFault::NoRight, false) => ": it requires update_user and update_password",
            _ => "",
        };
        let host = self.base.host_str().unwrap_or_default();
        let what = format!("the update server {host} answers {status} for {name}{why}");
        Err(UpdateError::new(fault, what))
    }

    /// The next bytes of a reply.
    async fn next(
        &self,
        reply: &mut Response,
        until: Instant,
    ) -> Result<Option<bytes::Bytes>, UpdateError> {
        match timeout_at(until, timeout(self.idle, reply.chunk())).await {
            Ok(Ok(chunk)) => chunk.map_err(unreachable),
            _ => Err(self.late()),
        }
    }

    fn late(&self) -> UpdateError {
        let host = self.base.host_str().unwrap_or_default();
        let why = format!(
            "the update server {host} is too slow: no bytes within {} s, or fewer than {} KiB/s",
            self.idle.as_secs(),
            LEAST_BYTES_PER_SECOND >> 10
        );
        UpdateError::new(UpdateFault::Unreachable, why)
    }
}

/// Parses a date such as `Wed, 25 Nov 2026 22:39:00 GMT`.
fn written(text: &str) -> Option<Millis> {
    let time = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(time.timestamp().as_millisecond())
}

fn unwritten(error: &io::Error) -> UpdateError {
    UpdateError::new(UpdateFault::Local, format!("the archive cannot be written: {error}"))
}

/// The innermost cause: the outer ones say only that a request failed.
fn unreachable(error: reqwest::Error) -> UpdateError {
    let error = error.without_url();
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        why = inner.to_string();
        cause = inner.source();
    }
    let what = format!("the update server cannot be reached, or its reply breaks off: {why}");
    UpdateError::new(UpdateFault::Unreachable, what)
}
