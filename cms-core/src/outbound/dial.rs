//! A connection to a server that the settings name.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};

use super::local;

/// Why no connection was made.
#[derive(Debug)]
pub(crate) struct Undialled {
    /// Whether this machine failed, so that nothing is known about the server.
    pub(crate) is_local: bool,
    /// Whether the server may still be the cause.
    pub(crate) is_suspect: bool,
    pub(crate) message: String,
}

impl Undialled {
    fn of(error: &io::Error) -> Self {
        Self {
            is_local: local::is_fault(error),
            is_suspect: local::has_no_route(error),
            message: error.to_string(),
        }
    }

    /// The name has no address: the setting is wrong.
    fn of_name(why: &dyn std::fmt::Display) -> Self {
        Self { is_local: false, is_suspect: false, message: why.to_string() }
    }

    /// Combines the failures of two addresses. A failure at an address that was reached says more
    /// about the server than one at an address without a route.
    fn and(self, next: Self) -> Self {
        if self.is_local && !next.is_local { next } else { self }
    }
}

/// Connects to the first address of a name that answers, within `patience`. The look-up may take
/// half of that. An address that does not answer leaves time for the others.
pub(crate) async fn dial(
    host: &str,
    port: u16,
    patience: Duration,
) -> Result<TcpStream, Undialled> {
    let until = Instant::now() + patience;
    let silent = |message| Undialled { is_local: true, is_suspect: true, message };
    let found = timeout(patience / 2, tokio::net::lookup_host((host, port)));
    let found = found.await.map_err(|_| silent("no answer from DNS in time".to_owned()))?;
    let found: Vec<_> = match found {
        Ok(found) => found.collect(),
        Err(error) if local::says_unknown(&error) => return Err(Undialled::of_name(&error)),
        Err(error) => return Err(silent(error.to_string())),
    };
    let mut failed: Option<Undialled> = None;
    for (tried, address) in found.iter().enumerate() {
        let left = u32::try_from(found.len() - tried).unwrap_or(u32::MAX);
        let share = until.saturating_duration_since(Instant::now()) / left;
        match connect(*address, share).await {
            Ok(stream) => return Ok(stream),
            Err(next) => {
                failed = Some(match failed {
                    Some(before) => before.and(next),
                    None => next,
                });
            }
        }
    }
    Err(failed.unwrap_or_else(|| Undialled::of_name(&"the name has no address")))
}

async fn connect(address: SocketAddr, patience: Duration) -> Result<TcpStream, Undialled> {
    match timeout(patience, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(Undialled::of(&error)),
        Err(_) => Err(Undialled::of(&io::Error::other(format!("{address} does not answer")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_is_not_there_is_not_our_fault() {
        // Bound, so that no other process takes the port, but not listening.
        let held = tokio::net::TcpSocket::new_v4().expect("a socket");
        held.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let port = held.local_addr().expect("an address").port();
        let why =
            dial("127.0.0.1", port, Duration::from_secs(9)).await.expect_err("nobody listens");
        assert!(!why.is_local && why.message.contains("refused"), "{why:?}");
    }

    #[test]
    fn an_address_that_was_reached_decides() {
        use rustix::io::Errno;
        for (errnos, is_local) in [
            ([Errno::CONNREFUSED, Errno::NETUNREACH], false),
            ([Errno::NETUNREACH, Errno::CONNREFUSED], false),
            ([Errno::NETUNREACH, Errno::NETUNREACH], true),
        ] {
            let [first, next] = errnos.map(|errno| Undialled::of(&errno.into()));
            assert_eq!(first.and(next).is_local, is_local, "{errnos:?}");
        }
    }
}
