//! Checks of the machine: clock, open files, disk space

use std::path::{Path, PathBuf};

use cms_core::{
    Clock, Descriptors, rfc3339,
    scripts::Confinement,
    settings::{Confine, Database, Settings},
};
use rustix::fs::statvfs;

use super::checks::Checks;

/// 2026-01-01. An earlier clock is wrong: this program is younger.
const WRITTEN_MS: i64 = 1_767_225_600_000;
const CENTURY_MS: i64 = 100 * 365 * 86_400_000;
const MIB: u64 = 1 << 20;
/// With less, writes fail soon.
const LITTLE: u64 = 100 * MIB;
/// With less, it is time to look for more.
const ENOUGH: u64 = 1024 * MIB;

pub(super) fn clock(checks: &mut Checks) {
    let now = Clock::system().now();
    if (WRITTEN_MS..WRITTEN_MS + CENTURY_MS).contains(&now) {
        checks.ok("clock", rfc3339(now));
    } else {
        checks.fail(
            "clock",
            rfc3339(now),
            "set the clock: expiry of keys and login codes depend on it",
        );
    }
}

/// Whether `cms serve` gets as many open files as its settings need.
pub(super) fn descriptors(checks: &mut Checks, settings: &Settings) {
    let (connections, deliveries) =
        (settings.http.max_connections, settings.webhooks.most_attempts());
    Descriptors::raise(connections, deliveries);
    let shares = Descriptors::shares();
    let wanted = Descriptors::wanted(connections, deliveries);
    if shares.limit >= wanted {
        return checks.ok("open files", format!("{wanted} of {} are needed", shares.limit));
    }
    let found = format!(
        "the limit of {} leaves {} connections, http.max_connections is {connections}",
        shares.limit, shares.connections
    );
    let remedy = format!(
        "raise the hard limit to {wanted}: LimitNOFILE={wanted} for systemd, ulimit -Hn in a shell"
    );
    checks.warn("open files", found, remedy);
}

/// Whether the kernel keeps the scripts of plugins from the secrets of the site.
pub(super) fn scripts(checks: &mut Checks, settings: &Settings) {
    const NAME: &str = "scripts";
    let can = match Confinement::of_kernel() {
        Confinement::None => "this kernel has no Landlock: scripts read whatever the service can",
        Confinement::Files => "scripts see their plugin's folder only, but can send signals",
        Confinement::FilesAndSignals => "scripts see their plugin's folder only",
    };
    let remedy = "Linux 5.13 has Landlock, if it is among lsm= of the kernel's command line; \
                  docs/scripts.md has the rest";
    match (settings.scripts.confine, Confinement::of_kernel()) {
        (Confine::Off, _) => {
            let found = "scripts read whatever the service can: scripts.confine is \"off\"";
            checks.warn(NAME, found, "set scripts.confine to \"auto\"");
        }
        (Confine::Auto, Confinement::None) => checks.warn(NAME, can, remedy),
        (Confine::Require, Confinement::None) => checks.fail(NAME, can, remedy),
        _ => checks.ok(NAME, can),
    }
}

/// Whether there is room where the site writes.
pub(super) fn space(checks: &mut Checks, settings: &Settings) {
    let mut folders = vec![settings.dirs.data.clone(), settings.dirs.media.clone()];
    if let Ok(Database::Sqlite { path, .. }) = settings.database() {
        folders.extend(path.parent().map(Path::to_owned));
    }
    let free = |folder: &PathBuf| {
        let found = statvfs(folder).ok()?;
        Some((found.f_bavail.saturating_mul(found.f_frsize), folder.clone()))
    };
    // A folder that does not exist has its own check.
    let Some((free, folder)) = folders.iter().filter_map(free).min() else { return };
    let found = format!("{} MiB are free in {}", free / MIB, folder.display());
    let remedy = "make room there: without it nothing can be written";
    match free {
        ..LITTLE => checks.fail("disk space", found, remedy),
        LITTLE..ENOUGH => checks.warn("disk space", found, remedy),
        _ => checks.ok("disk space", found),
    }
}
