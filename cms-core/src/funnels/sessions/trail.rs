//! What happened in a session, in its order: the ways that visitors took are counted from it.

use crate::Millis;

/// The visitor went back.
pub(super) const REWOUND: &str = "rewound";

/// What happened in a change.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail(pub(super) Vec<Happened>);

#[derive(Clone, Debug, Default)]
pub(super) struct Happened {
    pub(super) kind: &'static str,
    pub(super) node: Option<i64>,
    pub(super) edge: Option<i64>,
    /// The field of a refused answer.
    pub(super) field: Option<String>,
    /// How long the step was seen.
    pub(super) dwell: Option<Millis>,
    /// When, if that is not the time of the change.
    pub(super) at: Option<Millis>,
}

impl Trail {
    fn add(&mut self, happened: Happened) {
        self.0.push(happened);
    }

    pub(super) fn note(&mut self, kind: &'static str, node: Option<i64>) {
        self.add(Happened { kind, node, ..Happened::default() });
    }

    /// A step was answered so long after it was presented. Nobody knows how long a step was seen
    /// that its visitor went back to.
    pub(super) fn answered(&mut self, node: i64, dwell: Option<Millis>) {
        let dwell = dwell.map(|dwell| dwell.max(0));
        self.add(Happened { kind: "answered", node: Some(node), dwell, ..Happened::default() });
    }

    /// An answer was refused.
    pub(super) fn invalid(&mut self, node: i64, field: &str) {
        let field = Some(field.to_owned());
        self.add(Happened { kind: "invalid", node: Some(node), field, ..Happened::default() });
    }

    /// What was noted last happened at this time.
    pub(super) fn happened_at(&mut self, at: Millis) {
        self.0.iter_mut().rev().take_while(|one| one.at.is_none()).for_each(|one| {
            one.at = Some(at);
        });
    }

    /// An edge was taken from a node.
    pub(super) fn edge(&mut self, edge: i64, from: i64) {
        let (node, edge) = (Some(from), Some(edge));
        self.add(Happened { kind: "edge", node, edge, ..Happened::default() });
    }

    /// The visitor went back to a node: what came after is no part of the path any more.
    pub(super) fn rewound(&mut self, node: i64) {
        self.note(REWOUND, Some(node));
    }
}
