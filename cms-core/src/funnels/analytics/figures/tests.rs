use jiff::tz::TimeZone;

use super::*;

fn scope() -> (Scope, Range) {
    let range = Range::read(Some("2026-03-28"), Some("2026-03-30"), 0, &TimeZone::UTC);
    let range = range.expect("a range");
    let (from, to) = range.bounds();
    (Scope { funnel: 1, from, to, version: None, now: 0 }, range)
}

#[test]
fn without_visits_days_are_zero_and_rates_null() {
    let (scope, range) = scope();
    let nodes = vec![
        (1, "step".to_owned(), "who".to_owned(), None, Some(0), 9),
        (2, "end".to_owned(), "thanks".to_owned(), Some("thank_you".to_owned()), Some(1), 9),
        (3, "step".to_owned(), "gone".to_owned(), None, None, 8),
    ];
    let edges = vec![(5, 1, 2, "default".to_owned(), 9)];
    let versions = vec![(9, 2, 0), (8, 1, 0)];
    let read = Figures { nodes, edges, versions, ..Figures::default() };
    let told = read.analytics(&scope, range, "Europe/Berlin", None);
    assert_eq!(told.totals, AnalyticsTotals::default());
    let days: Vec<_> = told.series.iter().map(|day| (&*day.date, day.started)).collect();
    assert_eq!(days, [("2026-03-28", 0), ("2026-03-29", 0), ("2026-03-30", 0)]);
    let steps: Vec<_> = told.steps.iter().map(|step| (step.node_id, step.reach_pct)).collect();
    assert_eq!(steps, [(1, None), (2, None)], "what the newest version has");
    assert_eq!((told.branches[0].share_pct, told.ends[0].share_pct), (None, None));
    assert_eq!((told.previous.range.from.as_str(), told.previous.range.days), ("2026-03-25", 3));
    assert_eq!((told.range.tz.as_str(), told.sources.len()), ("Europe/Berlin", 0));
    assert_eq!(told.inbox, AnalyticsInbox::default());
}

#[test]
fn counters_and_visits_that_are_not_folded_add_up() {
    let (scope, range) = scope();
    let visits = |day: &str, numbers: [i64; 6]| {
        let [started, engaged, completed, abandoned, spam, in_progress] = numbers;
        let (version, day) = (1, day.to_owned());
        Visits { version, day, started, engaged, completed, abandoned, spam, in_progress }
    };
    let tally = |what: &str, name: &str, bucket, visits| Tally {
        what: what.to_owned(),
        name: name.to_owned(),
        bucket,
        visits,
        completed: visits / 2,
        ..Tally::default()
    };
    let read = Figures {
        visits: vec![
            visits("2026-03-28", [4, 3, 2, 2, 1, 0]),
            visits("2026-03-30", [4, 2, 1, 2, 0, 1]),
        ],
        tally: vec![
            tally("duration", "", 60_000, 2),
            tally("duration", "", 99_000, 1),
            tally("source", "fair", 0, 2),
            tally("source", "fair", 0, 1),
            tally("source", "", 0, 5),
            tally("inbox", "rejected", 0, 2),
            tally("inbox", "new", 0, 1),
            tally("touch", "", 7_200_000, 3),
            tally("mail", "unmatched", 0, 1),
        ],
        touched: vec![("new".to_owned(), Some(10), 1), ("converted".to_owned(), None, 1)],
        ..Figures::default()
    };
    let told = read.analytics(&scope, range, "UTC", None);
    let totals = &told.totals;
    assert_eq!((totals.started, totals.spam, totals.in_progress), (8, 1, 1));
    assert_eq!(totals.started, totals.completed + totals.abandoned + totals.in_progress);
    assert_eq!((totals.completion_rate, totals.median_duration_s), (Some(0.375), Some(60.5)));
    assert_eq!(totals.p90_duration_s, Some(99.5));
    let days: Vec<_> = told.series.iter().map(|day| day.started).collect();
    assert_eq!(days, [4, 0, 4]);
    let sources: Vec<_> =
        told.sources.iter().map(|one| (one.utm_source.as_deref(), one.started)).collect();
    assert_eq!(sources, [(None, 5), (Some("fair"), 3)]);
    let AnalyticsInbox { new, rejected, converted, median_first_touch_h, .. } = told.inbox;
    assert_eq!((new, rejected, converted, median_first_touch_h), (5, 2, 1, Some(2.0139)));
    assert_eq!(told.mails.unmatched, 1);
    assert_eq!((told.versions.len(), told.versions[0].started), (1, 8));
}

#[test]
fn parts_are_exact_to_five_percent() {
    assert_eq!(Spread::default().seconds(0.5), None);
    for (times, part) in [(1..=1, 0.5), (1..=99, 0.5), (10..=5_000, 0.9), (7..=70_000, 0.5)] {
        let mut spread = Spread::default();
        let all: Vec<i64> = times.map(|n: i64| n * 97).collect();
        for ms in &all {
            let unit = 10_i64.pow(ms.ilog10().saturating_sub(1));
            spread.add(ms / unit * unit, 1);
        }
        let at = (part * all.len() as f64).ceil() as usize - 1;
        let (found, exact) = (spread.seconds(part).expect("some"), all[at] as f64 / 1000.0);
        assert!((found - exact).abs() <= 0.05 * exact, "{found} {exact}");
    }
}
