//! Whether the site answers, how data comes and how old it is.

use super::{Model, Shown};
use crate::theme::Role;

/// Screens of what changes without a commit.
const UNSTORED: [&str; 3] = ["limits", "login", "system"];
/// Seconds between two looks at what is read anyway when something happens: time passes too, and
/// keys expire.
const FED_S: i64 = 30;

/// Whether the site answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Link {
    #[default]
    Connecting,
    Up,
    /// Nobody answers, for this reason; what is shown may be old.
    Offline(String),
}

impl Model {
    /// How the data of this screen comes and how old it is.
    pub(crate) fn freshness(&self) -> (Role, String) {
        let Some(shown) = self.stack.last() else { return (Role::Quiet, String::new()) };
        let age = shown.answered_at.map(|at| (self.now - at) / 1000);
        let poll = self.poll_s(shown);
        match (&self.link, age) {
            (Link::Offline(_), Some(age)) => {
                (Role::Bad, format!("✗ offline, {} old", crate::moment::span(age)))
            }
            (Link::Offline(_), None) => (Role::Bad, "✗ offline".to_owned()),
            (Link::Connecting, _) | (_, None) => (Role::Quiet, "○ loading".to_owned()),
            (_, Some(age)) if age > 3 * poll.max(2) => {
                (Role::Warn, format!("◐ stale {}", crate::moment::span(age)))
            }
            _ if self.is_fed(shown) => (Role::Good, "● live".to_owned()),
            _ => (Role::Quiet, format!("◌ polled {poll}s")),
        }
    }

    fn is_fed(&self, shown: &Shown) -> bool {
        let name = shown.screen.subject()["name"].as_str().unwrap_or_default();
        let is_stored = !UNSTORED.contains(&shown.screen.noun());
        (self.is_watched && is_stored)
            || (self.is_live && shown.screen.follows(&format!("item.{name}.updated")))
    }

    /// Seconds between two looks. A local site is asked more often: it costs no round trip.
    pub(super) fn poll_s(&self, shown: &Shown) -> i64 {
        match (self.is_fed(shown), self.is_local) {
            (true, _) => shown.screen.poll_s().max(FED_S),
            (_, true) => shown.screen.poll_s().min(1),
            _ => shown.screen.poll_s(),
        }
    }
}
