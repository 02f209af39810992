//! A connection that is closed gently.
//!
//! Closing a socket while unread bytes lie in it makes the kernel send a reset, which can destroy
//! the reply on its way: the sender of a body that is too large would see "connection reset"
//! instead of the 413. So what still comes is read and thrown away for a moment (RFC 9112, 9.6).
//!
//! Hyper itself refuses what it cannot parse. Such a reply gets its request id here.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
};

use crate::{Api, connection_limits::ConnectionPermit, idle_reaper::Activity};

/// How long and how much is thrown away.
const TIME: Duration = Duration::from_secs(2);
const BYTES: u64 = 16 << 20;

pub(crate) struct LingeringClose {
    /// None only while it is dropped.
    stream: Option<TcpStream>,
    api: Api,
    activity: Arc<Activity>,
    /// Kept until the socket is closed.
    slot: Arc<ConnectionPermit>,
    /// The rest of a refusal that counts as written.
    refusal: Vec<u8>,
}

impl LingeringClose {
    pub(crate) fn new(
        stream: TcpStream,
        api: Api,
        activity: Arc<Activity>,
        slot: Arc<ConnectionPermit>,
    ) -> Self {
        Self { stream: Some(stream), api, activity, slot, refusal: Vec::new() }
    }

    /// Notes the beginning of hyper's own refusal: what is written before any request was complete.
    fn is_refusal(&mut self, bytes: &[u8]) -> bool {
        const LINE: &str = "HTTP/1.1 ";
        if self.activity.has_served() || !bytes.starts_with(LINE.as_bytes()) {
            return false;
        }
        let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else { return false };
        let status = bytes.get(LINE.len()..LINE.len() + 3).unwrap_or_default();
        let id = self.api.note_refused(status);
        let (line, rest) = bytes.split_at(end);
        self.refusal = [line, b"\r\nx-request-id: ", id.as_bytes(), rest].concat();
        true
    }

    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let refusal = std::mem::take(&mut self.refusal);
            let written = self.stream()?.poll_write(context, &refusal);
            let count = if let Poll::Ready(Ok(count)) = written { count } else { 0 };
            self.refusal = refusal[count..].to_vec();
            ready!(written)?;
        }
        Poll::Ready(Ok(()))
    }

    fn count<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(written, Poll::Ready(Ok(_))) {
            self.activity.wrote();
        }
        written
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for LingeringClose {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else { return };
        if self.slot.is_given_back() {
            return;
        }
        let slot = self.slot.clone();
        let nothing_waits = matches!(stream.try_read(&mut [0; 1024]), Err(_) | Ok(0));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if nothing_waits {
            return;
        }
        runtime.spawn(async move {
            close(stream).await;
            drop(slot);
        });
    }
}

/// Ends our side, then throws away what still comes, for a moment.
pub(crate) async fn close(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let mut rest = stream.take(BYTES);
    let _ = tokio::time::timeout(TIME, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
}

impl AsyncRead for LingeringClose {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.stream()?.poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.read();
        }
        read
    }
}

impl AsyncWrite for LingeringClose {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.refusal.is_empty() && self.is_refusal(bytes) {
            self.activity.wrote();
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.poll_refusal(context))?;
        let written = self.stream()?.poll_write(context, bytes);
        self.count(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.activity.has_served() {
            let first = parts.iter().find(|part| !part.is_empty());
            return self.poll_write(context, first.map_or(&[], |part| part));
        }
        let written = self.stream()?.poll_write_vectored(context, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        let flushed = self.stream()?.poll_flush(context);
        self.activity.sent();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        self.stream()?.poll_shutdown(context)
    }
}
