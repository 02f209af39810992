//! Acts of several calls: stopped, broken off, taken back in part.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::*;
use crate::{step::Saving, theme::Role};

/// A site with keys.
#[derive(Default)]
struct Keys {
    /// Whether each is on.
    active: BTreeMap<i64, bool>,
    /// Writes of this key fail, with this code.
    fails: Option<(i64, &'static str)>,
    sent: Vec<String>,
}

impl Keys {
    fn key(&self, id: i64) -> Json {
        json!({"id": id, "name": format!("k{id}"), "active": self.active[&id], "rights": []})
    }

    fn reply(&mut self, ask: &Ask) -> Result<Reply, Fault> {
        let line = ask.line();
        let id = line.split(['?', '&']).find_map(|one| one.strip_prefix("id=")?.parse().ok());
        if line.starts_with("PATCH") {
            let id = id.expect("an id");
            if let Some((_, code)) = self.fails.filter(|(one, _)| *one == id) {
                let code = code.to_owned();
                return Err(Fault { code, detail: "no reply".to_owned(), ..Fault::default() });
            }
            let body: Json = serde_json::from_str(ask.body().expect("a body")).expect("JSON");
            self.active.insert(id, body["active"] == true);
            self.sent.push(format!("{id} {}", body["active"]));
        }
        let data = match id {
            Some(id) if line.contains("/keys?") => self.key(id),
            _ if line.contains("/keys?") => self.active.keys().map(|id| self.key(*id)).collect(),
            _ => return reply(&line),
        };
        rows(data)
    }

    /// Answers these calls. Returns what follows.
    fn once(&mut self, model: &mut Model, effects: Vec<Effect>) -> Vec<Effect> {
        let mut more = Vec::new();
        for effect in effects {
            let Effect::Call { ticket, ask, .. } = effect else { continue };
            let outcome = self.reply(&ask);
            more.extend(update(model, Msg::Answered(ticket, outcome)));
        }
        more
    }

    fn all(&mut self, model: &mut Model, mut effects: Vec<Effect>) {
        while !effects.is_empty() {
            effects = self.once(model, effects);
        }
    }

    fn press(&mut self, model: &mut Model, key: &str) {
        let effects = pressed(model, key);
        self.all(model, effects);
    }

    /// What was sent since the last look.
    fn sent(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sent)
    }
}

/// Three keys that are on, after these keys of the keyboard.
fn three(pressed: &[&str]) -> (Model, Keys) {
    let mut keys = Keys::default();
    keys.active.extend((1..=3).map(|id| (id, true)));
    let mut model = model();
    pressed.iter().for_each(|key| keys.press(&mut model, key));
    (model, keys)
}

/// Three keys that are on, all marked.
fn marked() -> (Model, Keys) {
    three(&["5", "*"])
}

/// They are switched off, as far as the first answer.
fn begun() -> (Model, Keys, Vec<Effect>) {
    let (mut model, mut keys) = marked();
    let mut effects = pressed(&mut model, "t");
    while keys.sent.is_empty() {
        effects = keys.once(&mut model, effects);
    }
    (model, keys, effects)
}

#[test]
fn nothing_is_taken_back_while_an_act_reads_its_rows() {
    let (mut model, mut keys) = marked();
    keys.press(&mut model, "t");
    assert_eq!(keys.sent(), ["1 false", "2 false", "3 false"]);
    let reading = pressed(&mut model, "t");
    let effects = pressed(&mut model, "u");
    assert!(effects.is_empty(), "the act before is taken back");
    assert_eq!(told(&model), "Another act is still under way.");
    keys.all(&mut model, reading);
    assert_eq!(keys.sent(), ["1 true", "2 true", "3 true"]);
    keys.press(&mut model, "u");
    assert_eq!(keys.sent(), ["1 false", "2 false", "3 false"], "the last act is taken back");
}

#[test]
fn esc_stops_what_is_not_sent_yet() {
    let (mut model, mut keys, effects) = begun();
    assert!(pressed(&mut model, "Esc").is_empty());
    keys.all(&mut model, effects);
    assert_eq!(keys.sent(), ["1 false", "2 false"], "the second one was on its way");
    assert_eq!(told(&model), "◐ 2 of 3 switched off, stopped (u takes it back)");
    keys.press(&mut model, "u");
    assert_eq!(keys.sent(), ["1 true", "2 true"]);
}

#[test]
fn esc_stops_no_write_that_is_under_way() {
    // The only write of an act, and the last one of three.
    for (begun, calls) in [(&["5"][..], 1), (&["5", "*"], 3)] {
        let (mut model, mut keys) = three(begun);
        let mut effects = pressed(&mut model, "t");
        while keys.sent.len() + 1 < calls || !lines(&effects).concat().starts_with("PATCH") {
            effects = keys.once(&mut model, effects);
        }
        let stopped = pressed(&mut model, "Esc");
        assert!(!stopped.iter().any(|one| matches!(one, Effect::Forget(_))), "{calls}");
        assert_ne!(told(&model), "Stopped: nothing was done.");
        keys.all(&mut model, stopped);
        keys.all(&mut model, effects);
        assert_eq!(keys.sent().len(), calls);
        assert!(told(&model).ends_with("switched off (u takes it back)"), "{}", told(&model));
        keys.press(&mut model, "u");
        assert_eq!(keys.sent().len(), calls, "the next act is made");
    }
}

#[test]
fn esc_stops_an_act_that_still_reads() {
    let (mut model, mut keys) = marked();
    let effects = pressed(&mut model, "t");
    let effects = keys.once(&mut model, effects);
    let stopped = pressed(&mut model, "Esc");
    assert!(matches!(stopped[..], [Effect::Forget(_)]));
    assert_eq!(told(&model), "Stopped: nothing was done.");
    keys.all(&mut model, effects);
    assert!(keys.sent().is_empty());
    assert!(!model.scene().marks.is_empty(), "one step back, not two");
}

#[test]
fn a_lost_connection_stops_the_act() {
    let (mut model, mut keys) = marked();
    keys.fails = Some((2, "unreachable"));
    keys.press(&mut model, "t");
    assert_eq!(keys.sent(), ["1 false"]);
    let said = "✗ 1 of 3 switched off, stopped (u takes it back); 1 failed, first k2: no reply";
    assert_eq!(told(&model), said);
    keys.fails = None;
    keys.press(&mut model, "u");
    assert_eq!(keys.sent(), ["1 true"]);
}

#[test]
fn what_could_not_be_taken_back_stays() {
    let (mut model, mut keys) = marked();
    keys.press(&mut model, "t");
    keys.sent();
    keys.fails = Some((2, "unavailable"));
    keys.press(&mut model, "u");
    assert_eq!(keys.sent(), ["1 true", "3 true"]);
    assert!(told(&model).starts_with("✗ 2 of 3 taken back (U does it again); 1 failed"));
    keys.fails = None;
    keys.press(&mut model, "u");
    assert_eq!(keys.sent(), ["2 true"]);
    keys.press(&mut model, "u");
    assert_eq!(told(&model), "There is nothing to take back.");
}

#[test]
fn what_can_never_be_taken_back_is_named() {
    let (mut model, mut keys) = marked();
    keys.press(&mut model, "t");
    keys.sent();
    keys.fails = Some((2, "conflict"));
    keys.press(&mut model, "u");
    let said = "✗ 2 of 3 taken back (U does it again); 1 failed (k2 for good), \
                first k2: no reply";
    assert_eq!(told(&model), said);
    keys.press(&mut model, "u");
    assert_eq!(told(&model), "There is nothing to take back.");
    // The only one of an act.
    keys.press(&mut model, "Esc");
    keys.fails = None;
    keys.press(&mut model, "t");
    let id = keys.sent().last().and_then(|sent| sent[..1].parse().ok()).expect("a key");
    keys.fails = Some((id, "conflict"));
    keys.press(&mut model, "u");
    assert_eq!(told(&model), format!("✗ k{id} cannot be taken back: no reply"));
}

#[test]
fn leaving_for_another_site_is_asked_about_first() {
    let (mut model, mut keys, begun) = begun();
    model.contexts = vec!["other".to_owned()];
    let choose = |model: &mut Model| {
        model.go("app.context");
        pressed(model, "Enter")
    };
    assert!(choose(&mut model).is_empty());
    assert!(matches!(model.over.last(), Some(Over::Confirm(..))));
    assert!(pressed(&mut model, "n").is_empty() && model.over.is_empty());
    choose(&mut model);
    let effects = pressed(&mut model, "y");
    assert!(matches!(&effects[..], [Effect::Context(name)] if name == "other"));
    // The other site cannot be opened: the act goes on here, and can be taken back.
    keys.all(&mut model, begun);
    assert_eq!(keys.sent(), ["1 false", "2 false", "3 false"]);
    assert_eq!(told(&model), "✓ 3 keys switched off (u takes it back)");
}

#[test]
fn ctrl_c_twice_quits_and_is_no_answer_to_another_question() {
    let (mut model, _, _) = begun();
    model.contexts = vec!["other".to_owned()];
    model.go("app.context");
    pressed(&mut model, "Enter");
    assert!(pressed(&mut model, "Ctrl-c").is_empty() && model.over.is_empty());
    assert_eq!(told(&model), "Nothing was done.");
    assert!(pressed(&mut model, "Ctrl-c").is_empty() && !model.over.is_empty());
    assert!(matches!(pressed(&mut model, "Ctrl-c")[..], [Effect::Quit]));
}

/// A command line, as an own one of the user.
fn running(model: &mut Model) -> u64 {
    let effects = model.step(Step::Run(vec!["doctor".to_owned()]));
    match effects[..] {
        [Effect::Run(number, _)] => number,
        _ => panic!("it is not run"),
    }
}

#[test]
fn a_command_line_is_ended_and_shown_where_it_was_asked_for() {
    let mut model = model();
    press(&mut model, "5");
    for key in ["Ctrl-c", "Esc"] {
        let number = running(&mut model);
        let effects = pressed(&mut model, key);
        assert!(matches!(effects[..], [Effect::End(one)] if one == number), "{key}");
        update(&mut model, Msg::Ran(number, Ok("all is well".to_owned())));
        assert!(model.over.is_empty() && noun(&model) == "keys");
    }
    let number = running(&mut model);
    update(&mut model, Msg::Ran(number, Ok("all is well".to_owned())));
    assert!(matches!(model.over.last(), Some(Over::View(_))));
    assert_eq!(told(&model), "cms doctor has ended", "and not that Esc ends it");
    press(&mut model, "Esc");
    let number = running(&mut model);
    press(&mut model, "2");
    update(&mut model, Msg::Ran(number, Ok("\nall is well\n".to_owned())));
    assert!(model.over.is_empty(), "it opens over another screen");
    let told = model.told.clone();
    assert_eq!(told, Some((Role::Plain, "cms doctor has ended: all is well".to_owned())));
}

#[test]
fn what_was_typed_is_there_again_when_a_file_or_a_command_line_fails() {
    const WHY: &str = "no such folder";
    type Ended = fn(u64) -> Msg;
    let failed: [(&str, &str, Ended); 2] = [
        ("9 E", "Export the inbox", |number| Msg::Saved(number, Err(WHY.to_owned()))),
        (": m e d i a Enter n / x", "Upload a file", |number| {
            Msg::Ran(number, Err(format!("{WHY}\n")))
        }),
    ];
    for (keys, title, ended) in failed {
        let mut model = model();
        press(&mut model, keys);
        let number = match pressed(&mut model, "Ctrl-s")[..] {
            [Effect::Save(number, _) | Effect::Run(number, _)] => number,
            _ => panic!("nothing is begun: {keys}"),
        };
        assert!(model.over.is_empty(), "the screen is free meanwhile");
        update(&mut model, ended(number));
        let Some(Over::Form(form)) = model.over.last() else { panic!("the form is gone: {keys}") };
        assert_eq!((form.title.as_str(), form.at, form.is_sent), (title, 0, false));
        assert_eq!(form.error.as_deref(), Some(WHY), "{keys}");
        // Elsewhere nothing opens.
        let number = match pressed(&mut model, "Ctrl-s")[..] {
            [Effect::Save(number, _) | Effect::Run(number, _)] => number,
            _ => panic!("it is not tried again: {keys}"),
        };
        press(&mut model, "2");
        update(&mut model, ended(number));
        assert!(model.over.is_empty() && told(&model).contains(WHY), "{}", told(&model));
    }
}

#[test]
fn a_file_that_is_written_tells_how_far_it_is() {
    let mut model = model();
    let saving = Saving { ask: Ask::get("/api/x"), path: "/home/ana/inbox.csv".into() };
    let effects = model.step(Step::Save(saving));
    let [Effect::Save(number, _)] = effects[..] else { panic!("it is not written") };
    update(&mut model, Msg::Saving(number, 12_345_678));
    assert_eq!(told(&model), "Writing /home/ana/inbox.csv: 12,345,678 bytes … Esc stops");
    update(&mut model, Msg::Saved(number, Err("the disk is full".to_owned())));
    assert_eq!(told(&model), "✗ /home/ana/inbox.csv: the disk is full");
    update(&mut model, Msg::Saving(number, 13_000_000));
    assert_eq!(told(&model), "✗ /home/ana/inbox.csv: the disk is full", "it is over");
}
