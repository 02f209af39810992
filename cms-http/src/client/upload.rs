//! A file that is sent part by part.

use bytes::Bytes;
use cms_core::Random;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderValue, header};
use http_body::Frame;
use http_body_util::StreamBody;

use super::{Answer, Ask, Client, ClientError, local, local_request};

/// A file to be sent.
pub struct Outgoing<S> {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its content.
    pub parts: S,
}

impl Client {
    /// Sends a form with fields and a file, which is never whole in memory.
    ///
    /// # Errors
    /// [`ClientError`], also for every status that is not 2xx; a part that cannot be read breaks
    /// the call off.
    pub async fn upload<S>(
        &self,
        ask: &Ask,
        fields: &[(&str, &str)],
        file: Outgoing<S>,
    ) -> Result<Answer, ClientError>
    where
        S: Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    {
        let boundary = Random::system().uuid_v4().map_err(unmade)?;
        let (head, tail) = around(&boundary, fields, &file.name);
        let length = (head.len() + tail.len()) as u64 + file.size;
        let kind = format!("multipart/form-data; boundary={boundary}");
        let kind = HeaderValue::from_str(&kind).map_err(unmade)?;
        let one = |text: String| stream::iter([Ok(Bytes::from(text))]);
        let parts = one(head).chain(file.parts).chain(one(tail));
        let (status, retry_after, answer) = match self {
            Self::Local(api) | Self::LocalAs(api, _) => {
                let credential = match self {
                    Self::LocalAs(_, credential) => Some(credential),
                    _ => None,
                };
                let (mut head, _) = local_request(ask, credential)?.into_parts();
                head.headers.insert(header::CONTENT_TYPE, kind);
                let body = StreamBody::new(parts.map_ok(Frame::data));
                let request = http::Request::from_parts(head, Box::pin(body));
                local(api, request).await?
            }
            Self::Remote(remote) => {
                let body = reqwest::Body::wrap_stream(parts);
                remote.upload(ask, kind, length, body).await?
            }
        };
        match status.is_success() {
            true => Ok(answer),
            false => Err(ClientError::problem(status, &answer.body).after(retry_after)),
        }
    }
}

/// What stands before and behind the file.
fn around(boundary: &str, fields: &[(&str, &str)], name: &str) -> (String, String) {
    // As browsers write them (HTML, 4.10.21.8).
    let escaped = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let line = |what: String| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name={what}\r\n\r\n")
    };
    let mut head = String::new();
    for (name, value) in fields {
        head += &line(format!("\"{}\"", escaped(name)));
        head += &format!("{value}\r\n");
    }
    head += &line(format!("\"file\"; filename=\"{}\"", escaped(name)));
    (head, format!("\r\n--{boundary}--\r\n"))
}

fn unmade(error: impl std::fmt::Display) -> ClientError {
    ClientError::Unexpected(format!("the form cannot be made: {error}"))
}
