//! `cms update serve`: serves a folder as an update server on this machine

use std::{
    convert::Infallible,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use cms_core::{
    crypto::sha256,
    settings::Settings,
    update::{Release, digest},
};
use data_encoding::BASE64;
use futures_util::{Stream, stream};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::StreamBody;
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{fs::File, io::AsyncReadExt};

use crate::{
    flags::Flags,
    folder,
    loopback::Loopback,
    output::{Done, Exit, Failure, Output},
    signals::Signals,
};

/// The most connections at once.
const PLACES: u32 = 64;
/// Time limit for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const PART_BYTES: usize = 64 << 10;
const DESCRIPTION: &str = "latest.json";

/// The served folder, and the login that it needs.
struct Published {
    folder: PathBuf,
    /// SHA-256 of the `Authorization` header that requests need. Comparing digests does not leak
    /// the password through its timing.
    login: Option<[u8; 32]>,
}

pub(super) async fn run(flags: &Flags, out: &Output, folder: &Path, port: u16) -> Done {
    let settings = folder::settings(flags.dir(), &[], out)?.settings;
    if !folder.is_dir() {
        let what = format!("{} is not a folder", folder.display());
        return Err(Failure::new(Exit::NotFound, what).hint("name the folder with latest.json"));
    }
    match checked(folder, &settings) {
        Ok(said) => out.note(&said),
        Err(why) => out.note(&format!("warning: {why}")),
    }
    let login = settings.update_user.as_ref().zip(settings.update_password.as_ref());
    let login = login.map(|(user, password)| {
        let header = header_of(user, password.expose());
        sha256(header.as_bytes())
    });
    if login.is_none() {
        out.note("Without update_user and update_password everybody on this machine may read.");
    }
    let published = Arc::new(Published { folder: folder.to_owned(), login });
    let loopback = Loopback::listen(port, PLACES).await?;
    let mut signals = Signals::open()?;
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    out.always(&format!("ready http://{}", loopback.address()?));
    loop {
        tokio::select! {
            (place, stream) = loopback.accept() => {
                let published = published.clone();
                let service = service_fn(move |request| {
                    let published = published.clone();
                    async move { Ok::<_, Infallible>(published.answer(&request).await) }
                });
                let connection = server.serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move {
                    let _ = connection.await;
                    drop(place);
                });
            }
            () = signals.next() => return Ok(()),
        }
    }
}

/// What a client with these settings would find in the folder.
fn checked(folder: &Path, settings: &Settings) -> Result<String, String> {
    let text = fs::read(folder.join(DESCRIPTION)).map_err(|e| format!("{DESCRIPTION}: {e}"))?;
    if settings.update.public_key.is_empty() {
        return Err("update.public_key is not set, so latest.json is not checked".to_owned());
    }
    let release =
        Release::verified(&text, &settings.update.public_key).map_err(|e| e.to_string())?;
    let file = &release.file;
    let archive = fs::File::open(folder.join(file)).map_err(|e| format!("{file}: {e}"))?;
    let size = archive.metadata().map_err(|e| format!("{file}: {e}"))?.len();
    let found = digest(archive).map_err(|e| format!("{file}: {e}"))?;
    match found == release.sha256 && size == release.size {
        true => Ok(format!("{} is signed, and {file} is the file it names.", release.version)),
        false => Err(format!("{file} is another file than {DESCRIPTION} describes")),
    }
}

fn header_of(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()))
}

type Body = StreamBody<std::pin::Pin<Box<dyn Stream<Item = std::io::Result<Frame<Bytes>>> + Send>>>;

impl Published {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        match self.file(request).await {
            Ok((file, length)) => {
                let is_head = request.method() == Method::HEAD;
                let mut response = Response::new(body(if is_head { None } else { Some(file) }));
                response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
                response
            }
            Err(status) => {
                let mut response = Response::new(body(None));
                *response.status_mut() = status;
                if status == StatusCode::UNAUTHORIZED {
                    let value = HeaderValue::from_static("Basic realm=\"updates\"");
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
                }
                response
            }
        }
    }

    /// The file that a request names. It must lie directly in the folder.
    async fn file(&self, request: &Request<Incoming>) -> Result<(File, u64), StatusCode> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let sent = request.headers().get(header::AUTHORIZATION);
        let sent = sha256(sent.map_or(b"", |value| value.as_bytes()));
        if self.login.is_some_and(|login| login != sent) {
            return Err(StatusCode::UNAUTHORIZED);
        }
        let name = request.uri().path().trim_start_matches('/');
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
        let is_release = name == DESCRIPTION || name.ends_with(".zip") && !name.starts_with('.');
        if !is_release || !name.bytes().all(is_plain) {
            return Err(StatusCode::NOT_FOUND);
        }
        let path = self.folder.join(name);
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let about = tokio::fs::symlink_metadata(&path).await.map_err(failed)?;
        if !about.is_file() {
            return Err(StatusCode::NOT_FOUND);
        }
        let file = File::open(&path).await.map_err(failed)?;
        Ok((file, about.len()))
    }
}

/// The content of a file, read as it is sent; empty for None.
fn body(file: Option<File>) -> Body {
    let parts = stream::try_unfold(file, async |file| {
        let Some(mut file) = file else { return Ok(None) };
        let mut part = vec![0; PART_BYTES];
        let read = file.read(&mut part).await?;
        part.truncate(read);
        Ok((read > 0).then(|| (Frame::data(Bytes::from(part)), Some(file))))
    });
    StreamBody::new(Box::pin(parts))
}
