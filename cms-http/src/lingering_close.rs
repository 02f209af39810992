//! Closes a connection only after the client has read the reply.
//!
//! If unread bytes lie in a closed socket, or arrive later, the kernel sends a reset. That reset
//! can destroy a reply on its way: the sender of a body that is too large would see "connection
//! reset" instead of the 413. So what still comes is read and thrown away (RFC 9112, 9.6).
//!
//! A reply of HTTP/1.0 without a length ends where its connection ends. If such a reply breaks off,
//! the connection is reset: otherwise its client would take the part for the whole.
//!
//! Hyper refuses what it cannot parse with an empty reply. This stream replaces that reply by one
//! with a problem document.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::Response;
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    sync::watch,
    time,
};

use crate::{Api, Body, connection_limits::ConnectionPermit, idle_reaper::Activity};

/// The longest time that a connection lingers, and the longest silence meanwhile.
const TIME: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(2);
/// The same for a connection that never had a place, and the most bytes thrown away of it.
const REFUSED_TIME: Duration = Duration::from_secs(2);
const REFUSED_BYTES: u64 = 16 << 20;
/// Size of the buffer for bytes that are thrown away.
const PART: usize = 8 << 10;

pub(crate) struct LingeringClose {
    stream: TcpStream,
    api: Api,
    activity: Arc<Activity>,
    /// The place of the connection, held until the socket is closed.
    slot: Arc<ConnectionPermit>,
    stop: watch::Receiver<bool>,
    /// Whether a close is a reset now.
    resets: bool,
    /// The rest of the refusal that replaces hyper's. Hyper counts its own as written.
    refusal: Vec<u8>,
}

impl LingeringClose {
    pub(crate) fn new(
        stream: TcpStream,
        api: Api,
        activity: Arc<Activity>,
        slot: Arc<ConnectionPermit>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self { stream, api, activity, slot, stop, resets: false, refusal: Vec::new() }
    }

    /// Makes a close a reset where only the end of the connection ends the reply.
    fn guard_open_end(&mut self) {
        if self.activity.is_open_ended() {
            self.set_resets(true);
        }
    }

    /// Makes a close of the socket a reset, or an orderly end again.
    fn set_resets(&mut self, resets: bool) {
        if self.resets != resets {
            let linger = resets.then_some(Duration::ZERO);
            let is_set = SockRef::from(&self.stream).set_linger(linger).is_ok();
            self.resets = if is_set { resets } else { self.resets };
        }
    }

    /// Reads what lies in the socket, even if the runtime does not know of it yet.
    fn read_at_once(&self, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let socket = SockRef::from(&self.stream);
        match io::Read::read(&mut &*socket, buffer.initialize_unfilled()) {
            Ok(count) => {
                buffer.advance(count);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Replaces hyper's own refusal: anything written before the first request was complete.
    fn is_refusal(&mut self, bytes: &[u8]) -> bool {
        const LINE: &str = "HTTP/1.1 ";
        if self.activity.has_served() || !bytes.starts_with(LINE.as_bytes()) {
            return false;
        }
        let status = bytes.get(LINE.len()..LINE.len() + 3).unwrap_or_default();
        self.refusal = raw(self.api.refuse_unparsed(status));
        true
    }

    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let refusal = std::mem::take(&mut self.refusal);
            let written = self.stream().poll_write(context, &refusal);
            let count = if let Poll::Ready(Ok(count)) = written { count } else { 0 };
            self.refusal = refusal[count..].to_vec();
            ready!(written)?;
        }
        Poll::Ready(Ok(()))
    }

    fn count(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.activity.wrote(*bytes);
        }
        written
    }

    fn stream(&mut self) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.stream)
    }

    /// Ends our side, then throws away what still comes. `sends_on`: wait even if nothing lies
    /// there yet. Ends early when another connection needs the place, or soon after a stop.
    /// A reply that broke off ends with a reset instead.
    pub(crate) async fn close(self, sends_on: bool) {
        let Self { mut stream, api, activity, slot, mut stop, resets, .. } = self;
        if resets {
            return;
        }
        let more_comes = match stream.try_read(&mut [0; 1024]) {
            Ok(count) => count > 0,
            Err(error) => sends_on && error.kind() == io::ErrorKind::WouldBlock,
        };
        if !more_comes || slot.is_given_back() {
            return;
        }
        // Counts as idle from here on, so that it may be ordered to leave.
        activity.set_answering(false);
        activity.sent();
        let left = poll_fn(|context| {
            activity.wakes(context.waker());
            if slot.is_given_back() { Poll::Ready(()) } else { Poll::Pending }
        });
        let stopped = async {
            let _ = stop.wait_for(|stop| *stop).await;
            time::sleep(SILENCE).await;
        };
        // Large enough that the sender of a body that is somewhat too large can read the refusal.
        let largest = api.cms().settings().media.max_bytes;
        let most = largest.saturating_mul(2).max(REFUSED_BYTES);
        tokio::select! {
            () = discard(&mut stream, TIME, most) => {}
            () = left => {}
            () = stopped => {}
        }
        // Close the socket before freeing the place.
        drop(stream);
        drop(slot);
    }
}

/// A reply written without hyper, on a connection that ends with it.
pub(crate) fn raw(response: Response<Body>) -> Vec<u8> {
    let (parts, body) = response.into_parts();
    let body = body.whole().cloned().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {}\r\nconnection: close\r\n", parts.status).into_bytes();
    for (name, value) in &parts.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    text.extend_from_slice(&body);
    text
}

/// Closes a connection that has no place. The caller bounds how many; this takes a moment at most.
pub(crate) async fn close(mut stream: TcpStream) {
    discard(&mut stream, REFUSED_TIME, REFUSED_BYTES).await;
}

/// Ends our side, then throws away what still comes, up to `most` bytes.
async fn discard(stream: &mut TcpStream, limit: Duration, most: u64) {
    let _ = stream.shutdown().await;
    let mut rest = stream.take(most);
    let mut part = vec![0; PART];
    let read_all = async {
        while matches!(time::timeout(SILENCE, rest.read(&mut part)).await, Ok(Ok(1..))) {}
    };
    let _ = time::timeout(limit, read_all).await;
}

impl AsyncRead for LingeringClose {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let mut read = self.stream().poll_read(context, buffer);
        if read.is_pending() && self.stop.has_changed().unwrap_or(true) {
            read = self.read_at_once(buffer);
        }
        let count = buffer.filled().len() - before;
        if count > 0 {
            self.activity.read(count);
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
            self.activity.wrote(bytes.len());
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.poll_refusal(context))?;
        self.guard_open_end();
        let written = self.stream().poll_write(context, bytes);
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
        self.guard_open_end();
        let written = self.stream().poll_write_vectored(context, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        let flushed = self.stream().poll_flush(context);
        self.activity.sent();
        if !self.activity.is_open_ended() {
            self.set_resets(false);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        self.stream().poll_shutdown(context)
    }
}
