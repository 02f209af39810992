//! The numbers of a funnel, in the form of the reply, with an example. Rates are null where they
//! would divide by 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The numbers of a funnel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelAnalytics", example = example())]
#[non_exhaustive]
pub struct Analytics {
    /// The funnel.
    pub funnel_id: i64,
    /// The version whose visits are counted; null: all versions.
    pub version: Option<i64>,
    /// The days on which the visits began.
    pub range: AnalyticsRange,
    /// All visits of these days.
    pub totals: AnalyticsTotals,
    /// The same number of days before.
    pub previous: AnalyticsBefore,
    /// Steps and ends, by `depth`.
    pub steps: Vec<AnalyticsStep>,
    /// The edges between them.
    pub branches: Vec<AnalyticsBranch>,
    /// Where completed visits ended.
    pub ends: Vec<AnalyticsEnd>,
    /// The visits of each day.
    pub series: Vec<AnalyticsDay>,
    /// Where visitors came from, most first; 50 at most.
    pub sources: Vec<AnalyticsSource>,
    /// What completed visits answered.
    pub fields: Vec<AnalyticsField>,
    /// The states of the visits in the inbox. The five states add up to `totals.started`.
    pub inbox: AnalyticsInbox,
    /// Mails that the visits caused.
    pub mails: AnalyticsMails,
    /// The visited versions, newest first.
    pub versions: Vec<AnalyticsVersion>,
    /// The day of the oldest stored submission; null: none is stored. Numbers of earlier days are
    /// counters only.
    pub retained_from: Option<String>,
}

/// Days, both included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsRange {
    /// `YYYY-MM-DD`.
    pub from: String,
    /// `YYYY-MM-DD`.
    pub to: String,
    /// Number of days.
    pub days: i64,
    /// The funnel's time zone.
    pub tz: String,
}

/// All visits: `started` = `completed` + `abandoned` + `in_progress`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsTotals {
    /// Visits of people.
    pub started: i64,
    /// Visits with an answered step.
    pub engaged: i64,
    /// Completed visits.
    pub completed: i64,
    /// Visits whose visitor left, or did nothing until the visit expired.
    pub abandoned: i64,
    /// Visits that are under way.
    pub in_progress: i64,
    /// Visits of programs, which count nowhere else.
    pub spam: i64,
    /// `completed` of `started`, 0 to 1.
    pub completion_rate: Option<f64>,
    /// `abandoned` of `started`, 0 to 1.
    pub abandon_rate: Option<f64>,
    /// The median duration of completed visits in seconds, exact to 5 %.
    pub median_duration_s: Option<f64>,
    /// The duration in seconds that 90 % of the completed visits do not exceed, exact to 5 %.
    pub p90_duration_s: Option<f64>,
}

/// The period before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsBefore {
    /// Its days.
    pub range: AnalyticsRange,
    /// Its visits.
    pub totals: AnalyticsTotals,
}

/// A step or an end: `entered` = `answered` + `exited` + `waiting`. Steps that a visitor went
/// back past do not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsStep {
    /// The node.
    pub node_id: i64,
    /// Its name.
    pub node_name: String,
    /// `step` or `end`.
    pub node_type: String,
    /// Number of edges on the longest way from the start; null: no edge leads there any more.
    pub depth: Option<i64>,
    /// Visits that reached it.
    pub entered: i64,
    /// Visits that went on from here, or were completed.
    pub answered: i64,
    /// Visits that ended here without completion.
    pub exited: i64,
    /// Visits that are at this node now.
    pub waiting: i64,
    /// How often visitors went back to it.
    pub rewound: i64,
    /// Number of refused answers.
    pub validation_errors: i64,
    /// `exited` of `entered` in percent.
    pub dropoff_pct: Option<f64>,
    /// `entered` of all visits in percent.
    pub reach_pct: Option<f64>,
    /// Average seconds from presentation to answer.
    pub avg_dwell_s: Option<f64>,
    /// The median of these seconds, exact to 5 %.
    pub median_dwell_s: Option<f64>,
    /// The field whose answers were refused most often.
    pub top_error_field: Option<String>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsBranch {
    /// The edge.
    pub edge_id: i64,
    /// Where it begins.
    pub from_node_id: i64,
    /// The name of that node.
    pub from_name: String,
    /// Where it leads.
    pub to_node_id: i64,
    /// The name of that node.
    pub to_name: String,
    /// `default`, `true` or `false`.
    pub branch_label: String,
    /// Visits that took it.
    pub sessions: i64,
    /// Share of the visits that left the node, in percent.
    pub share_pct: Option<f64>,
    /// Completed visits among them.
    pub completed: i64,
    /// Share of the completed visits among them, in percent.
    pub conversion_pct: Option<f64>,
    /// The mean of their scores.
    pub avg_score: Option<f64>,
}

/// Where completed visits ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsEnd {
    /// The node; null: after a step from which no edge leads on.
    pub node_id: Option<i64>,
    /// Its name.
    pub node_name: Option<String>,
    /// `thank_you`, `redirect`, `disqualified` or `booking`.
    pub end_kind: Option<String>,
    /// Completed visits.
    pub sessions: i64,
    /// Share of all completed visits, in percent.
    pub share_pct: Option<f64>,
}

/// Visits that began on a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsDay {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// Visits.
    pub started: i64,
    /// Visits with an answered step.
    pub engaged: i64,
    /// Visits that were completed since.
    pub completed: i64,
    /// Visits that were abandoned since.
    pub abandoned: i64,
}

/// Where visitors came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsSource {
    /// `utm_source` of the link; null: the link had none; `(other)`: all sources not listed here.
    pub utm_source: Option<String>,
    /// Visits.
    pub started: i64,
    /// Completed visits among them.
    pub completed: i64,
    /// Share of the completed visits, 0 to 1.
    pub completion_rate: Option<f64>,
}

/// The answers of completed visits to a field that they came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsField {
    /// Its id.
    pub field: String,
    /// Its type; null: no version has it any more.
    #[serde(rename = "type")]
    pub field_type: Option<String>,
    /// How visitors see it.
    pub label: Option<String>,
    /// Visits with an answer.
    pub answered: i64,
    /// Visits without an answer.
    pub blank: i64,
    /// The ten most frequent answers, if all possible answers are known.
    pub top: Vec<AnalyticsValue>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsValue {
    /// The id of the option, or the number; `other`: texts that visitors wrote themselves.
    pub value: String,
    /// The label of the option.
    pub label: Option<String>,
    /// Visits.
    pub count: i64,
}

/// States of the visits in the inbox, removed visits included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsInbox {
    /// Not triaged yet.
    pub new: i64,
    /// Worth a call.
    pub qualified: i64,
    /// Contacted.
    pub contacted: i64,
    /// Became customers.
    pub converted: i64,
    /// Rejected.
    pub rejected: i64,
    /// Median hours from the start of a visit to its first touch, exact to 5 %.
    pub median_first_touch_h: Option<f64>,
}

/// Mails that visits caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsMails {
    /// Accepted by a provider.
    pub sent: i64,
    /// Given up.
    pub failed: i64,
    /// Visits that match no mail rule.
    pub unmatched: i64,
}

/// A version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AnalyticsVersion {
    /// Its number.
    pub version: i64,
    /// When it was published.
    pub published_at: Option<String>,
    /// Visits.
    pub started: i64,
    /// Completed visits among them.
    pub completed: i64,
}

const DAY: &str = "2026-11-21";

/// Of ten visitors seven answered the step, one left, and two are still at the step.
fn example() -> Analytics {
    let totals = AnalyticsTotals {
        started: 10,
        engaged: 7,
        completed: 7,
        abandoned: 1,
        in_progress: 2,
        spam: 1,
        completion_rate: Some(0.7),
        abandon_rate: Some(0.1),
        median_duration_s: Some(42.0),
        p90_duration_s: Some(95.0),
    };
    let step = AnalyticsStep {
        node_id: 16,
        node_name: "Budget".to_owned(),
        node_type: "step".to_owned(),
        depth: Some(0),
        entered: 10,
        answered: 7,
        exited: 1,
        waiting: 2,
        validation_errors: 3,
        dropoff_pct: Some(10.0),
        reach_pct: Some(100.0),
        avg_dwell_s: Some(48.5),
        median_dwell_s: Some(42.0),
        top_error_field: Some("budget".to_owned()),
        ..AnalyticsStep::default()
    };
    let end = AnalyticsStep {
        node_id: 17,
        node_name: "Thanks".to_owned(),
        node_type: "end".to_owned(),
        depth: Some(1),
        entered: 7,
        answered: 7,
        reach_pct: Some(70.0),
        ..AnalyticsStep::default()
    };
    Analytics {
        funnel_id: 1,
        version: None,
        range: day(DAY),
        totals,
        previous: AnalyticsBefore { range: day("2026-11-20"), totals: AnalyticsTotals::default() },
        steps: vec![step, end],
        branches: vec![AnalyticsBranch {
            edge_id: 21,
            from_node_id: 16,
            from_name: "Budget".to_owned(),
            to_node_id: 17,
            to_name: "Thanks".to_owned(),
            branch_label: "default".to_owned(),
            sessions: 7,
            share_pct: Some(100.0),
            completed: 7,
            conversion_pct: Some(100.0),
            avg_score: None,
        }],
        ends: vec![AnalyticsEnd {
            node_id: Some(17),
            node_name: Some("Thanks".to_owned()),
            end_kind: Some("thank_you".to_owned()),
            sessions: 7,
            share_pct: Some(100.0),
        }],
        series: vec![AnalyticsDay {
            date: DAY.to_owned(),
            started: 10,
            engaged: 7,
            completed: 7,
            abandoned: 1,
        }],
        sources: vec![AnalyticsSource {
            utm_source: Some("mail".to_owned()),
            started: 10,
            completed: 7,
            completion_rate: Some(0.7),
        }],
        fields: vec![AnalyticsField {
            field: "size".to_owned(),
            field_type: Some("single_choice".to_owned()),
            label: Some("Company size".to_owned()),
            answered: 7,
            blank: 0,
            top: vec![AnalyticsValue {
                value: "s".to_owned(),
                label: Some("Up to 10".to_owned()),
                count: 7,
            }],
        }],
        inbox: AnalyticsInbox {
            new: 9,
            qualified: 1,
            median_first_touch_h: Some(3.5),
            ..AnalyticsInbox::default()
        },
        mails: AnalyticsMails { sent: 7, failed: 0, unmatched: 0 },
        versions: vec![AnalyticsVersion {
            version: 1,
            published_at: Some("2026-11-21T08:00:00Z".to_owned()),
            started: 10,
            completed: 7,
        }],
        retained_from: Some(DAY.to_owned()),
    }
}

fn day(day: &str) -> AnalyticsRange {
    let tz = "Europe/Berlin".to_owned();
    AnalyticsRange { from: day.to_owned(), to: day.to_owned(), days: 1, tz }
}
