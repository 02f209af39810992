//! Replies that come late, forms that are sent twice, and what would be lost by leaving.

use super::*;
use crate::{step::send_json, widgets::field::Field};
use cms_http::wire::{origins::Create, parameters::NoQuery};

/// A form that creates something.
fn form() -> Form {
    let fields = vec![Field::text("origin", "Origin", "https://a.example")];
    Form::new("New origin", fields, |values| {
        let body = json!({"origin": values.text("origin"), "active": true});
        let call = send_json::<Create>(&NoQuery {}, body);
        call.map(|call| call.then(|_| Step::did("made"))).into()
    })
}

fn opened() -> Model {
    let mut model = model();
    press(&mut model, ": o r i g i n s Enter");
    model.over.push(Over::Form(Box::new(form())));
    model
}

fn submit(model: &mut Model) -> (u64, Ask) {
    call(pressed(model, "Ctrl-s"))
}

fn fault(code: &str) -> Fault {
    Fault { code: code.to_owned(), ..Fault::new("no reply") }
}

#[test]
fn a_late_reply_leaves_another_form_alone() {
    let mut model = opened();
    let mut given_up = || {
        let (ticket, _) = submit(&mut model);
        // The user gave up waiting, and writes something else.
        model.over.clear();
        model.over.push(Over::Form(Box::new(form())));
        ticket
    };
    let (first, other) = (given_up(), given_up());
    let (second, _) = submit(&mut model);
    update(&mut model, Msg::Answered(first, Err(fault("validation_failed"))));
    assert!(matches!(&model.over[..], [Over::Form(form)] if form.is_sent && form.error.is_none()));
    update(&mut model, Msg::Answered(other, reply("POST /api/backend/origins")));
    assert!(matches!(&model.over[..], [Over::Form(form)] if form.is_sent && form.error.is_none()));
    update(&mut model, Msg::Answered(second, reply("POST /api/backend/origins")));
    assert!(model.over.is_empty(), "its own reply closes it");
}

#[test]
fn a_change_that_takes_long_says_so() {
    let mut model = opened();
    let (ticket, _) = submit(&mut model);
    assert_eq!(model.slow_change(), None);
    model.is_dirty = false;
    update(&mut model, Msg::Tick(1_002_000));
    assert_eq!(model.slow_change().expect("a sign").1, "A change is under way: 2 s.");
    assert!(model.is_dirty, "it is drawn");
    update(&mut model, Msg::Tick(1_012_000));
    let (_, text) = model.slow_change().expect("a sign");
    assert!(text.contains("has not answered a change for 12 s"), "{text}");
    update(&mut model, Msg::Answered(ticket, reply("POST /api/backend/origins")));
    assert_eq!(model.slow_change(), None);
}

#[test]
fn what_is_sent_again_without_a_reply_carries_the_same_key() {
    let mut model = opened();
    let once = |ask: &Ask| {
        let text = format!("{ask:?}");
        let at = text.find("idempotency_key: Some(").expect("a key");
        text[at..].chars().take(60).collect::<String>()
    };
    let (ticket, first) = submit(&mut model);
    update(&mut model, Msg::Answered(ticket, Err(fault("unreachable"))));
    let (ticket, again) = submit(&mut model);
    assert_eq!(once(&first), once(&again));
    update(&mut model, Msg::Answered(ticket, Err(fault("validation_failed"))));
    press(&mut model, "x");
    let (_, other) = submit(&mut model);
    assert_ne!(once(&first), once(&other), "other values are another act");
}

#[test]
fn a_reply_opens_nothing_where_nobody_waits_for_it() {
    let mut model = model();
    press(&mut model, "5 Enter 7");
    let (ticket, _) = call(pressed(&mut model, "e"));
    // Keys wait for it for a second.
    update(&mut model, Msg::Tick(1_001_000));
    press(&mut model, "2");
    update(&mut model, Msg::Answered(ticket, reply("GET /api/backend/user_groups")));
    assert!(model.over.is_empty(), "a form opened on another screen");
    let told = told(&model);
    assert!(told.starts_with("The answer came when you had gone on"), "{told}");
}

#[test]
fn leaving_what_is_not_saved_is_asked_about() {
    let mut model = opened();
    press(&mut model, "x");
    let effects = pressed(&mut model, "Ctrl-c");
    assert!(effects.is_empty() && matches!(model.over.last(), Some(Over::Confirm(..))));
    press(&mut model, "n");
    assert!(matches!(model.over.last(), Some(Over::Form(_))), "the form is still there");
    pressed(&mut model, "Ctrl-c");
    assert!(matches!(pressed(&mut model, "Ctrl-c")[..], [Effect::Quit]), "twice leaves");
}

#[test]
fn warnings_of_the_service_are_told() {
    let mut model = model();
    press(&mut model, "5");
    for effect in pressed(&mut model, "t") {
        let Effect::Call { ticket, .. } = effect else { continue };
        for effect in update(&mut model, Msg::Answered(ticket, reply("GET /keys?id=1"))) {
            let Effect::Call { ticket, .. } = effect else { continue };
            let data = json!({"id": 1, "active": false,
                "meta": {"warnings": [{"message": "the name does not resolve"}]}});
            update(&mut model, Msg::Answered(ticket, rows(data)));
        }
    }
    let told = told(&model);
    assert!(told.ends_with("but: the name does not resolve"), "{told}");
}

#[test]
fn events_are_followed_at_most_once_a_second_and_a_gap_always() {
    let mut model = model();
    press(&mut model, ": m e s s a g e s Enter");
    let mut calls = 0;
    for second in 1..=5 {
        let effects = update(&mut model, Msg::Tick(1_000_000 + second * 1000));
        calls += answer(&mut model, effects).len();
        for _ in 0..100 {
            let effects = update(&mut model, Msg::Happened("item.a.updated".to_owned()));
            calls += answer(&mut model, effects).len();
        }
    }
    assert!((4..=15).contains(&calls), "{calls} calls in five seconds");
    press(&mut model, "5");
    let effects = update(&mut model, Msg::Tick(2_000_000));
    answer(&mut model, effects);
    assert!(update(&mut model, Msg::Happened("item.a.updated".to_owned())).is_empty());
    let effects = update(&mut model, Msg::Happened("stream.gap".to_owned()));
    assert!(!answer(&mut model, effects).is_empty(), "nobody knows what was missed");
}
