//! The body of a request that its handler reads while it comes in, within limits of size and time.

use std::{
    fmt,
    path::{Path, PathBuf},
    pin::{Pin, pin},
    time::Duration,
};

use bytes::{Buf as _, Bytes};
use cms_core::{Code, Error, Result};
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use tokio::{sync::mpsc, time::Instant};

use super::{Memory, Parts};

/// The slowest rate of an upload: slower bodies are refused, whatever their size.
const BYTES_A_SECOND: u64 = 16 << 10;

/// A body that is still to be read.
pub struct Upload {
    pub(crate) parts: Parts,
    /// The value of `Content-Type`.
    pub(crate) content_type: String,
    /// The folder for temporary files, until the handler takes them.
    pub(crate) folder: PathBuf,
    /// Memory for the parts of the body that are not files.
    pub(crate) memory: Memory,
}

/// Limits on an upload.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The most bytes.
    pub(crate) bytes: u64,
    /// How long the sender is waited for; each [`BYTES_A_SECOND`] bytes that came add a second.
    pub(crate) time: Duration,
}

/// The other end of an [`Upload`]: reads the body while the handler runs.
pub(crate) struct Source<B> {
    body: B,
    limits: Limits,
    sender: mpsc::Sender<Result<Bytes>>,
}

impl Upload {
    /// If the body announces more than the limit, nothing of it is read: the first part is
    /// `payload_too_large`.
    pub(crate) fn new<B: http_body::Body>(
        body: B,
        limits: Limits,
        content_type: &str,
        folder: &Path,
        memory: Memory,
    ) -> (Self, Source<B>) {
        // Reads the next part only after the handler has taken this one.
        let (sender, mut receiver) = mpsc::channel(1);
        let announced = body.size_hint().lower() > limits.bytes;
        if announced {
            receiver.close();
        }
        let refusal = announced.then(|| Err(too_large(limits.bytes)));
        let parts = stream::unfold(receiver, |mut receiver| async move {
            Some((receiver.recv().await?, receiver))
        });
        let parts = stream::iter(refusal).chain(parts).boxed();
        let (content_type, folder) = (content_type.to_owned(), folder.to_owned());
        (Self { parts, content_type, folder, memory }, Source { body, limits, sender })
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("content_type", &self.content_type).finish_non_exhaustive()
    }
}

impl<B> Source<B>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Runs the handler of the upload while reading the body for it.
    pub(crate) async fn feed<T>(self, handler: impl Future<Output = T>) -> T {
        let reading = async {
            self.read().await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            outcome = handler => outcome,
            never = reading => never,
        }
    }

    async fn read(self) {
        let Self { body, limits, sender } = self;
        let (mut body, mut came, mut waited) = (pin!(body), 0, Duration::ZERO);
        loop {
            let since = Instant::now();
            let left = limits.time + Duration::from_secs(came / BYTES_A_SECOND);
            let next = tokio::time::timeout(left.saturating_sub(waited), part(body.as_mut()));
            let part = match next.await {
                Ok(Ok(None)) => return,
                Ok(part) => part.transpose(),
                Err(_) => Some(Err(late(limits.time))),
            };
            // Counts the time of the sender only, not that of the handler.
            waited += since.elapsed();
            let Some(mut part) = part else { return };
            came += part.as_ref().map_or(0, |part| part.len() as u64);
            if came > limits.bytes {
                part = Err(too_large(limits.bytes));
            }
            let last = part.is_err();
            if sender.send(part).await.is_err() || last {
                return;
            }
        }
    }
}

/// The next bytes of a body; None at its end. Skips trailers.
async fn part<B>(mut body: Pin<&mut B>) -> Result<Option<Bytes>>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    while let Some(frame) = body.frame().await {
        let broken =
            |error: B::Error| Error::new(Code::BadJson, "The body broke off.").caused_by(error);
        if let Ok(mut data) = frame.map_err(broken)?.into_data() {
            return Ok(Some(data.copy_to_bytes(data.remaining())));
        }
    }
    Ok(None)
}

fn late(time: Duration) -> Error {
    let why = format!(
        "The body came too slowly: a small one has {} seconds, a large one comes with \
         {BYTES_A_SECOND} bytes a second or more.",
        time.as_secs()
    );
    Error::new(Code::Timeout, why)
}

fn too_large(bytes: u64) -> Error {
    Error::new(Code::PayloadTooLarge, format!("The body is larger than {bytes} bytes."))
}
