//! A connection that is closed gently.
//!
//! Closing a socket while unread bytes lie in it makes the kernel send a reset, which can destroy
//! the reply on its way: the sender of a body that is too large would see "connection reset"
//! instead of the 413. So what still comes is read and thrown away for a moment (RFC 9112, 9.6).

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
};

use crate::headway::Headway;

/// How long and how much is thrown away.
const TIME: Duration = Duration::from_secs(2);
const BYTES: u64 = 16 << 20;

pub(crate) struct Lingering {
    /// None only while it is dropped.
    stream: Option<TcpStream>,
    headway: Arc<Headway>,
}

impl Lingering {
    pub(crate) fn new(stream: TcpStream, headway: Arc<Headway>) -> Self {
        Self { stream: Some(stream), headway }
    }

    fn count<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(written, Poll::Ready(Ok(_))) {
            self.headway.wrote();
        }
        written
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(mut stream) = self.stream.take() else { return };
        let nothing_waits = matches!(stream.try_read(&mut [0; 1024]), Err(_) | Ok(0));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if nothing_waits {
            return;
        }
        runtime.spawn(async move {
            let _ = stream.shutdown().await;
            let mut rest = stream.take(BYTES);
            let _ = tokio::time::timeout(TIME, tokio::io::copy(&mut rest, &mut tokio::io::sink()))
                .await;
        });
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write(context, bytes);
        self.count(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write_vectored(context, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }
}
