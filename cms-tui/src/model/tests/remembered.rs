//! What the next session begins with: columns, order and the user's own filters.

use std::collections::BTreeMap;

use super::*;
use crate::step::Place;

#[test]
fn columns_and_order_are_kept_for_the_next_session() {
    let mut first = model();
    let lines = "Ctrl-u Backspace ".repeat(12);
    press(&mut first, &format!("2 = {lines}s t a t e Space 1 2 Enter n a m e Ctrl-s"));
    let start = || Start {
        map: KeyMap::new(&KeysFile::default()).expect("the usual keys"),
        is_local: true,
        ..Start::default()
    };
    let (mut next, effects) = Model::new(Start { remembered: first.remember(), ..start() });
    answer(&mut next, effects);
    for model in [&first, &next] {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(100, 30))
            .expect("a terminal");
        terminal.draw(|frame| crate::view::draw(frame, model)).expect("drawn");
        let head: String = (0..100).map(|x| terminal.backend().buffer()[(x, 3)].symbol()).collect();
        assert!(head.contains("STATE        NAME") && !head.contains("URL"), "{head}");
    }
}

#[test]
fn a_session_begins_with_a_filter() {
    let (mut model, effects) = Model::new(Start {
        map: KeyMap::new(&KeysFile::default()).expect("the usual keys"),
        noun: Some("inbox".to_owned()),
        filter: Some("assigned:me state:new".to_owned()),
        ..Start::default()
    });
    let lines = answer(&mut model, effects);
    assert_eq!(noun(&model), "inbox");
    assert_eq!(model.screen().and_then(|screen| screen.filter()), Some("assigned:me state:new"));
    // Who `me` is, is known a moment later.
    assert!(lines.iter().any(|line| line.contains("=operator")), "{lines:?}");
    assert_eq!(model.remember().filters, BTreeMap::new(), "it is not the user's own");
}

#[test]
fn a_filter_that_a_screen_chose_is_not_remembered() {
    let mut model = model();
    let own = BTreeMap::from([("deliveries".to_owned(), "status:failed".to_owned())]);
    press(&mut model, "3 / s t a t u s : f a i l e d Enter");
    press(&mut model, "1");
    assert_eq!(model.remember().filters, own);
    let effects = model.step(Step::Open(Place::of("deliveries").filtered("submission:9")));
    answer(&mut model, effects);
    for by in [-1, 1] {
        let effects = model.walk(by);
        answer(&mut model, effects);
        assert_eq!(model.remember().filters, own);
    }
    assert_eq!(model.screen().and_then(|screen| screen.filter()), Some("submission:9"));
    // A filter that was given as empty, or was cleared, takes the user's own from nobody.
    press(&mut model, "/ Ctrl-u Enter");
    assert_eq!(model.remember().filters, own);
    press(&mut model, "1");
    let effects = model.step(Step::Open(Place::of("deliveries").filtered("")));
    answer(&mut model, effects);
    assert_eq!(model.remember().filters, own);
    press(&mut model, "/ e v e n t : a Enter");
    assert_eq!(model.remember().filters["deliveries"], "event:a", "this one is the user's");
}

#[test]
fn a_filter_is_there_again_however_its_list_was_left() {
    for (keys, list, filter) in [
        ("9 / p 1 Enter Enter [", "inbox", "p1"),
        ("9 / p 1 Enter Enter 1 9", "inbox", "p1"),
        ("9 / p 1 Enter : f u n n e l s Enter 9", "inbox", "p1"),
        ("9 / p 1 Enter : f u n n e l s Enter [", "inbox", "p1"),
        // Esc goes one step back through the screens visited too.
        ("5 2 9 Enter Esc [", "webhooks", ""),
        ("9 Enter Esc / p 1 Enter 2 [", "inbox", "p1"),
        ("9 / p 1 Enter Enter Esc ]", "submission", ""),
        ("5 9 1 [", "inbox", ""),
        ("5 9 Esc [", "inbox", ""),
        ("5 9 Esc -", "inbox", ""),
    ] {
        let mut model = super::model();
        press(&mut model, keys);
        let shown = model.screen().and_then(|screen| screen.filter()).unwrap_or_default();
        assert_eq!((noun(&model), shown), (list, filter), "{keys}");
    }
    let mut model = super::model();
    press(&mut model, "9 / p 1 Enter Enter");
    assert_eq!(noun(&model), "submission");
    assert_eq!(model.remember().filters["inbox"], "p1");
    // The login lies over the list.
    let mut model = super::model();
    model.is_local = false;
    press(&mut model, "9 / p 1 Enter");
    let over = Fault { code: "login_required".into(), ..Fault::default() };
    tick(&mut model, 1_060_000, |_| Err(over.clone()));
    assert_eq!(noun(&model), "login");
    assert_eq!(model.remember().filters["inbox"], "p1");
}
