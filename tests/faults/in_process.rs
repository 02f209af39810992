//! The faults that are played in one process with a clock that is moved: their tests are run, their
//! outcomes read.

use std::{
    collections::HashMap,
    process::{Command, Stdio},
};

use crate::{
    lab::Engine,
    report::{Finding, Outcome},
    support::database,
};

/// Number, what it is about, the tests that show it.
#[rustfmt::skip]
const TESTS: &[(u8, &str, &[&str])] = &[
    (3, "a transaction is rolled back, a constraint fails, a delete is refused (in process)", &[
        "webhooks::nothing_is_queued_for_what_does_not_commit",
    ]),
    (6, "the clock is put forward and back by an hour (in process)", &[
        "webhook_faults::a_clock_that_jumps_neither_strands_nor_hastens_a_job",
    ]),
    (12, "poison: names, secrets, bodies that cannot be sent (in process)", &[
        "webhook_faults::poison::a_secret_that_cannot_be_opened_stops_only_its_lane",
        "webhook_faults::poison::poison_fails_with_a_reason_and_stops_only_its_lane",
    ]),
    (13, "broken connections, TLS, names (in process)", &[
        "webhooks::attempts::receivers_that_misbehave_cost_no_more_than_their_attempt",
        "outbound::client::tests::names_that_are_not_found_have_a_code_of_their_own",
        "outbound::client::tests::a_server_without_tls_is_told_apart",
        "outbound::client::tls_tests::only_a_trusted_certificate_with_the_name_is_accepted",
        "outbound::client::tls_tests::a_server_with_old_tls_has_the_code_tls",
        "outbound::client::tls_tests::a_reply_that_breaks_off_is_a_failure",
    ]),
    (14, "names whose answers change or mix (in process)", &[
        "outbound::client::tests::a_name_that_turns_inward_is_not_dialled_again",
        "outbound::client::tests::a_mixed_answer_is_refused_as_a_whole",
    ]),
    (15, "redirects inward (in process)", &["webhooks::attempts::a_redirect_is_not_followed"]),
    (16, "the schedule, to the second (in process)", &[
        "webhooks::attempts::the_schedule_is_exact",
    ]),
    (17, "nine failures and ten, four workers racing (in process)", &[
        "webhooks::attempts::ten_failures_in_a_row_switch_a_webhook_off_and_nine_do_not",
        "webhook_faults::lanes::the_breaker_opens_once_with_four_workers",
    ]),
    (18, "fifty jobs, a receiver that is down for three seconds (in process)", &[
        "webhook_faults::lanes::a_short_outage_is_survived",
    ]),
    (20, "a subscription is deleted, paused, edited while it is sent to (in process)", &[
        "webhook_faults::a_subscription_is_deleted_while_it_is_sent_to",
    ]),
];

/// Runs the tests of the faults that were chosen; none chosen: all.
pub fn run(chosen: &[u8]) -> Vec<Outcome> {
    let wanted: Vec<_> =
        TESTS.iter().filter(|(number, ..)| chosen.is_empty() || chosen.contains(number)).collect();
    let mut engines = vec![(Engine::Sqlite, None)];
    engines.extend(database::server().map(|server| (Engine::Postgres, Some(server))));
    let mut outcomes = Vec::new();
    for (engine, server) in engines.into_iter().filter(|_| !wanted.is_empty()) {
        eprintln!("   {engine}: faults in one process, with a clock that is moved ...");
        let verdicts = verdicts(server.as_deref());
        for (number, name, tests) in &wanted {
            let findings = tests.iter().map(|test| finding(test, &verdicts)).collect();
            outcomes.push(Outcome { number: *number, name, engine, findings });
        }
    }
    outcomes
}

fn finding(test: &str, verdicts: &HashMap<String, String>) -> Finding {
    let verdict = verdicts
        .iter()
        .find_map(|(name, verdict)| name.ends_with(test).then_some(verdict.as_str()));
    Finding::new(format!("test `{test}`"), verdict.unwrap_or("was not run"), verdict == Some("ok"))
}

/// Names of tests and what cargo says of them.
fn verdicts(server: Option<&str>) -> HashMap<String, String> {
    let mut verdicts = HashMap::new();
    for target in [
        ["-p", "cms-tests", "--test", "it", "webhook"].as_slice(),
        &["-p", "cms-core", "--lib", "outbound"],
    ] {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.arg("test").args(target).stderr(Stdio::inherit());
        cargo.env("CMS_TEST_DB", server.unwrap_or_default());
        let output = cargo.output().expect("cargo runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        verdicts.extend(text.lines().filter_map(|line| {
            let (name, verdict) = line.strip_prefix("test ")?.split_once(" ... ")?;
            Some((name.to_owned(), verdict.to_owned()))
        }));
    }
    verdicts
}
