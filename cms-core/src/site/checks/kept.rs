//! Runs the checks in a running site and keeps their last findings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Mutex, task::JoinHandle, time::timeout};

use super::{CheckInput, Door, Finding, LIMIT, Level, Opening, ask};
use crate::{Cms, Millis, settings::Settings};

/// A second call within this time gets the same findings.
const FRESH_MS: Millis = 1_000;
/// Maximum age of the findings in `/readyz`, if it is requested continuously.
const KEPT_MS: Millis = 10_000;
/// Findings of this age are old: there was no request lately.
const OLD_MS: Millis = 3 * KEPT_MS;
/// How long a request of `/readyz` waits when there are no findings, or only old ones.
const RENEWAL: Duration = Duration::from_millis(500);

/// The last findings.
#[derive(Default)]
pub(in crate::site) struct LastFindings {
    last: ArcSwapOption<(Millis, Vec<Finding>)>,
    /// Held while the checks run: one run at a time.
    turn: Arc<Mutex<()>>,
    pub(super) disk_checks: DiskChecks,
}

/// Disk checks that have not ended. A hanging disk blocks one thread for each check, however often
/// the check is requested.
#[derive(Clone, Default)]
pub(super) struct DiskChecks(Arc<std::sync::Mutex<BTreeSet<&'static str>>>);

impl DiskChecks {
    fn under_way(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a disk check in a thread. `None`: the previous one has not ended.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        id: &'static str,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        if !self.under_way().insert(id) {
            return None;
        }
        let ends = EndOnDrop(self.clone(), id);
        Some(tokio::task::spawn_blocking(move || {
            let _ends = ends;
            look()
        }))
    }
}

struct EndOnDrop(DiskChecks, &'static str);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.under_way().remove(self.1);
    }
}

impl LastFindings {
    fn within(&self, now: Millis, age_ms: Millis) -> Option<Arc<(Millis, Vec<Finding>)>> {
        self.last.load_full().filter(|last| (now - last.0).abs() < age_ms)
    }
}

impl Cms {
    /// Runs all checks that a running site can answer, or returns findings that are at most a
    /// second old.
    pub async fn status(&self) -> Vec<Finding> {
        let _turn = self.0.kept.turn.lock().await;
        match self.0.kept.within(self.clock().now(), FRESH_MS) {
            Some(last) => last.1.clone(),
            None => self.ask_now().await,
        }
    }

    /// The checks whose last findings were not `ok`, each with its level. Returns kept findings,
    /// and starts new checks at most once in ten seconds. Waits for these only if the findings are
    /// older than 30 s, and for half a second at most. `None`: there are no findings yet.
    pub async fn known_troubles(&self) -> Option<BTreeMap<String, Level>> {
        let (kept, now) = (&self.0.kept, self.clock().now());
        if kept.within(now, KEPT_MS).is_none() {
            self.renew();
        }
        if kept.within(now, OLD_MS).is_none() {
            // A run of the checks holds the turn.
            let _ = timeout(RENEWAL, kept.turn.lock()).await;
        }
        let last = kept.last.load_full()?;
        let mut troubles = BTreeMap::new();
        for finding in last.1.iter().filter(|finding| finding.level > Level::Ok) {
            let level = troubles.entry(finding.check.clone()).or_insert(finding.level);
            *level = finding.level.max(*level);
        }
        Some(troubles)
    }

    /// Starts the checks, unless they are already running.
    fn renew(&self) {
        let Ok(turn) = self.0.kept.turn.clone().try_lock_owned() else { return };
        let cms = self.clone();
        tokio::spawn(async move {
            cms.ask_now().await;
            drop(turn);
        });
    }

    async fn ask_now(&self) -> Vec<Finding> {
        let settings = self.settings().clone();
        let folder = settings.folder.clone();
        let variables = settings.variables.clone();
        let variables =
            variables.into_iter().map(|(name, value)| (name, value.expose().to_owned()));
        let read = move || folder.map(|folder| Settings::load(&folder, variables, &[]));
        // If the folder hangs, its own checks report that.
        let files = match self.0.kept.disk_checks.begin("settings", read) {
            Some(look) => timeout(LIMIT, look).await.ok().and_then(Result::ok).flatten(),
            None => None,
        };
        let asked = CheckInput { settings, files, opening: Opening::Open(self.clone()) };
        let findings = ask(Arc::new(asked), Door::Status).await;
        self.0.kept.last.store(Some(Arc::new((self.clock().now(), findings.clone()))));
        findings
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_look_that_hangs_keeps_one_thread_however_often_somebody_asks() {
        let checks = DiskChecks::default();
        let (release, held) = mpsc::channel::<()>();
        let hangs = checks.begin("disk", move || held.recv().is_err()).expect("the first");
        assert!(checks.begin("disk", || ()).is_none());
        // A hanging disk does not hold up other checks.
        checks.begin("media", || ()).expect("another").await.expect("it ends");
        drop(release);
        assert!(hangs.await.expect("it ends"));
        let panics = checks.begin("disk", || panic!("no disk")).expect("it may look again");
        panics.await.expect_err("a panic");
        checks.begin("disk", || ()).expect("again").await.expect("it ends");
    }
}
