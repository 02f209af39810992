//! A port of this machine that a command listens on.

use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::output::{Done, Exit, Failure};

/// A port of 127.0.0.1, with a limit on connections.
pub(crate) struct Loopback {
    listener: TcpListener,
    places: Arc<Semaphore>,
    count: u32,
}

/// The place of a connection. Dropping it frees the place.
pub(crate) type Place = Option<OwnedSemaphorePermit>;

impl Loopback {
    /// Listens on a port; 0 takes a free one.
    pub(crate) async fn listen(port: u16, places: u32) -> Done<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| {
            let what = format!("cannot listen on 127.0.0.1:{port}: {error}");
            Failure::new(Exit::Failed, what).hint("add --port 0 for a free port")
        })?;
        Ok(Self { listener, places: Arc::new(Semaphore::new(places as usize)), count: places })
    }

    /// Its address, such as 127.0.0.1:1025.
    pub(crate) fn address(&self) -> io::Result<String> {
        self.listener.local_addr().map(|address| address.to_string())
    }

    /// Waits for a free place, then for the next connection.
    pub(crate) async fn accept(&self) -> (Place, TcpStream) {
        let place = self.places.clone().acquire_owned().await.ok();
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return (place, stream),
                // For example, no file descriptor is free: wait instead of spinning.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Waits until every place is free.
    pub(crate) async fn all_gone(&self) {
        let _ = self.places.acquire_many(self.count).await;
    }
}
