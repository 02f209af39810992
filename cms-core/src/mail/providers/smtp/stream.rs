//! A connection that limits the bytes a server may send.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum bytes that a server may send while it takes one mail.
pub(super) const MOST_READ: usize = 64 << 10;

/// The first byte of TLS (RFC 8446, 5.1); no SMTP command begins with it.
const HANDSHAKE: u8 = 22;

/// A stream that ends in an error after [`MOST_READ`] bytes.
#[derive(Debug)]
pub(super) struct Capped<S> {
    inner: S,
    peer: SocketAddr,
    left: usize,
    /// Whether TLS has yet to begin. Until then, bytes after the answer to STARTTLS stay unread,
    /// so that no attacker on the way can inject an answer that seems to have come over TLS.
    is_plain: bool,
}

impl<S> Capped<S> {
    pub(super) fn new(inner: S, peer: SocketAddr) -> Self {
        Self { inner, peer, left: MOST_READ, is_plain: false }
    }

    /// A stream that hands out one byte at a time until TLS begins.
    pub(super) fn until_tls(inner: S, peer: SocketAddr) -> Self {
        Self { is_plain: true, ..Self::new(inner, peer) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Capped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            let why = format!("the server said more than {} KiB", MOST_READ >> 10);
            return Poll::Ready(Err(io::Error::other(why)));
        }
        if self.is_plain {
            let mut one = [0];
            let mut one = ReadBuf::new(&mut one);
            std::task::ready!(Pin::new(&mut self.inner).poll_read(context, &mut one))?;
            buffer.put_slice(one.filled());
            self.left -= one.filled().len();
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.left = self.left.saturating_sub(buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Capped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.first() == Some(&HANDSHAKE) {
            self.is_plain = false;
        }
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

impl<S> AsyncTokioStream for Capped<S>
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    use super::*;

    #[tokio::test]
    async fn what_follows_the_answer_to_starttls_is_not_read_before_tls() {
        let (mut server, client) = tokio::io::duplex(100);
        let peer = "127.0.0.1:25".parse().expect("an address");
        let mut reader = BufReader::new(Capped::until_tls(client, peer));
        server.write_all(b"220 go on\r\n250 slipped in\r\n").await.expect("a write");
        let mut line = String::new();
        reader.read_line(&mut line).await.expect("a line");
        assert_eq!((line.as_str(), reader.buffer().len()), ("220 go on\r\n", 0));
        reader.write_all(&[HANDSHAKE]).await.expect("a write");
        assert!(reader.fill_buf().await.expect("bytes").len() > 1, "TLS reads as it likes");
    }
}
