//! The text of `/metrics` for Prometheus (format 0.0.4).
//!
//! The series are few and fixed, so they are plain atomics: counting a request takes no lock
//! and no look-up.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use cms_core::{Cms, webhooks::Backlog};
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
        let label = |name: &str, value: &str| format!("{{{name}=\"{value}\"}}");
        series(
            "cms_build_info",
            "gauge",
            "Version of the service.",
            &[(label("version", cms_core::VERSION), "1".to_owned())],
        );
        let classes: Vec<_> = self
            .by_class
            .iter()
            .enumerate()
            .map(|(i, count)| (label("status", &format!("{}xx", i + 1)), get(count).to_string()))
            .collect();
        series("cms_requests_total", "counter", "Requests answered, by class of status.", &classes);
        series(
            "cms_requests_limited_total",
            "counter",
            "Requests that the limiter refused.",
            &[(String::new(), get(&self.limited).to_string())],
        );
        series(
            "cms_event_streams",
            "gauge",
            "Event streams that are open.",
            &[(String::new(), streams.to_string())],
        );
        let stores = ["memory", "redis", "redis_away", "off"];
        let state = cms.limiter().state();
        let stores: Vec<_> = stores
            .iter()
            .map(|store| (label("store", store), u8::from(*store == state).to_string()))
            .collect();
        series("cms_limiter_store", "gauge", "Where the limiter counts.", &stores);
        series(
            "cms_statements_total",
            "counter",
            "Statements read from the database.",
            &[(String::new(), cms.db().statements_sent().to_string())],
        );
        let outcomes = cms.webhooks().outcomes();
        let attempts = [
            ("delivered", outcomes.done),
            ("retried", outcomes.retried),
            ("failed", outcomes.failed),
            ("local", outcomes.put_back),
            ("lease_lost", outcomes.lost),
        ];
        let attempts =
            attempts.map(|(outcome, count)| (label("outcome", outcome), count.to_string()));
        series(
            "cms_webhook_attempts_total",
            "counter",
            "Attempts of this process that were written down, by outcome.",
            &attempts,
        );
        let under_way = cms.webhooks().under_way().to_string();
        series(
            "cms_webhook_attempts_in_flight",
            "gauge",
            "Attempts that this process is making.",
            &[(String::new(), under_way)],
        );
        let runs = cms.tasks().outcomes();
        let runs = [
            ("done", runs.done),
            ("failed", runs.failed),
            ("stopped", runs.put_back),
            ("lost", runs.lost),
        ];
        series(
            "cms_task_runs_total",
            "counter",
            "Runs of tasks in this process, by outcome.",
            &runs.map(|(outcome, count)| (label("outcome", outcome), count.to_string())),
        );
        let sent = cms.mail().outcomes();
        let sent = [
            ("sent", sent.done),
            ("retried", sent.retried),
            ("failed", sent.failed),
            ("local", sent.put_back),
            ("lease_lost", sent.lost),
        ];
        series(
            "cms_mail_rounds_total",
            "counter",
            "Rounds of mails through the providers in this process, by outcome.",
            &sent.map(|(outcome, count)| (label("outcome", outcome), count.to_string())),
        );
        let seconds = |ms: i64| (ms as f64 / 1000.0).to_string();
        if let Some((waiting, late_ms)) = mails {
            let one = |value: String| [(String::new(), value)];
            let name = "cms_mail_waiting";
            series(name, "gauge", "Mails that wait.", &one(waiting.to_string()));
            let (name, help) =
                ("cms_mail_oldest_due_seconds", "By how much the oldest due mail is late.");
            series(name, "gauge", help, &one(seconds(late_ms)));
        }
        if let Some(backlog) = backlog {
            let jobs = [
                ("pending", backlog.pending),
                ("retry", backlog.retry),
                ("sending", backlog.sending),
                ("held", backlog.held),
            ];
            let jobs = jobs.map(|(status, count)| (label("status", status), count.to_string()));
            series(
                "cms_webhook_queue_jobs",
                "gauge",
                "Jobs that are not settled, by status.",
                &jobs,
            );
            let name = "cms_webhook_oldest_due_seconds";
            series(
                name,
                "gauge",
                "By how much the oldest due job is late.",
                &[(String::new(), seconds(backlog.oldest_due_ms))],
            );
            let lanes: Vec<_> = backlog
                .late_lanes
                .iter()
                .map(|(id, ms)| (label("subscription", &id.to_string()), seconds(*ms)))
                .collect();
            let help = "By how much the oldest due job of a subscription is late; \
                        the five that are most late.";
            series("cms_webhook_lane_lag_seconds", "gauge", help, &lanes);
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
