//! Questions that come on their own, forms whose values are wrong, reads that nobody waits for.

use super::*;
use crate::step::Place;

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
