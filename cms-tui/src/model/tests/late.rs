//! Replies that come late, questions that come on their own, forms that are sent twice or whose
//! values are wrong, reads that nobody waits for, and what would be lost by leaving.

use cms_http::wire::{origins::Create, parameters::NoQuery};

use super::*;
use crate::{
    step::{Place, send_json},
    widgets::field::Field,
};

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

#[test]
fn a_question_that_comes_on_its_own_takes_no_key_meant_for_something_else() {
    let mut model = model();
    press(&mut model, "5");
    let read_again = pressed(&mut model, "t").pop();
    let (ticket, _) = call(read_again.into_iter().collect());
    // Somebody switched it meanwhile, and gave it another name.
    let now = json!({"id": 1, "name": "one", "active": "sometimes"});
    let effects = update(&mut model, Msg::Answered(ticket, rows(now)));
    let title = |model: &Model| match model.over.last() {
        Some(Over::Menu(menu, _)) => menu.title.clone(),
        _ => String::new(),
    };
    assert_eq!(title(&model), "Somebody changed key one too", "it names its subject");
    let token = |effects: &[Effect]| match effects {
        [Effect::Wake { token, .. }] => *token,
        _ => panic!("no pause"),
    };
    let first = token(&effects);
    let again = token(&pressed(&mut model, "2"));
    assert_ne!(title(&model), "", "the digit was meant for something else");
    update(&mut model, Msg::Woke(first));
    token(&pressed(&mut model, "2"));
    update(&mut model, Msg::Woke(again));
    let last = token(&pressed(&mut model, "2"));
    // The user pauses.
    update(&mut model, Msg::Woke(last));
    let effects = pressed(&mut model, "2");
    assert!(matches!(effects[..], [Effect::Call { .. }]), "now it is answered");
}

#[test]
fn a_question_that_a_key_asks_takes_the_next_key() {
    let mut model = model();
    press(&mut model, "5");
    pressed(&mut model, "x");
    pressed(&mut model, "o");
    assert!(matches!(model.over.last(), Some(Over::Confirm(ask, _)) if ask.typed.text() == "o"));
}

#[test]
fn the_guard_ends_with_its_question() {
    let mut model = model();
    press(&mut model, "5");
    let screen = model.stack.last().map_or(0, |shown| shown.id);
    let late = Origin { screen, is_late: true, ..Origin::default() };
    let ask = crate::step::Confirm::new("It was changed. Go on?", || Step::None);
    assert!(matches!(model.step_of(late, Step::Confirm(ask))[..], [Effect::Wake { .. }]));
    pressed(&mut model, "Ctrl-c");
    assert!(model.over.is_empty());
    pressed(&mut model, "x");
    pressed(&mut model, "o");
    assert!(matches!(model.over.last(), Some(Over::Confirm(ask, _)) if ask.typed.text() == "o"));
}

#[test]
fn a_wrong_value_leaves_the_form_as_it_was_typed() {
    let lines = "Ctrl-u Backspace ".repeat(12);
    for opened in ["5 e a", "5 ="] {
        let keys = format!("{opened} {lines}w r o n g Ctrl-s");
        let mut model = model();
        press(&mut model, &keys);
        match model.over.last() {
            Some(Over::Form(form)) => {
                let at_field = form.fields.iter().any(|field| field.error.is_some());
                assert!((form.error.is_some() || at_field) && !form.is_sent, "{keys}");
                assert_eq!(form.fields[0].value(), Ok(json!("wrong")), "{keys}");
            }
            _ => panic!("{keys}: the form is closed"),
        }
    }
}

#[test]
fn reads_that_nobody_waits_for_are_told() {
    let mut model = model();
    let tickets = |effects: &[Effect]| -> Vec<u64> {
        let calls = effects.iter().filter_map(|effect| match effect {
            // Who the user is concerns every screen.
            Effect::Call { ask, .. } if ask.line().contains("auth/me") => None,
            Effect::Call { ticket, .. } => Some(*ticket),
            _ => None,
        });
        calls.collect()
    };
    let forgotten = |effects: &[Effect]| -> Vec<u64> {
        let calls = effects.iter().filter_map(|effect| match effect {
            Effect::Forget(ticket) => Some(*ticket),
            _ => None,
        });
        calls.collect()
    };
    let first = pressed(&mut model, "2");
    assert!(forgotten(&first).is_empty());
    let second = pressed(&mut model, "F5");
    assert_eq!(forgotten(&second), tickets(&first), "asked again");
    let third = pressed(&mut model, "5");
    assert_eq!(forgotten(&third), tickets(&second), "the screen is gone");
}

#[test]
fn the_age_is_that_of_the_list() {
    let mut model = model();
    press(&mut model, "4");
    let busy = Fault { code: "unavailable".into(), ..Fault::default() };
    tick(&mut model, 1_010_000, |line| match line.contains("/queue?") {
        true => Err(busy.clone()),
        false => reply(line),
    });
    assert_eq!(model.stack.last().and_then(|shown| shown.answered_at), Some(1_000_000));
}

#[test]
fn runs_of_a_task_are_filtered_by_what_is_pasted() {
    let mut model = model();
    let place = Place::about("runs", &json!({"name": "tidy", "plugin": "shop"}));
    let effects = model.open(place);
    answer(&mut model, effects);
    assert!(model.screen().is_some_and(|screen| screen.row().is_some()));
    press(&mut model, "/");
    let effects = update(&mut model, Msg::Paste("no such run".to_owned()));
    answer(&mut model, effects);
    assert!(model.screen().is_some_and(|screen| screen.row().is_none()));
}
