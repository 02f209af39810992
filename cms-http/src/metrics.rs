//! The text of `/metrics` for Prometheus (format 0.0.4).
//!
//! The series are few and fixed, so they are plain atomics: counting a request takes no lock
//! and no look-up.

use std::{
    fmt::{Display, Write as _},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use cms_core::{Cms, Outcomes, webhooks::Backlog};
use http::StatusCode;

/// Upper bounds of the histogram in seconds.
const BOUNDS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Counters of one API.
#[derive(Default)]
pub(crate) struct Metrics {
    /// 1xx to 5xx.
    by_class: [AtomicU64; 5],
    limited: AtomicU64,
    durations: [AtomicU64; BOUNDS.len()],
    micros: AtomicU64,
}

impl Metrics {
    /// Counts a reply.
    pub(crate) fn note(&self, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.by_class[class].fetch_add(1, Ordering::Relaxed);
        if status == StatusCode::TOO_MANY_REQUESTS {
            self.limited.fetch_add(1, Ordering::Relaxed);
        }
        self.micros
            .fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if let Some(bucket) = BOUNDS.iter().position(|bound| took.as_secs_f64() <= *bound) {
            self.durations[bucket].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The text. If the database does not answer in time, the series of the backlog or of `mails`
    /// are left out; all others are there. `mails`: how many wait, and by how many milliseconds
    /// the first one is late.
    pub(crate) fn text(
        &self,
        cms: &Cms,
        streams: usize,
        backlog: Option<&Backlog>,
        mails: Option<(i64, i64)>,
    ) -> String {
        let mut text = String::with_capacity(2048);
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut series = |name: &str, kind: &str, help: &str, lines: &[(String, String)]| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in lines {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let version = labelled("version", [(cms_core::VERSION, 1)]);
        series("cms_build_info", "gauge", "Version of the service.", &version);
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(&self.by_class);
        let classes = labelled("status", classes.map(|(class, count)| (class, get(count))));
        series("cms_requests_total", "counter", "Requests answered, by class of status.", &classes);
        let (name, help) = ("cms_requests_limited_total", "Requests that the limiter refused.");
        series(name, "counter", help, &single(get(&self.limited)));
        series("cms_event_streams", "gauge", "Event streams that are open.", &single(streams));
        let state = cms.limiter().state();
        let stores = ["memory", "redis", "redis_away", "off"];
        let stores = labelled("store", stores.map(|store| (store, u8::from(store == state))));
        series("cms_limiter_store", "gauge", "Where the limiter counts.", &stores);
        let (name, help) = ("cms_statements_total", "Statements read from the database.");
        series(name, "counter", help, &single(cms.db().statements_sent()));
        let attempts = by_outcome("delivered", cms.webhooks().outcomes());
        let help = "Attempts of this process that were written down, by outcome.";
        series("cms_webhook_attempts_total", "counter", help, &attempts);
        let under_way = single(cms.webhooks().under_way());
        let help = "Attempts that this process is making.";
        series("cms_webhook_attempts_in_flight", "gauge", help, &under_way);
        let runs = cms.tasks().outcomes();
        let runs = [
            ("done", runs.done),
            ("failed", runs.failed),
            ("stopped", runs.put_back),
            ("lost", runs.lost),
        ];
        let help = "Runs of tasks in this process, by outcome.";
        series("cms_task_runs_total", "counter", help, &labelled("outcome", runs));
        let help = "Rounds of mails through the providers in this process, by outcome.";
        let rounds = by_outcome("sent", cms.mail().outcomes());
        series("cms_mail_rounds_total", "counter", help, &rounds);
        let seconds = |ms: i64| ms as f64 / 1000.0;
        if let Some((waiting, late_ms)) = mails {
            series("cms_mail_waiting", "gauge", "Mails that wait.", &single(waiting));
            let help = "By how much the oldest due mail is late.";
            series("cms_mail_oldest_due_seconds", "gauge", help, &single(seconds(late_ms)));
        }
        if let Some(backlog) = backlog {
            let jobs = [
                ("pending", backlog.pending),
                ("retry", backlog.retry),
                ("sending", backlog.sending),
                ("held", backlog.held),
            ];
            let help = "Jobs that are not settled, by status.";
            series("cms_webhook_queue_jobs", "gauge", help, &labelled("status", jobs));
            let late = single(seconds(backlog.oldest_due_ms));
            let help = "By how much the oldest due job is late.";
            series("cms_webhook_oldest_due_seconds", "gauge", help, &late);
            let lanes = backlog.late_lanes.iter().map(|(id, ms)| (id, seconds(*ms)));
            let help = "By how much the oldest due job of a subscription is late; \
                        the five that are most late.";
            series("cms_webhook_lane_lag_seconds", "gauge", help, &labelled("subscription", lanes));
        }
        let name = "cms_request_duration_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} Time from the head of a request to its reply.\n# TYPE {name} histogram"
        );
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().zip(&self.durations) {
            below += get(count);
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let all: u64 = self.by_class.iter().map(get).sum();
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {all}");
        let _ = writeln!(text, "{name}_sum {}", get(&self.micros) as f64 / 1e6);
        let _ = writeln!(text, "{name}_count {all}");
        text
    }
}

/// The line of a series without labels.
fn single(number: impl ToString) -> [(String, String); 1] {
    [(String::new(), number.to_string())]
}

/// A line for each value of a label.
fn labelled<V: Display, N: ToString>(
    label: &str,
    lines: impl IntoIterator<Item = (V, N)>,
) -> Vec<(String, String)> {
    let line = |(value, number): (V, N)| (format!("{{{label}=\"{value}\"}}"), number.to_string());
    lines.into_iter().map(line).collect()
}

/// `done`: the name of the outcome of attempts that succeed.
fn by_outcome(done: &str, of: Outcomes) -> Vec<(String, String)> {
    let outcomes = [
        (done, of.done),
        ("retried", of.retried),
        ("failed", of.failed),
        ("local", of.put_back),
        ("lease_lost", of.lost),
    ];
    labelled("outcome", outcomes)
}
