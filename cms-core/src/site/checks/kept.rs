//! The checks of a running site, and what they found last.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Mutex, task::JoinHandle, time::timeout};

use super::{Asked, Door, Finding, LIMIT, Level, Opening, ask};
use crate::{Cms, Millis, settings::Settings};

/// Whoever asks within this time after another gets the same answer.
const FRESH_MS: Millis = 1_000;
/// `/readyz` tells what was found so long ago at most, when somebody asks it all the time.
const KEPT_MS: Millis = 10_000;
/// What was found so long ago is old: nobody has asked lately.
const OLD_MS: Millis = 3 * KEPT_MS;
/// How long a caller of `/readyz` waits where nothing was found yet, or only what is old.
const RENEWAL: Duration = Duration::from_millis(500);

/// What was found last.
#[derive(Default)]
pub(in crate::site) struct LastFindings {
    last: ArcSwapOption<(Millis, Vec<Finding>)>,
    /// Held while the checks run: one run at a time.
    turn: Arc<Mutex<()>>,
    pub(super) looks: Looks,
}

/// Looks at disks that have not ended. A disk that hangs keeps one thread for each check, however
/// often it is asked.
#[derive(Clone, Default)]
pub(super) struct Looks(Arc<std::sync::Mutex<BTreeSet<&'static str>>>);

impl Looks {
    fn under_way(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to look in a thread; None while the look before is under way.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        id: &'static str,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        if !self.under_way().insert(id) {
            return None;
        }
        let ends = Ends(self.clone(), id);
        Some(tokio::task::spawn_blocking(move || {
            let _ends = ends;
            look()
        }))
    }
}

struct Ends(Looks, &'static str);

impl Drop for Ends {
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
    /// Asks all checks that a running site can answer, or tells what was found a second ago.
    pub async fn status(&self) -> Vec<Finding> {
        let _turn = self.0.kept.turn.lock().await;
        match self.0.kept.within(self.clock().now(), FRESH_MS) {
            Some(last) => last.1.clone(),
            None => self.ask_now().await,
        }
    }

    /// What is not well, as far as it was found lately: the level of each check. Costs nothing: at
    /// most once in ten seconds it begins to ask anew. It waits for that only when what is known is
    /// older than 30 s, for half a second at most. None: nothing was asked so far.
    pub async fn known_troubles(&self) -> Option<BTreeMap<String, Level>> {
        let (kept, now) = (&self.0.kept, self.clock().now());
        if kept.within(now, KEPT_MS).is_none() {
            self.renew();
        }
        if kept.within(now, OLD_MS).is_none() {
            // Whoever asks holds the turn.
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

    /// Begins to ask, unless somebody does so already.
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
        // Where the folder hangs, the checks of it say so.
        let files = match self.0.kept.looks.begin("settings", read) {
            Some(look) => timeout(LIMIT, look).await.ok().and_then(Result::ok).flatten(),
            None => None,
        };
        let asked = Asked { settings, files, opening: Opening::Open(self.clone()) };
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
        let looks = Looks::default();
        let (release, held) = mpsc::channel::<()>();
        let hangs = looks.begin("disk", move || held.recv().is_err()).expect("the first");
        assert!(looks.begin("disk", || ()).is_none());
        // Others are not kept up by it.
        looks.begin("media", || ()).expect("another").await.expect("it ends");
        drop(release);
        assert!(hangs.await.expect("it ends"));
        let panics = looks.begin("disk", || panic!("no disk")).expect("it may look again");
        panics.await.expect_err("a panic");
        looks.begin("disk", || ()).expect("again").await.expect("it ends");
    }
}
