//! Keys that come sooner than what they are meant for, two as one, or where nothing is seen.

use super::*;
use crate::{
    step::{Calling, Confirm},
    widgets::input::{LONGEST, TOO_LONG},
};

/// The notes of a submission are asked for, and not there yet.
fn asked() -> (Model, u64) {
    let mut model = model();
    press(&mut model, "9");
    let (ticket, _) = call(pressed(&mut model, "e"));
    (model, ticket)
}

fn arrive(model: &mut Model, ticket: u64) -> Vec<Effect> {
    update(model, Msg::Answered(ticket, reply("GET /api/backend/formfunnel?id=1")))
}

#[test]
fn what_is_typed_before_a_form_is_there_goes_into_it() {
    let (mut model, ticket) = asked();
    for key in ["i", "s", "Space", "5"] {
        assert!(pressed(&mut model, key).is_empty(), "{key} is no command");
    }
    assert!(update(&mut model, Msg::Paste(" and s2".to_owned())).is_empty());
    arrive(&mut model, ticket);
    match model.over.last() {
        Some(Over::Form(form)) => assert_eq!(form.fields[0].value(), Ok(json!("is 5 and s2"))),
        _ => panic!("no form"),
    }
    assert_eq!(noun(&model), "inbox");
}

#[test]
fn what_is_typed_while_the_service_counts_goes_to_what_opens() {
    for (asks, typed, sent) in [("s", "2", 1), ("x", "2", 0)] {
        let mut model = model();
        press(&mut model, "9 *");
        let (ticket, _) = call(pressed(&mut model, asks));
        assert!(pressed(&mut model, typed).is_empty(), "{typed} is no command");
        let counted = Err(Fault { matched: Some(3), ..Fault::new("other rows") });
        let effects = update(&mut model, Msg::Answered(ticket, counted));
        assert_eq!((noun(&model), lines(&effects).len()), ("inbox", sent), "{asks}");
        assert_eq!(model.over.len(), 1 - sent, "{asks}: only the question is still open");
    }
}

#[test]
fn esc_gives_up_what_was_asked_for_and_what_was_typed() {
    let (mut model, ticket) = asked();
    pressed(&mut model, "x");
    let effects = pressed(&mut model, "Esc");
    assert!(matches!(effects[..], [Effect::Forget(one)] if one == ticket));
    arrive(&mut model, ticket);
    assert!(model.over.is_empty());
    // Keys are commands again.
    press(&mut model, "2");
    assert_eq!(noun(&model), "webhooks");
}

#[test]
fn what_was_typed_is_dropped_where_nothing_opens() {
    let dropped = "What you typed meanwhile is dropped: nothing opened for it.";
    let (mut model, ticket) = asked();
    pressed(&mut model, "x");
    update(&mut model, Msg::Answered(ticket, Err(Fault::new("no such right"))));
    assert_eq!((told(&model).as_str(), model.over.len()), ("✗ no such right", 0));
    let (mut model, _) = asked();
    pressed(&mut model, "x");
    update(&mut model, Msg::Tick(1_001_000));
    assert_eq!(told(&model), dropped, "it takes too long");
}

#[test]
fn a_question_is_not_answered_by_what_was_typed_before_it() {
    let mut model = model();
    let ask = Confirm::new("Go on?", || Step::Leave("app.quit"));
    let calling = Calling::to("/x", |_| Ok(Reply::default())).then(|_| Step::Confirm(ask));
    let (ticket, _) = call(model.step(Step::Call(calling)));
    assert!(pressed(&mut model, "y").is_empty());
    let effects = update(&mut model, Msg::Answered(ticket, Ok(Reply::default())));
    assert!(matches!(model.over.last(), Some(Over::Confirm(..))));
    assert!(matches!(effects[..], [Effect::Wake { .. }]), "it takes no key until the user pauses");
    assert_eq!(told(&model), "What you typed meanwhile is dropped.");
}

#[test]
fn what_was_typed_into_a_menu_answers_no_question_and_is_no_command() {
    let typed = |asks: &str, keys: &str| {
        let mut model = model();
        press(&mut model, "9");
        let (ticket, ask) = call(pressed(&mut model, asks));
        for key in keys.split(' ') {
            assert!(pressed(&mut model, key).is_empty(), "{key} is no command");
        }
        let effects = update(&mut model, Msg::Answered(ticket, reply(&ask.line())));
        assert_eq!(told(&model), "What you typed meanwhile is dropped.", "{asks} {keys}");
        (model, lines(&effects))
    };
    // Delete a view, the first one.
    let (mut model, sent) = typed("V", "4 1 y");
    assert_eq!(sent, [""; 0]);
    assert!(matches!(model.over[..], [Over::Confirm(..)]));
    assert!(matches!(pressed(&mut model, "y")[..], [Effect::Wake { .. }]), "nobody has read it");
    // It is assigned; `x` deletes in the list.
    let (model, sent) = typed("a", "1 x");
    assert_eq!((sent.len(), model.over.len()), (1, 0), "{sent:?}");
}

#[test]
fn esc_and_a_key_that_come_as_one_are_two() {
    for keys in ["5 =", "5 x", "5 /", "5 Space", "?", ":"] {
        let mut model = model();
        press(&mut model, keys);
        press(&mut model, "Alt-2");
        assert_eq!((noun(&model), model.over.len()), ("webhooks", 0), "{keys}");
    }
    let own = KeysFile::parse("[keys]\n\"list.down\" = [\"Alt-2\"]").expect("toml");
    let mut model = model();
    model.map = KeyMap::new(&own).expect("keys");
    press(&mut model, "5 Space Alt-2");
    assert_eq!((noun(&model), model.scene().marks.len()), ("keys", 1), "it is a key of the user");
}

#[test]
fn a_wrong_name_is_no_answer_and_is_said() {
    let mut model = model();
    press(&mut model, "5 x w Enter");
    assert!(told(&model).starts_with("This is not the name"), "{}", told(&model));
    assert!(matches!(model.over.last(), Some(Over::Confirm(..))));
}

#[test]
fn what_is_too_long_to_paste_is_said_without_a_form_too() {
    // It fits, but not behind the letter that is there.
    for keys in ["? a", "5 x a", "5 / a"] {
        let mut model = model();
        press(&mut model, keys);
        update(&mut model, Msg::Paste("x".repeat(LONGEST)));
        assert!(told(&model).ends_with(TOO_LONG), "{keys}: {}", told(&model));
    }
}

#[test]
fn all_that_match_are_those_of_the_filter_that_was_typed_last() {
    let mut model = model();
    press(&mut model, "9");
    let mut effects = Vec::new();
    for key in ["/", "a", "b", "Enter", "*"] {
        effects.extend(pressed(&mut model, key));
    }
    assert!(pressed(&mut model, "s").is_empty());
    assert_eq!(told(&model), "State: no row is selected", "what fits is not there yet");
    answer(&mut model, effects);
    let (_, ask) = call(pressed(&mut model, "s"));
    assert!(ask.body().is_some_and(|body| body.contains("\"ab\"")), "{ask:?}");
}

#[test]
fn keys_only_leave_while_nothing_is_seen() {
    let seen = |model: &Model, width, height| {
        let backend = ratatui::backend::TestBackend::new(width, height);
        let mut terminal = ratatui::Terminal::new(backend).expect("a terminal");
        terminal.draw(|frame| crate::view::draw(frame, model)).expect("drawn");
        let cells = &terminal.backend().buffer().content;
        cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    let mut model = model();
    press(&mut model, "5");
    seen(&model, 50, 14);
    for key in ["x", "t", "2", "?", "Enter"] {
        assert!(pressed(&mut model, key).is_empty(), "{key}");
    }
    assert_eq!((noun(&model), model.over.len()), ("keys", 0));
    assert!(matches!(pressed(&mut model, "q")[..], [Effect::Quit]));
    // Something is not saved.
    seen(&model, 100, 30);
    press(&mut model, "= x");
    seen(&model, 50, 14);
    for _ in 0..2 {
        assert!(pressed(&mut model, "q").is_empty());
        let text = seen(&model, 50, 14);
        assert!(text.contains("What is not saved is lost. Ctrl-c: yes."), "{text}");
    }
    assert_eq!(model.over.len(), 2, "it is asked once");
    assert!(matches!(pressed(&mut model, "Ctrl-c")[..], [Effect::Quit]));
}
