//! What a rule costs: nanoseconds for each operator, and how time grows with hostile values,
//! answers and patterns.
//!
//! `cargo bench -p cms-core --bench conditions`

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::{hint::black_box, time::Instant};

use cms_core::conditions::{Condition, Surroundings};
use serde_json::{Map, Value as Json, json};

/// A rule and the answer that it reads.
type Case = (&'static str, Json, Json, Json);

/// An operator, an answer and a value of a size.
type Sized = fn(usize) -> (&'static str, Json, Json);

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let list = json!(["DE", "AT", "CH", "LI", "LU", "NL", "BE", "FR"]);
    let cases: [Case; 15] = [
        ("equals", json!("Berlin"), json!("Berlin"), json!(false)),
        ("equals", json!("Köln-Mülheim"), json!("köln-mülheim"), json!(true)),
        ("not_equals", json!(["seo", "ads"]), json!(["ads", "print"]), json!(false)),
        ("greater_than", json!(6000), json!("5000"), json!(false)),
        ("less_or_equal", json!("1200.50"), json!(1200.5), json!(false)),
        ("less_than", json!("2024-05-01"), json!("2024-05-02"), json!(false)),
        ("greater_or_equal", json!("2024-05-01"), json!("@today-18y"), json!(false)),
        ("contains", json!("We need a new site and help with ads"), json!("ads"), json!(false)),
        ("contains", json!(["seo", "ads", "print"]), json!(["print", "ads"]), json!(false)),
        ("starts_with", json!("+4915112345"), json!(["+43", "+49"]), json!(false)),
        ("ends_with", json!("anna@acme.de"), json!("@acme.de"), json!(false)),
        ("regex_match", json!("ABC-123"), json!("^[A-Z]{3}-\\d{3}$"), json!(false)),
        ("in", json!("CH"), list.clone(), json!(false)),
        ("not_in", json!("XX"), list, json!(false)),
        ("is_empty", json!("x"), json!(null), json!(false)),
    ];
    println!("{:<18} {:>8}", "operator", "ns");
    let mut all = Vec::new();
    for (op, answer, value, ci) in cases {
        let rule = json!({"field": "field", "op": op, "value": value, "ci": ci});
        let time = nanos(&json!({"rules": [rule]}), &answer);
        println!("{op:<18} {time:>8.0}");
        all.push(time);
    }
    println!("{:<18} {:>8.0}", "mean", all.iter().sum::<f64>() / all.len() as f64);
    println!("\ntime for four times the input, as a multiple (linear: about 4)");
    for (name, make) in hostile() {
        let [one, four] = [1, 4].map(|times| {
            let (op, answer, value) = make(times * 4000);
            nanos(&json!({"rules": [{"field": "field", "op": op, "value": value}]}), &answer)
        });
        println!("{name:<44} {:>10.0} µs {:>6.1}", four / 1000.0, four / one);
    }
}

/// Values and answers of a size that would cost its square, were each compared with each.
fn hostile() -> [(&'static str, Sized); 8] {
    [
        ("lists with the same elements", |n| ("equals", words(0, n), words(0, n))),
        ("an intersection without elements", |n| ("in", words(0, n), words(n, n))),
        ("a list that holds all of another", |n| ("contains", words(0, n), words(0, n))),
        ("a text that holds many others", |n| {
            let text: String = (0..n).map(|at| format!("word {at};")).collect();
            ("contains", text.into(), words(0, n))
        }),
        ("texts that hold each other", |n| {
            let needles = (1..50).map(|at| "a".repeat(at)).chain(["b".to_owned()]);
            ("contains", "a".repeat(n).into(), needles.collect::<Vec<_>>().into())
        }),
        ("beginnings of many texts", |n| ("starts_with", words(0, n), words(n, n))),
        ("(a+)+$ and a's", |n| {
            let text = format!("{}!", "a".repeat(n / 4));
            ("regex_match", text.into(), "(a+)+$".into())
        }),
        ("(.*)*x in many texts", |n| {
            let texts = vec![json!("yyyyyyyyyyyyyyyyyyyy"); n];
            ("regex_match", texts.into(), "(.*)*x".into())
        }),
    ]
}

fn words(from: usize, count: usize) -> Json {
    (from..from + count).map(|at| format!("word {at}")).collect::<Vec<_>>().into()
}

/// Nanoseconds of an evaluation: the best of many rounds.
fn nanos(condition: &Json, answer: &Json) -> f64 {
    let condition = Condition::read(condition);
    let answers = Map::from_iter([("field".to_owned(), answer.clone())]);
    let around = Surroundings::at(1_714_564_800_000);
    let once = |rounds: u32| {
        let start = Instant::now();
        for _ in 0..rounds {
            black_box(condition.evaluate(black_box(&answers), &around));
        }
        start.elapsed().as_nanos() as f64 / f64::from(rounds)
    };
    let rounds = (20_000_000.0 / once(1).max(100.0)).clamp(1.0, 100_000.0);
    let rounds = rounds as u32;
    (0..7).map(|_| once(rounds)).fold(f64::INFINITY, f64::min)
}
