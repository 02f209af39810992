//! Broken manifests, stylesheets and conditions without end: never a panic, never a stack overflow,
//! never a long time, whatever the text.
//!
//! `cargo bench -p cms-tests --bench fuzz`; `CMS_FUZZ_SECONDS` (30) is the time for each target,
//! `CMS_FUZZ_SEED` repeats a run. A text that fails is written to the folder for temporary files.
//! Each runs on a stack of 1 MiB, half of that of a thread of the service.

mod mutate;
#[path = "../plugin_faults/valid.rs"]
mod valid;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use cms_core::{
    conditions::{Condition, Surroundings, check},
    content::check_less,
    plugins::check_text,
};
use serde_json::Value as Json;

use mutate::{Corpus, Random};

const BASE: &str = include_str!("../plugin_faults/base.json");
/// The cases of conditions, from which others are made.
const CASES: &str = include_str!("../../cms-core/src/conditions/tests/cases.json");
const STACK: usize = 1 << 20;
/// No text takes longer: the largest are of 1 MiB.
const SLOWEST: Duration = Duration::from_secs(5);

/// Judges a text, and tells whether it is accepted.
type Target = fn(&[u8]) -> bool;

/// What stylesheets are made of, beside pieces of each other.
const LESS: [&str; 12] = [
    "a { color: red; }",
    "@base: 16px; .m(@a; @b: 2) when (@a > 1) { width: (@a * @b) }\n.x { .m(1; 3); }",
    ".a { &:hover { color: darken(@c, 10%); } .b; }",
    "@media (min-width: 600px) { .c { .d { e: f; } } }",
    "// a ) } comment\n/* { ( */ a { background: url(https://example.org/a.png); }",
    ".a\\:b { content: '}'; x: ~\"@{y} {\"; }",
    "@plugin \"plugin\"; @import (reference) 'foo'; @detached: { a: b; };",
    "a { width: calc(100% - (2 * @gutter)); background: url(\"data:,}\") }",
    ".@{name}-a { @{property}-color: red } .m({ color: red; });",
    "a[href='x'] > b, c::after { content: ''; grid: [one] 1fr }",
    "/* one */ a { /* two */ b: c }",
    "é { ü: \"\\\n\" }",
];

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(number("CMS_FUZZ_SECONDS").unwrap_or(30));
    let seed = number("CMS_FUZZ_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let manifests = valid::all().into_iter().map(|manifest| manifest.to_string());
    let manifests = [BASE.to_owned()].into_iter().chain(manifests).collect();
    let less = LESS.iter().map(|text| (*text).to_owned()).collect();
    let cases: Json = serde_json::from_str(CASES).expect("JSON");
    let targets: [(&'static str, Corpus, Target); 3] = [
        ("manifest", Corpus::new(manifests, mutate::JSON), manifest),
        ("less", Corpus::new(less, mutate::LESS), stylesheet),
        ("condition", Corpus::new(conditions(&cases), mutate::JSON), condition),
    ];
    for (name, corpus, target) in targets {
        let run = move || fuzz(name, &corpus, target, seed, time);
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
        if thread.join().is_err() {
            std::process::exit(1);
        }
    }
}

/// Any answer will do; the places that it tells must exist. A manifest that is accepted is the same
/// one when it is written and read again.
fn manifest(bytes: &[u8]) -> bool {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    match check_text(bytes) {
        Ok(manifest) => {
            let text = serde_json::to_vec(&manifest).expect("JSON");
            assert_eq!(check_text(&text).ok(), Some(manifest), "written and read again");
            true
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            for problem in problems {
                assert!(!problem.remedy.is_empty() && problem.line.is_some_and(|at| at <= lines));
            }
            false
        }
    }
}

fn stylesheet(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    check_less(&text).is_ok()
}

/// Each case as a list of a condition and answers.
fn conditions(cases: &Json) -> Vec<String> {
    let all = |name: &str| cases[name].as_array().cloned().unwrap_or_default();
    let rule = |case: &Json| {
        let mut rule = case.clone();
        rule["field"] = "f".into();
        serde_json::json!([{"operator": "AND", "rules": [rule]}, {"f": case["answer"]}])
    };
    let rules = all("cases");
    let whole = all("condition_cases");
    let whole = whole.iter().map(|case| [&case["condition"], &cases["shared_answers"]]);
    let whole = whole.map(|case| serde_json::json!(case).to_string());
    rules.iter().map(|case| rule(case).to_string()).chain(whole).collect()
}

/// What is evaluated is traced alike. What may be saved is tidied once.
fn condition(bytes: &[u8]) -> bool {
    let Ok(given) = serde_json::from_slice::<Json>(bytes) else { return false };
    let condition = Condition::read(&given[0]);
    let answers = given[1].as_object().cloned().unwrap_or_default();
    let around = Surroundings::at(0);
    let result = condition.evaluate(&answers, &around);
    assert_eq!(condition.trace(&answers, &around).0, result, "traced");
    let checked = check(&given[0]);
    if checked.is_good() {
        let again = check(&checked.stored);
        assert_eq!((again.is_good(), again.stored), (true, checked.stored), "tidied once");
    }
    result
}

fn fuzz(name: &str, corpus: &Corpus, target: Target, seed: u64, time: Duration) {
    let mut random = Random(seed);
    let (mut runs, mut accepted, mut bytes, mut deep) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut slowest, began) = (Duration::ZERO, Instant::now());
    while began.elapsed() < time {
        let (text, is_deep) = corpus.next(&mut random);
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&text)));
        let took = start.elapsed();
        if outcome.is_err() || took > SLOWEST {
            let file = std::env::temp_dir().join(format!("cms-fuzz-{name}-{seed}-{runs}"));
            std::fs::write(&file, &text).expect("written");
            panic!("{name}: {took:.1?} for {}, seed {seed}", file.display());
        }
        runs += 1;
        accepted += u64::from(outcome.unwrap_or_default());
        bytes += text.len() as u64;
        deep += u64::from(is_deep);
        slowest = slowest.max(took);
    }
    println!(
        "{name}: {runs} executions in {:.0?}, {:.1} MB, {accepted} accepted, {deep} with 5,000 \
         levels, the slowest {slowest:.1?}, seed {seed}",
        began.elapsed(),
        bytes as f64 / 1e6,
    );
}
