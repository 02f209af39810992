//! Keys in, states and calls out; no terminal, no network.

mod acting;
mod late;
mod remembered;
mod type_ahead;

use cms_http::client::Ask;
use proptest::prelude::*;

use super::{Effect, Link, Model, Mouse, Msg, Origin, Start, update};
use crate::{
    actions::KeyMap,
    calls::{Fault, Reply},
    keys::{Key, KeysFile},
    model::Over,
    step::{Form, Menu, Step},
};
use serde_json::json;

/// A session on a site that answers nothing yet.
fn model() -> Model {
    let map = KeyMap::new(&KeysFile::default()).expect("the usual keys");
    let (mut model, effects) =
        Model::new(Start { is_local: true, map, now: 1_000_000, ..Start::default() });
    answer(&mut model, effects);
    model
}

/// Answers calls as an almost empty site would, and lets pauses pass.
/// Returns the calls.
fn answer(model: &mut Model, effects: Vec<Effect>) -> Vec<String> {
    let (mut waiting, mut lines) = (effects, Vec::new());
    for _ in 0..20 {
        let mut more = Vec::new();
        for effect in waiting {
            more.extend(match effect {
                Effect::Call { ticket, ask, .. } => {
                    lines.push(format!("{} {}", ask.line(), ask.body().unwrap_or_default()));
                    update(model, Msg::Answered(ticket, reply(&ask.line())))
                }
                Effect::Wake { token, .. } => update(model, Msg::Woke(token)),
                _ => continue,
            });
        }
        if more.is_empty() {
            break;
        }
        waiting = more;
    }
    lines
}

fn reply(line: &str) -> Result<Reply, Fault> {
    let row = json!({
        "id": 1, "name": "one", "active": true, "events": ["*"], "status": "failed",
        "event": "item.pages.updated", "rights": [{"endpoint": "*"}], "owner": "key:1",
        "columns": [{"name": "id", "type": "integer", "key": true}, {"name": "t", "type": "text"}],
    });
    let data = match line {
        line if line.contains("auth/me") => json!({"username": "operator", "rights": "0"}),
        line if line.contains("?id=") || line.contains("&id=") => row,
        line if line.starts_with("GET") && !line.contains("readyz") => json!([row]),
        _ => row,
    };
    Ok(Reply { data, ..Reply::default() })
}

/// Presses a key whose calls nobody answers yet.
fn pressed(model: &mut Model, key: &str) -> Vec<Effect> {
    update(model, Msg::Key(key.parse().expect("a key")))
}

fn press(model: &mut Model, keys: &str) {
    for key in keys.split(' ') {
        let effects = pressed(model, key);
        answer(model, effects);
    }
}

/// The clock is there now, and the calls of that moment are answered like this.
fn tick(model: &mut Model, now: i64, outcome: impl Fn(&str) -> Result<Reply, Fault>) {
    for effect in update(model, Msg::Tick(now)) {
        if let Effect::Call { ticket, ask, .. } = effect {
            update(model, Msg::Answered(ticket, outcome(&ask.line())));
        }
    }
}

/// The first call, and its ticket.
fn call(effects: Vec<Effect>) -> (u64, Ask) {
    match effects.into_iter().next() {
        Some(Effect::Call { ticket, ask, .. }) => (ticket, ask),
        _ => panic!("nothing is asked"),
    }
}

fn told(model: &Model) -> String {
    model.told.clone().map(|told| told.1).unwrap_or_default()
}

fn rows(data: serde_json::Value) -> Result<Reply, Fault> {
    Ok(Reply { data, ..Reply::default() })
}

fn noun(model: &Model) -> &'static str {
    model.screen().map_or("", |screen| screen.noun())
}

#[test]
fn an_answer_to_an_earlier_question_is_dropped() {
    let mut model = model();
    let [(first, _), (second, _)] = ["2", "F5"].map(|key| call(pressed(&mut model, key)));
    for (ticket, name) in [(second, "new"), (first, "old")] {
        update(&mut model, Msg::Answered(ticket, rows(json!([{"id": 1, "name": name}]))));
    }
    let row = model.screen().and_then(|screen| screen.row().cloned()).expect("a row");
    assert_eq!(row["name"], "new");
}

#[test]
fn offline_keeps_the_rows_and_says_how_old_they_are() {
    let mut model = model();
    press(&mut model, "5");
    let away = Fault { code: "unreachable".into(), ..Fault::new("gone") };
    tick(&mut model, 1_010_000, |_| Err(away.clone()));
    assert_eq!(model.link, Link::Offline("gone".into()));
    assert_eq!(model.freshness().1, "✗ offline, 10s old");
    assert!(model.screen().is_some_and(|screen| screen.row().is_some()));
}

#[test]
fn a_quiet_site_draws_nothing() {
    let mut model = model();
    press(&mut model, "5");
    model.is_dirty = false;
    for second in 1..60 {
        let effects = update(&mut model, Msg::Tick(1_000_000 + second * 1000));
        answer(&mut model, effects);
    }
    assert!(!model.is_dirty);
    // What tells of its commits is asked only now and then.
    model.is_watched = true;
    let mut asked = 0;
    for second in 60..120 {
        let effects = update(&mut model, Msg::Tick(1_000_000 + second * 1000));
        asked += answer(&mut model, effects).iter().filter(|line| line.contains("keys?")).count();
    }
    assert!((1..=2).contains(&asked), "{asked} looks in a minute");
    assert!(!model.is_dirty);
    update(&mut model, Msg::Committed);
    let effects = update(&mut model, Msg::Tick(1_120_000));
    assert!(!answer(&mut model, effects).is_empty(), "it is read when something was committed");
}

#[test]
fn marked_rows_are_switched_and_switched_back() {
    let mut model = model();
    press(&mut model, "5 Space");
    let sent = |model: &mut Model, key: &str| {
        let effects = pressed(model, key);
        answer(model, effects)
    };
    let lines = sent(&mut model, "t");
    assert!(lines[0].starts_with("GET /api/backend/keys?id=1"), "it is read again: {lines:?}");
    assert!(lines[1].starts_with("PATCH /api/backend/keys?id=1"), "{lines:?}");
    assert!(lines[1].contains("\"active\":false"), "{lines:?}");
    assert_eq!(told(&model), "✓ key one switched off (u takes it back)");
    assert_eq!(model.line.as_deref(), Some("cms keys disable 1"));
    let lines = sent(&mut model, "u");
    assert!(lines[1].contains("\"active\":true"), "{lines:?}");
    assert_eq!(model.line, None, "no command line takes it back");
    press(&mut model, "u");
    assert_eq!(told(&model), "There is nothing to take back.");
    let lines = sent(&mut model, "U");
    assert!(lines[1].starts_with("PATCH /api/backend/keys?id=1"), "{lines:?}");
    assert!(told(&model).contains("done again (u takes it back)"), "{}", told(&model));
    press(&mut model, "U");
    assert_eq!(told(&model), "There is nothing to do again.");
    // It can be taken back once more.
    let lines = sent(&mut model, "u");
    assert!(lines[1].contains("\"active\":true"), "{lines:?}");
    // Something new: what was taken back before is past.
    sent(&mut model, "t");
    press(&mut model, "U");
    assert_eq!(told(&model), "There is nothing to do again.");
}

#[test]
fn reading_again_asks_for_the_rights_too() {
    let mut model = model();
    let mut answered = |rights: Result<Reply, Fault>| {
        let mut is_asked = false;
        for effect in pressed(&mut model, "Ctrl-r") {
            let Effect::Call { ticket, ask, .. } = effect else { continue };
            if ask.line().contains("auth/me") {
                is_asked = true;
                update(&mut model, Msg::Answered(ticket, rights.clone()));
            }
        }
        assert!(is_asked);
        model.rights.clone()
    };
    let held = Some(vec!["keys_keys_view".to_owned()]);
    let data = json!({"username": "ana", "rights": ["keys_keys_view"]});
    assert_eq!(answered(rows(data)), held);
    let away = Fault { code: "unreachable".into(), ..Fault::new("gone") };
    assert_eq!(answered(Err(away)), held, "what is known stays");
}

#[test]
fn screens_visited_are_walked() {
    let mut model = model();
    for (keys, shown) in [
        ("2 Enter", "deliveries"),
        ("[", "webhooks"),
        ("]", "deliveries"),
        ("5 -", "deliveries"),
        (": q u e u e Enter", "queue"),
        // A filter that was typed is there again.
        ("2 Enter / s t a t u s : f a i l e d Enter [", "webhooks"),
        ("]", "deliveries"),
    ] {
        press(&mut model, keys);
        assert_eq!(noun(&model), shown, "{keys}");
    }
    let filter = model.screen().and_then(|screen| screen.filter().map(str::to_owned));
    assert_eq!(filter.as_deref(), Some("status:failed"));
}

fn lines(effects: &[Effect]) -> Vec<String> {
    let calls = effects.iter().filter_map(|effect| match effect {
        Effect::Call { ask, .. } => Some(ask.line()),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_read_only_session_sends_nothing_but_looks() {
    let mut model = model();
    press(&mut model, "5");
    let step = |keys: &str| {
        let row = json!({"id": 1, "name": "one"});
        let scene = crate::actions::Scene { row: Some(&row), ..Default::default() };
        crate::screens::open(crate::step::Place::of("keys")).act(keys, &scene)
    };
    model.readonly = true;
    let toggled = step("toggle");
    let effects = model.step(toggled);
    let sent = answer(&mut model, effects);
    assert!(sent.iter().all(|line| line.starts_with("GET ")), "{sent:?}");
    assert_eq!(told(&model), "✗ Nothing was done: this is a read-only session.");
    let shown = step("show");
    assert_eq!(model.step(shown).len(), 1, "looks are made");
}

#[test]
fn a_screen_without_a_filter_says_so() {
    let mut model = model();
    press(&mut model, "1 /");
    assert_eq!(told(&model), "There is nothing to filter or search here.");
    press(&mut model, "5 /");
    assert_eq!(told(&model), "");
}

#[test]
fn a_question_left_open_leaves_the_form_to_be_edited() {
    let mut model = model();
    let mut form = Form::new("a", Vec::new(), |_| Step::None);
    (form.is_sent, form.sent) = (true, 7);
    model.over.push(Over::Form(Box::new(form)));
    let menu = Menu::new("Somebody changed it too", vec!["theirs".to_owned()], |_| Step::None);
    model.over.push(Over::Menu(menu, Origin { act: 7, ..Origin::default() }));
    press(&mut model, "Esc");
    assert!(matches!(model.over.last(), Some(Over::Form(form)) if !form.is_sent));
}

#[test]
fn a_login_lies_over_what_is_being_written() {
    let mut model = model();
    model.is_local = false;
    press(&mut model, "5");
    let form = Form::new("being written", Vec::new(), |_| Step::None);
    model.over.push(Over::Form(Box::new(form)));
    let over = Fault { code: "login_required".into(), ..Fault::default() };
    tick(&mut model, 1_010_000, |_| Err(over.clone()));
    assert_eq!((noun(&model), model.over.len()), ("login", 1));
    let logged_in = |user: &str| {
        let (token, expires_at) = Default::default();
        Step::LoggedIn { token, user: user.to_owned(), expires_at }
    };
    model.over.clear();
    model.step(logged_in(&model.who.clone()));
    assert_eq!(noun(&model), "keys");
    assert!(matches!(&model.over[..], [Over::Form(form)] if form.title == "being written"));
    model.step(logged_in("somebody else"));
    assert_eq!((noun(&model), model.over.len(), model.undo.len()), ("home", 0, 0));
}

#[test]
fn the_tour_goes_on_when_a_hint_was_followed() {
    let mut model = model();
    press(&mut model, "5 u");
    assert_eq!(model.remembered.hints, 0, "the first hint is about ?");
    press(&mut model, "? Esc Esc 5 /");
    assert_eq!(model.remembered.hints, 3);
}

#[test]
fn what_a_terminal_would_drop_is_not_called_copied() {
    let mut model = model();
    assert_eq!(model.copy("a".repeat(56_244)).len(), 1);
    assert!(model.copy("a".repeat(56_245)).is_empty());
    assert_eq!(told(&model), "56 KB are too long to copy; terminals take 56 KB.");
}

#[test]
fn a_click_selects_and_a_second_one_opens() {
    let mut model = model();
    let mut terminal =
        ratatui::Terminal::new(ratatui::backend::TestBackend::new(100, 30)).expect("a terminal");
    let mut act = |model: &mut Model, mouse: Mouse| {
        terminal.draw(|frame| crate::view::draw(frame, model)).expect("drawn");
        let effects = update(model, Msg::Mouse(mouse));
        answer(model, effects);
    };
    let click = |x, y| Mouse::Click(ratatui::layout::Position::new(x, y));
    // The tab of the webhooks, its frame, its first row.
    for (x, y, shown) in [(14, 1, "webhooks"), (0, 2, "webhooks"), (5, 4, "deliveries")] {
        act(&mut model, click(x, y));
        assert_eq!(noun(&model), shown, "{x}, {y}");
    }
    press(&mut model, "/");
    act(&mut model, Mouse::WheelDown);
    assert_eq!(noun(&model), "deliveries");
    press(&mut model, "Esc ?");
    act(&mut model, click(14, 1));
    assert_eq!(noun(&model), "deliveries", "a click beside a window is no click below it");
}

#[test]
fn a_session_is_ended() {
    let mut model = model();
    model.is_local = false;
    press(&mut model, ": a p p . l o g o u t");
    let effects = pressed(&mut model, "Enter");
    assert_eq!(lines(&effects), ["POST /api/backend/auth/logout"]);
    answer(&mut model, effects);
    assert_eq!((noun(&model), model.who.as_str()), ("login", ""));
}

/// What stands on a terminal of this size.
fn drawn(model: &Model, width: u16, height: u16) -> String {
    let backend = ratatui::backend::TestBackend::new(width, height);
    let mut terminal = ratatui::Terminal::new(backend).expect("a terminal");
    terminal.draw(|frame| crate::view::draw(frame, model)).expect("drawn");
    terminal.backend().to_string()
}

#[test]
fn what_is_wrong_is_read_to_its_end() {
    let long = format!("{}how it is mended", "what is wrong, ".repeat(9));
    let mut told = model();
    told.tell(crate::theme::Role::Bad, long.clone());
    let mut form = model();
    let fields = vec![crate::widgets::field::Field::text("url", "URL", "")];
    let mut made = Form::new("a", fields, |_| Step::None);
    made.fail(&Fault::at("url", long.clone()));
    form.over.push(Over::Form(Box::new(made)));
    let mut list = model();
    for effect in pressed(&mut list, "5") {
        if let Effect::Call { ticket, .. } = effect {
            update(&mut list, Msg::Answered(ticket, Err(Fault::new(long.clone()))));
        }
    }
    list.told = None;
    for (model, size) in [(told, (60, 16)), (form, (60, 16)), (list, (60, 16))] {
        let screen = drawn(&model, size.0, size.1);
        let words: Vec<_> = screen.split_whitespace().collect();
        assert!(words.contains(&"mended"), "{screen}");
    }
    // So are the words that a list understands.
    let mut inbox = model();
    press(&mut inbox, "9 /");
    let screen = drawn(&inbox, 60, 20);
    assert!(screen.contains("!word: not"), "{screen}");
}

#[test]
fn a_column_has_room_or_is_left_out() {
    for (keys, last) in
        [("3", "MS"), (": c a c h e Enter", "HITS"), (": p l u g i n s Enter", "STATE")]
    {
        let mut model = model();
        press(&mut model, keys);
        let screen = drawn(&model, 60, 16);
        let heads = screen.lines().nth(3).unwrap_or_default();
        let heads = heads.trim_matches(['"', '│', ' ']);
        assert_eq!(heads.rsplit(' ').next(), Some(last), "{screen}");
    }
}

#[test]
fn a_right_that_is_missing_is_asked_for_again() {
    let mut model = model();
    model.rights = Some(Vec::new());
    assert_eq!(lines(&pressed(&mut model, "9")), [""; 0], "it was asked a moment ago");
    assert!(told(&model).ends_with("Ctrl-r asks again"), "{}", told(&model));
    tick(&mut model, 1_010_000, reply);
    let effects = pressed(&mut model, "9");
    assert_eq!(lines(&effects), ["GET /api/backend/auth/me"]);
    answer(&mut model, effects);
    press(&mut model, "9");
    assert_eq!(noun(&model), "inbox");
}

#[test]
fn home_says_no_more_than_it_may_see() {
    let mut model = model();
    for (rights, say) in [
        (json!("0"), "Nothing needs attention."),
        (json!([]), "Nothing that you may see needs attention."),
    ] {
        let mut waiting = pressed(&mut model, "Ctrl-r");
        while !waiting.is_empty() {
            let (ticket, ask) = match waiting.remove(0) {
                Effect::Call { ticket, ask, .. } => (ticket, ask),
                Effect::Wake { token, .. } => {
                    waiting.extend(update(&mut model, Msg::Woke(token)));
                    continue;
                }
                _ => continue,
            };
            let is_me = ask.line().contains("auth/me");
            let me = json!({"username": "ana", "rights": rights});
            let data = if is_me { me } else { json!([]) };
            waiting.extend(update(&mut model, Msg::Answered(ticket, rows(data))));
        }
        let screen = drawn(&model, 100, 30);
        assert!(screen.contains(say), "{screen}");
    }
}

#[test]
fn what_does_not_exist_is_said() {
    for keys in [": n o s u c h Space t h i n g", "? n o s u c h Space t h i n g"] {
        let mut model = model();
        press(&mut model, keys);
        press(&mut model, "Enter");
        assert_eq!(told(&model), "There is no command nosuch thing: ? lists all.");
    }
}

#[test]
fn a_fault_stands_at_its_field() {
    let mut model = model();
    press(&mut model, "5 n x Tab G E T Ctrl-s");
    let Some(Over::Form(form)) = model.over.last() else { panic!("the form is gone") };
    assert_eq!((form.fields[form.at].name.as_str(), form.error.as_deref()), ("rights", None));
    assert!(form.fields[form.at].error.as_deref().is_some_and(|why| why.contains("no right")));
}

#[test]
fn a_stray_message_does_not_take_back_a_drawing() {
    let mut model = model();
    model.is_dirty = true;
    update(&mut model, Msg::Woke(99));
    update(&mut model, Msg::Happened("item.other.updated".to_owned()));
    assert!(model.is_dirty);
}

fn keys() -> impl Strategy<Value = Vec<Key>> {
    let known = "j k g G Enter Esc Tab Space / ? : Ctrl-p Ctrl-s Ctrl-r Ctrl-d Ctrl-u [ ] - u y Y \
                 v * o O z n e x t p d w r R S A E P D c C F W N s L a h l Up Down Left Right \
                 Backspace Delete Home End 1 2 3 4 5 6 7 8 9 i m q 日 Ctrl-w Ctrl-y Shift-Tab \
                 Alt-y Alt-1";
    let all: Vec<Key> = known.split_whitespace().map(|key| key.parse().expect("a key")).collect();
    prop::collection::vec(prop::sample::select(all), 1..50)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever was typed, nothing panics, every state can be drawn, and Esc leads home.
    #[test]
    fn any_keys_lead_home_with_esc(keys in keys(), width in 60_u16..200, height in 16_u16..60) {
        let mut model = model();
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(width, height))
            .expect("a terminal");
        for key in keys {
            let effects = update(&mut model, Msg::Key(key));
            answer(&mut model, effects);
            terminal.draw(|frame| crate::view::draw(frame, &model)).expect("drawn");
        }
        for _ in 0..40 {
            press(&mut model, "Esc");
        }
        prop_assert_eq!(noun(&model), "home");
        prop_assert!(model.over.is_empty());
    }
}
