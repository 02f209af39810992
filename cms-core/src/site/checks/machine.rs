//! Checks of the machine: clock, disk space, open files, the port.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::statvfs;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{
    CheckInput,
    finding::{Findings, word},
};
use crate::{
    Clock, Descriptors, Result, rfc3339,
    scripts::Confinement,
    settings::{Confine, Database},
};

/// 2026-01-01. An earlier clock is wrong, because this program is newer.
const WRITTEN_MS: i64 = 1_767_225_600_000;
const CENTURY_MS: i64 = 100 * 365 * 86_400_000;
const MIB: u64 = 1 << 20;
/// With less free space, writes will fail soon.
const LITTLE: u64 = 100 * MIB;
/// With less free space, the operator should add some.
const ENOUGH: u64 = 1024 * MIB;
/// How long a program that listens there may take to identify itself.
const ANSWER: Duration = Duration::from_secs(2);

pub(super) fn clock(_: &CheckInput, found: &mut Findings) {
    let now = Clock::system().now();
    if (WRITTEN_MS..WRITTEN_MS + CENTURY_MS).contains(&now) {
        return found.ok(rfc3339(now));
    }
    found.error(rfc3339(now), "set the clock: expiry of keys and login codes depend on it");
}

/// Whether the site's folders have free disk space.
pub(super) fn space(asked: &CheckInput, found: &mut Findings) {
    let dirs = &asked.settings.dirs;
    let mut folders = vec![dirs.data.clone(), dirs.media.clone()];
    if let Ok(Database::Sqlite { path, .. }) = asked.settings.database() {
        folders.extend(path.parent().map(Path::to_owned));
    }
    let free = |folder: &PathBuf| {
        let found = statvfs(folder).ok()?;
        Some((found.f_bavail.saturating_mul(found.f_frsize), folder.clone()))
    };
    // A separate check reports a missing folder.
    let Some((free, folder)) = folders.iter().filter_map(free).min() else { return };
    let what = format!("{} MiB are free in {}", free / MIB, folder.display());
    let remedy = format!(
        "make room there, or let dirs.data and dirs.media name a larger disk; `du -xh {} | sort -h \
         | tail` shows what is large",
        word(&folder)
    );
    match free {
        ..LITTLE => found.error(what, remedy),
        LITTLE..ENOUGH => found.warning(what, remedy),
        _ => found.ok(what),
    }
}

/// Whether `cms serve` can open as many files as its settings need.
pub(super) fn descriptors(asked: &CheckInput, found: &mut Findings) {
    let connections = asked.settings.http.max_connections;
    let deliveries = asked.settings.webhooks.most_attempts();
    Descriptors::raise(connections, deliveries);
    let shares = Descriptors::shares();
    let wanted = Descriptors::wanted(connections, deliveries);
    if shares.limit >= wanted {
        return found.ok(format!("{wanted} of {} are needed", shares.limit));
    }
    let what = format!(
        "the limit of {} leaves {} connections, http.max_connections is {connections}",
        shares.limit, shares.connections
    );
    let remedy = format!(
        "raise the hard limit to {wanted}: LimitNOFILE={wanted} for systemd, ulimit -Hn in a shell"
    );
    found.warning(what, remedy);
}

/// Whether `cms serve` could listen, or is already listening.
pub(super) async fn listen(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let listen = &asked.settings.listen;
    let error = match TcpListener::bind(listen).await {
        Ok(_) => {
            found.ok(format!("{listen} is free"));
            return Ok(());
        }
        Err(error) => error,
    };
    let answer = tokio::time::timeout(ANSWER, is_cms(listen));
    if error.kind() == ErrorKind::AddrInUse && matches!(answer.await, Ok(Ok(true))) {
        found.ok(format!("`cms serve` already runs at {listen}"));
        return Ok(());
    }
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => "end the other program, or set listen to another port",
        ErrorKind::PermissionDenied => "set listen to a port from 1024 on, behind a proxy",
        _ => "set listen to HOST:PORT with an address of this machine",
    };
    found.error(format!("{listen}: {error}"), remedy);
    Ok(())
}

/// Whether a cms answers there. A cms also answers for a host name that it does not serve, with
/// its own refusal.
async fn is_cms(address: &str) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let ask = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).await?;
    let mut reply = Vec::new();
    stream.take(16 << 10).read_to_end(&mut reply).await?;
    let reply = String::from_utf8_lossy(&reply);
    let is_alive = reply.contains(r#""status":"ok""#) && reply.contains(r#""version":"#);
    Ok(is_alive || reply.contains("urn:cms:error:"))
}

/// Whether the kernel keeps scripts of plugins from reading the site's secrets.
pub(super) fn scripts(asked: &CheckInput, found: &mut Findings) {
    let confinement = Confinement::of_kernel();
    let can = match confinement {
        Confinement::None => "this kernel has no Landlock: scripts read whatever the service can",
        Confinement::Files => "scripts see their plugin's folder only, but can send signals",
        Confinement::FilesAndSignals => "scripts see their plugin's folder only",
    };
    let remedy = "Linux 5.13 has Landlock, if it is among lsm= of the kernel's command line; \
                  docs/scripts.md has the rest";
    match (asked.settings.scripts.confine, confinement) {
        (Confine::Off, _) => found.warning(
            "scripts read whatever the service can: scripts.confine is \"off\"",
            "set scripts.confine to \"auto\"",
        ),
        (Confine::Auto, Confinement::None) => found.warning(can, remedy),
        (Confine::Require, Confinement::None) => found.error(can, remedy),
        _ => found.ok(can),
    }
}
