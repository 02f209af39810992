//! A session as stored: where a visitor stands, and what was answered so far. The trail holds what
//! happened, in order; the ways of visitors are counted from the trail.

use serde_json::{Map, Value as Json};

use crate::{Millis, conditions::Surroundings};

/// Where a visit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    InProgress,
    Completed,
    Abandoned,
}

impl Status {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    pub(super) fn named(name: &str) -> Self {
        match name {
            "completed" => Self::Completed,
            "abandoned" => Self::Abandoned,
            _ => Self::InProgress,
        }
    }
}

/// A session. The database holds its uuid, which is the visitor's secret.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) id: i64,
    pub(super) funnel: i64,
    pub(super) version: i64,
    pub(super) uuid: String,
    pub(super) rev: i64,
    pub(super) status: Status,
    pub(super) language: String,
    /// The nodes that were presented, beginning with the start.
    pub(super) path: Vec<i64>,
    pub(super) answers: Map<String, Json>,
    /// The node that is presented now. None: no edge leads on from the last step.
    pub(super) current: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) end_kind: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) source_url: Option<String>,
    pub(super) referer: Option<String>,
    pub(super) utm: [Option<String>; 5],
    pub(super) host: Option<String>,
    pub(super) is_spam: bool,
    /// Whether this is an author's test visit.
    pub(super) is_test: bool,
    pub(super) started_at: Millis,
    pub(super) last_activity_at: Millis,
    /// When the present node was presented.
    pub(super) presented_at: Millis,
    pub(super) completed_at: Option<Millis>,
    pub(super) abandoned_at: Option<Millis>,
    /// Whether the event and the mails of an abandonment were sent.
    pub(super) abandoned_told: bool,
    pub(super) expires_at: Millis,
    /// Whether the visit is folded into the counters: a folded visit is over.
    pub(super) folded: bool,
    pub(super) mail_rule: Option<i64>,
    pub(super) mail_status: Option<String>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Session");
        shown.field("id", &self.id).field("path", &self.path).finish_non_exhaustive()
    }
}

/// The names of the parts of a campaign, as `utm_source` without its beginning.
pub(super) const UTM: [&str; 5] = ["source", "medium", "campaign", "term", "content"];

impl Session {
    /// What conditions see beside the answers. Their time is the start of the visit, so that the
    /// way does not change during the visit.
    pub(super) fn around(&self, zone: jiff::tz::TimeZone) -> Surroundings {
        let utm = UTM.into_iter().zip(&self.utm);
        let utm = utm.filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into())));
        Surroundings::at(self.started_at)
            .zone(zone)
            .language(&self.language)
            .session(&self.uuid)
            .utm(utm.collect())
    }

    /// Whether the session raises no event and sends no mail.
    pub(super) const fn is_silent(&self) -> bool {
        self.is_spam || self.is_test
    }

    /// Whether the event and the mails of an abandonment are still to be sent.
    pub(super) const fn is_untold(&self) -> bool {
        !self.abandoned_told && !self.is_silent()
    }

    /// The answered steps: the path without the present step or end. Only their answers count:
    /// after going back, the present step still holds earlier ones.
    pub(super) fn answered(&self) -> &[i64] {
        match self.path.split_last() {
            Some((last, before)) if self.current == Some(*last) => before,
            _ => &self.path,
        }
    }
}

/// The visitor went back.
pub(super) const REWOUND: &str = "rewound";

/// What happened in a change.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail(pub(super) Vec<TrailEntry>);

#[derive(Clone, Debug, Default)]
pub(super) struct TrailEntry {
    pub(super) kind: &'static str,
    pub(super) node: Option<i64>,
    pub(super) edge: Option<i64>,
    /// The field of a refused answer.
    pub(super) field: Option<String>,
    /// How long the step was seen.
    pub(super) dwell: Option<Millis>,
    /// When it happened; None: at the time of the change.
    pub(super) at: Option<Millis>,
}

impl Trail {
    fn add(&mut self, happened: TrailEntry) {
        self.0.push(happened);
    }

    pub(super) fn note(&mut self, kind: &'static str, node: Option<i64>) {
        self.add(TrailEntry { kind, node, ..TrailEntry::default() });
    }

    /// A step was answered, `dwell` after it was presented. None for a step that the visitor went
    /// back to: it is not known how long the visitor saw it.
    pub(super) fn answered(&mut self, node: i64, dwell: Option<Millis>) {
        let dwell = dwell.map(|dwell| dwell.max(0));
        self.add(TrailEntry { kind: "answered", node: Some(node), dwell, ..TrailEntry::default() });
    }

    /// An answer was refused.
    pub(super) fn invalid(&mut self, node: i64, field: &str) {
        let field = Some(field.to_owned());
        self.add(TrailEntry { kind: "invalid", node: Some(node), field, ..TrailEntry::default() });
    }

    /// Sets the time of the last entries that have none.
    pub(super) fn happened_at(&mut self, at: Millis) {
        self.0.iter_mut().rev().take_while(|one| one.at.is_none()).for_each(|one| {
            one.at = Some(at);
        });
    }

    /// An edge was taken from a node.
    pub(super) fn edge(&mut self, edge: i64, from: i64) {
        let (node, edge) = (Some(from), Some(edge));
        self.add(TrailEntry { kind: "edge", node, edge, ..TrailEntry::default() });
    }

    /// The visitor went back to a node: later nodes are no longer part of the path.
    pub(super) fn rewound(&mut self, node: i64) {
        self.note(REWOUND, Some(node));
    }
}
