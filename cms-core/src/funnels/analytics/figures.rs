//! Adds up rows of counters and of visits that are not folded; computes durations. Pure.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    Range, fields,
    shape::{
        Analytics, AnalyticsBefore, AnalyticsBranch, AnalyticsDay, AnalyticsEnd, AnalyticsInbox,
        AnalyticsMails, AnalyticsSource, AnalyticsStep, AnalyticsTotals, AnalyticsVersion,
    },
    sql::{Edge, Node, Scope, Tally, Touched, Visits, Way},
};
use crate::{
    Millis,
    fields::OTHER,
    funnels::{counters::sql::AnswerCounts, definitions::versions::Version},
    rfc3339,
};

/// Maximum number of sources that are shown.
const SOURCES: usize = 50;
/// The name for all other sources.
const OTHERS: &str = "(other)";

/// All that was read of one state of the database.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) visits: Vec<Visits>,
    pub(super) ways: Vec<Way>,
    pub(super) tally: Vec<Tally>,
    pub(super) touched: Vec<Touched>,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// Id, number and time of each version, the newest first.
    pub(super) versions: Vec<(i64, i64, Millis)>,
    /// Visits of the period before.
    pub(super) before: Vec<Visits>,
    pub(super) durations_before: Vec<Tally>,
    /// Answers that are in no counter yet.
    pub(super) counted: AnswerCounts,
    pub(super) newest: Option<Arc<Version>>,
}

impl Figures {
    pub(super) fn analytics(
        &self,
        scope: &Scope,
        range: Range,
        tz: &str,
        retained_from: Option<String>,
    ) -> Analytics {
        let before = totals(&self.before, &self.durations_before);
        let totals = totals(&self.visits, &self.tally);
        let (nodes, edges) = self.places();
        Analytics {
            funnel_id: scope.funnel,
            version: scope.version,
            range: range.analytics_range(tz),
            steps: self.steps(&nodes, totals.started),
            branches: self.branches(&edges),
            ends: self.ends(&nodes, totals.completed),
            series: self.series(range),
            sources: self.sources(),
            fields: fields(&self.tally, &self.counted, self.newest.as_deref()),
            inbox: self.inbox(totals.started),
            mails: self.mails(),
            versions: self.versions(),
            totals,
            previous: AnalyticsBefore { range: range.before().analytics_range(tz), totals: before },
            retained_from,
        }
    }

    /// Visits at each node, and at each edge.
    fn places(&self) -> (HashMap<i64, Way>, HashMap<i64, Way>) {
        let (mut nodes, mut edges) = (HashMap::new(), HashMap::new());
        for way in &self.ways {
            let place: &mut Way = match way.edge {
                0 => nodes.entry(way.node).or_default(),
                edge => edges.entry(edge).or_default(),
            };
            place.add(way);
        }
        (nodes, edges)
    }

    fn newest_id(&self) -> Option<i64> {
        self.versions.first().map(|(id, ..)| *id)
    }

    fn steps(&self, found: &HashMap<i64, Way>, started: i64) -> Vec<AnalyticsStep> {
        let mut dwelt: HashMap<i64, Spread> = HashMap::new();
        let mut refused: HashMap<i64, BTreeMap<&str, i64>> = HashMap::new();
        for one in &self.tally {
            match one.what.as_str() {
                "dwell" => dwelt.entry(one.node).or_default().add(one.bucket, one.visits),
                "invalid" => {
                    let fields = refused.entry(one.node).or_default();
                    *fields.entry(one.name.as_str()).or_default() += one.visits;
                }
                _ => {}
            }
        }
        let worst = |node| {
            let fields: &BTreeMap<&str, i64> = refused.get(&node)?;
            let most = fields.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
            most.map(|(field, _)| (*field).to_owned())
        };
        let none = Way::default();
        let mut steps: Vec<_> = self
            .nodes
            .iter()
            .filter(|node| node.1 != "condition")
            .filter(|node| Some(node.5) == self.newest_id() || found.contains_key(&node.0))
            .map(|(id, kind, name, _, depth, _)| {
                let way = found.get(id).unwrap_or(&none);
                AnalyticsStep {
                    node_id: *id,
                    node_name: name.clone(),
                    node_type: kind.clone(),
                    depth: *depth,
                    entered: way.entered,
                    answered: way.answered,
                    exited: way.exited,
                    waiting: way.waiting,
                    rewound: way.rewound,
                    validation_errors: way.invalid,
                    dropoff_pct: percent(way.exited, way.entered),
                    reach_pct: percent(way.entered, started),
                    avg_dwell_s: mean(way.dwell_ms as f64 / 1000.0, way.dwelt),
                    median_dwell_s: dwelt.get(id).and_then(|spread| spread.seconds(0.5)),
                    top_error_field: worst(*id),
                }
            })
            .collect();
        steps.sort_by_key(|step| (step.depth.unwrap_or(i64::MAX), step.node_id));
        steps
    }

    fn branches(&self, found: &HashMap<i64, Way>) -> Vec<AnalyticsBranch> {
        let name = |id: i64| {
            let node = self.nodes.iter().find(|node| node.0 == id);
            node.map(|node| node.2.clone()).unwrap_or_default()
        };
        let mut leaving: HashMap<i64, i64> = HashMap::new();
        for (edge, from, ..) in &self.edges {
            let passed = found.get(edge).map_or(0, |way| way.traversed);
            *leaving.entry(*from).or_default() += passed;
        }
        let none = Way::default();
        let mut branches: Vec<_> = self
            .edges
            .iter()
            .filter(|edge| Some(edge.4) == self.newest_id() || found.contains_key(&edge.0))
            .map(|(id, from, to, label, _)| {
                let way = found.get(id).unwrap_or(&none);
                AnalyticsBranch {
                    edge_id: *id,
                    from_node_id: *from,
                    from_name: name(*from),
                    to_node_id: *to,
                    to_name: name(*to),
                    branch_label: label.clone(),
                    sessions: way.traversed,
                    share_pct: percent(way.traversed, leaving[from]),
                    completed: way.completed,
                    conversion_pct: percent(way.completed, way.traversed),
                    avg_score: mean(way.score, way.scored),
                }
            })
            .collect();
        branches.sort_by_key(|branch| (branch.from_node_id, branch.edge_id));
        branches
    }

    fn ends(&self, found: &HashMap<i64, Way>, completed: i64) -> Vec<AnalyticsEnd> {
        let mut ends = Vec::new();
        for (id, kind, name, end_kind, _, version) in &self.nodes {
            let sessions = found.get(id).map_or(0, |way| way.completed);
            if kind == "end" && (Some(*version) == self.newest_id() || sessions > 0) {
                ends.push(AnalyticsEnd {
                    node_id: Some(*id),
                    node_name: Some(name.clone()),
                    end_kind: end_kind.clone(),
                    sessions,
                    share_pct: percent(sessions, completed),
                });
            }
        }
        let elsewhere = completed - ends.iter().map(|end| end.sessions).sum::<i64>();
        if elsewhere > 0 {
            let (sessions, share_pct) = (elsewhere, percent(elsewhere, completed));
            let (node_id, node_name, end_kind) = (None, None, None);
            ends.push(AnalyticsEnd { node_id, node_name, end_kind, sessions, share_pct });
        }
        ends.sort_by_key(|end| (std::cmp::Reverse(end.sessions), end.node_id));
        ends
    }

    /// Each day, also those without visits.
    fn series(&self, range: Range) -> Vec<AnalyticsDay> {
        let mut days: BTreeMap<String, AnalyticsDay> = range
            .each()
            .map(|date| (date.clone(), AnalyticsDay { date, ..AnalyticsDay::default() }))
            .collect();
        for visits in &self.visits {
            if let Some(day) = days.get_mut(&visits.day) {
                day.started += visits.started;
                day.engaged += visits.engaged;
                day.completed += visits.completed;
                day.abandoned += visits.abandoned;
            }
        }
        days.into_values().collect()
    }

    fn sources(&self) -> Vec<AnalyticsSource> {
        let mut found: BTreeMap<Option<&str>, (i64, i64)> = BTreeMap::new();
        for one in self.tally.iter().filter(|one| one.what == "source") {
            let name = match (one.name.as_str(), one.value.as_str()) {
                (_, OTHER) => Some(OTHERS),
                ("", _) => None,
                (name, _) => Some(name),
            };
            let source = found.entry(name).or_default();
            *source = (source.0 + one.visits, source.1 + one.completed);
        }
        let mut others = found.remove(&Some(OTHERS)).unwrap_or_default();
        let mut sorted: Vec<_> = found.into_iter().collect();
        sorted.sort_by_key(|(_, (started, _))| std::cmp::Reverse(*started));
        for (_, (started, completed)) in sorted.drain(sorted.len().min(SOURCES)..) {
            others = (others.0 + started, others.1 + completed);
        }
        if others.0 > 0 {
            sorted.push((Some(OTHERS), others));
        }
        let told = |(name, (started, completed)): (Option<&str>, (i64, i64))| AnalyticsSource {
            utm_source: name.map(str::to_owned),
            started,
            completed,
            completion_rate: rate(completed, started),
        };
        sorted.into_iter().map(told).collect()
    }

    /// Submissions in no other state count as new.
    fn inbox(&self, started: i64) -> AnalyticsInbox {
        let mut inbox = AnalyticsInbox { new: started, ..AnalyticsInbox::default() };
        let mut touched = Spread::default();
        let mut moved = |state: &str, number: i64| {
            let place = match state {
                "qualified" => &mut inbox.qualified,
                "contacted" => &mut inbox.contacted,
                "converted" => &mut inbox.converted,
                "rejected" => &mut inbox.rejected,
                _ => return,
            };
            *place += number;
            inbox.new -= number;
        };
        for (state, bucket, number) in &self.touched {
            moved(state, *number);
            if let Some(bucket) = bucket {
                touched.add(*bucket, *number);
            }
        }
        for one in &self.tally {
            match one.what.as_str() {
                "inbox" => moved(&one.name, one.visits),
                "touch" => touched.add(one.bucket, one.visits),
                _ => {}
            }
        }
        inbox.median_first_touch_h = touched.seconds(0.5).map(|seconds| round(seconds / 3600.0));
        inbox
    }

    fn mails(&self) -> AnalyticsMails {
        let mut mails = AnalyticsMails::default();
        for one in self.tally.iter().filter(|one| one.what == "mail") {
            match one.name.as_str() {
                "sent" => mails.sent += one.visits,
                "failed" => mails.failed += one.visits,
                _ => mails.unmatched += one.visits,
            }
        }
        mails
    }

    fn versions(&self) -> Vec<AnalyticsVersion> {
        let mut found: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for visits in &self.visits {
            let version = found.entry(visits.version).or_default();
            *version = (version.0 + visits.started, version.1 + visits.completed);
        }
        let published = |number: i64| {
            let version = self.versions.iter().find(|(_, version, _)| *version == number);
            version.map(|(.., at)| rfc3339(*at))
        };
        let told = |(version, (started, completed))| AnalyticsVersion {
            version,
            published_at: published(version),
            started,
            completed,
        };
        found.into_iter().rev().map(told).collect()
    }
}

impl Way {
    fn add(&mut self, other: &Self) {
        self.entered += other.entered;
        self.answered += other.answered;
        self.exited += other.exited;
        self.waiting += other.waiting;
        self.rewound += other.rewound;
        self.invalid += other.invalid;
        self.dwell_ms += other.dwell_ms;
        self.dwelt += other.dwelt;
        self.traversed += other.traversed;
        self.completed += other.completed;
        self.scored += other.scored;
        self.score += other.score;
    }
}

fn totals(visits: &[Visits], tally: &[Tally]) -> AnalyticsTotals {
    let mut took = Spread::default();
    for one in tally.iter().filter(|one| one.what == "duration") {
        took.add(one.bucket, one.visits);
    }
    let mut totals = AnalyticsTotals::default();
    for one in visits {
        totals.started += one.started;
        totals.engaged += one.engaged;
        totals.completed += one.completed;
        totals.abandoned += one.abandoned;
        totals.in_progress += one.in_progress;
        totals.spam += one.spam;
    }
    AnalyticsTotals {
        completion_rate: rate(totals.completed, totals.started),
        abandon_rate: rate(totals.abandoned, totals.started),
        median_duration_s: took.seconds(0.5),
        p90_duration_s: took.seconds(0.9),
        ..totals
    }
}

/// A share from 0 to 1; None if the whole is 0.
fn rate(part: i64, whole: i64) -> Option<f64> {
    (whole != 0).then(|| round(part as f64 / whole as f64))
}

fn percent(part: i64, whole: i64) -> Option<f64> {
    (whole != 0).then(|| round(100.0 * part as f64 / whole as f64))
}

fn mean(sum: f64, number: i64) -> Option<f64> {
    (number != 0).then(|| round(sum / number as f64))
}

/// Rounds to four decimal places.
fn round(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

/// Numbers of visits by duration: in milliseconds, rounded down to two significant digits.
#[derive(Clone, Debug, Default)]
struct Spread(BTreeMap<i64, i64>);

impl Spread {
    pub(super) fn add(&mut self, bucket: i64, number: i64) {
        *self.0.entry(bucket).or_default() += number;
    }

    /// The seconds that this part of all visits did not exceed. A bucket is at most a tenth of its
    /// value wide, so its middle is exact to 5 %.
    fn seconds(&self, part: f64) -> Option<f64> {
        let all: i64 = self.0.values().sum();
        if all <= 0 {
            return None;
        }
        let wanted = (part * all as f64).ceil() as i64;
        let mut passed = 0;
        let found = self.0.iter().find(|(_, number)| {
            passed += **number;
            passed >= wanted
        });
        found.map(|(bucket, _)| middle(*bucket) as f64 / 1000.0)
    }
}

fn middle(bucket: i64) -> i64 {
    let digits = bucket.max(1).ilog10();
    bucket + 10_i64.pow(digits.saturating_sub(1)) / 2
}

#[cfg(test)]
mod tests;
