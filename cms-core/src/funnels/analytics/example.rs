//! An example of the numbers of a funnel, for documents: one step and an end, on one day.

use super::shape::{
    Analytics, AnalyticsBefore, AnalyticsBranch, AnalyticsDay, AnalyticsEnd, AnalyticsField,
    AnalyticsInbox, AnalyticsMails, AnalyticsRange, AnalyticsSource, AnalyticsStep,
    AnalyticsTotals, AnalyticsValue, AnalyticsVersion,
};

const DAY: &str = "2026-11-21";

/// Of ten visitors seven answered the step, one left, two stand there.
pub(super) fn example() -> Analytics {
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
