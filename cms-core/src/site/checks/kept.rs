//! The checks of a running site, and what they found last.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use tokio::sync::Mutex;

use super::{Asked, Door, Finding, Level, Opening, ask};
use crate::{Cms, Millis, settings::Settings};

/// Whoever asks within this time after another gets the same answer.
const FRESH_MS: Millis = 1_000;
/// `/readyz` tells what was found so long ago at most, when somebody asks it all the time.
const KEPT_MS: Millis = 10_000;
/// How long the first caller of `/readyz` waits; all others wait for nothing.
const FIRST: Duration = Duration::from_millis(500);

/// What was found last.
#[derive(Default)]
pub(in crate::site) struct Kept {
    last: ArcSwapOption<(Millis, Vec<Finding>)>,
    /// Held while the checks run: one run at a time.
    turn: Arc<Mutex<()>>,
}

impl Kept {
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
    /// most once in ten seconds it begins to ask anew. None: nothing was asked so far.
    pub async fn known_troubles(&self) -> Option<BTreeMap<String, Level>> {
        let kept = &self.0.kept;
        if kept.within(self.clock().now(), KEPT_MS).is_none()
            && let Ok(turn) = kept.turn.clone().try_lock_owned()
        {
            let (cms, is_first) = (self.clone(), kept.last.load().is_none());
            let asking = tokio::spawn(async move {
                cms.ask_now().await;
                drop(turn);
            });
            if is_first {
                let _ = tokio::time::timeout(FIRST, asking).await;
            }
        }
        let last = kept.last.load_full()?;
        let mut troubles = BTreeMap::new();
        for finding in last.1.iter().filter(|finding| finding.level > Level::Ok) {
            let level = troubles.entry(finding.check.clone()).or_insert(finding.level);
            *level = finding.level.max(*level);
        }
        Some(troubles)
    }

    async fn ask_now(&self) -> Vec<Finding> {
        let settings = self.settings().clone();
        let folder = settings.folder.clone();
        let variables = settings.variables.clone();
        let variables =
            variables.into_iter().map(|(name, value)| (name, value.expose().to_owned()));
        let read = move || folder.map(|folder| Settings::load(&folder, variables, &[]));
        let files = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        let asked = Asked { settings, files, opening: Opening::Open(self.clone()) };
        let findings = ask(Arc::new(asked), Door::Status).await;
        self.0.kept.last.store(Some(Arc::new((self.clock().now(), findings.clone()))));
        findings
    }
}
