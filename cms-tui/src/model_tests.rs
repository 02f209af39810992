use serde_json::json;

use super::*;

fn loaded(rows: usize, next: Option<&str>) -> Page {
    Page {
        columns: vec!["id".into()],
        rows: (0..rows).map(|n| vec![n.to_string()]).collect(),
        next: next.map(str::to_owned),
    }
}

fn model() -> Model {
    let (mut model, effects) = Model::new("here".into(), vec!["blog".into(), "pages".into()]);
    assert_eq!(effects, [Effect::Load { generation: 1, table: "blog".into(), cursor: None }]);
    assert_eq!(update(&mut model, Msg::Loaded(1, Ok(loaded(3, Some("c2"))))), []);
    model
}

#[test]
fn another_table_is_loaded_and_older_answers_are_dropped() {
    let mut model = model();
    let effects = update(&mut model, Msg::Down);
    assert_eq!(effects, [Effect::Load { generation: 2, table: "pages".into(), cursor: None }]);
    assert!(model.rows.is_empty());
    update(&mut model, Msg::Loaded(1, Ok(loaded(9, None))));
    assert!(model.rows.is_empty(), "an answer for the table before");
    update(&mut model, Msg::Loaded(2, Ok(loaded(1, None))));
    assert_eq!((model.rows.len(), &model.link), (1, &Link::Live));
}

#[test]
fn pages_are_turned_and_turned_back() {
    let mut model = model();
    assert_eq!(update(&mut model, Msg::PreviousPage), []);
    let effects = update(&mut model, Msg::NextPage);
    assert_eq!(
        effects,
        [Effect::Load { generation: 2, table: "blog".into(), cursor: Some("c2".into()) }]
    );
    assert_eq!(update(&mut model, Msg::NextPage), [], "while it loads");
    update(&mut model, Msg::Loaded(2, Ok(loaded(2, None))));
    assert_eq!((model.page(), update(&mut model, Msg::NextPage)), (2, Vec::new()));
    let effects = update(&mut model, Msg::PreviousPage);
    assert_eq!(effects, [Effect::Load { generation: 3, table: "blog".into(), cursor: None }]);
    assert_eq!(model.page(), 1);
}

#[test]
fn a_failure_keeps_the_rows_and_a_reload_asks_again() {
    let mut model = model();
    let effects = update(&mut model, Msg::Reload);
    assert_eq!(effects, [Effect::Load { generation: 2, table: "blog".into(), cursor: None }]);
    update(&mut model, Msg::Loaded(2, Err("connection refused".into())));
    assert_eq!((model.rows.len(), &model.link), (3, &Link::Failed("connection refused".into())));
}

#[test]
fn rows_are_walked_within_their_bounds() {
    let mut model = model();
    update(&mut model, Msg::Switch);
    let table = [
        (Msg::Up, 0),
        (Msg::Down, 1),
        (Msg::Last, 2),
        (Msg::Down, 2),
        (Msg::First, 0),
        (Msg::Help, 0),
        (Msg::Down, 0),
        (Msg::Help, 0),
    ];
    for (msg, row) in table {
        assert_eq!((update(&mut model, msg.clone()), model.row), (Vec::new(), row), "{msg:?}");
    }
}

#[test]
fn back_is_one_step_and_ends_at_home() {
    let mut model = model();
    update(&mut model, Msg::Switch);
    update(&mut model, Msg::Help);
    assert_eq!(update(&mut model, Msg::Back), []);
    assert!(!model.help);
    assert_eq!(update(&mut model, Msg::Back), []);
    assert_eq!(model.pane, Pane::Tables);
    assert_eq!(update(&mut model, Msg::Back), [Effect::Quit]);
}

#[test]
fn no_sequence_of_messages_panics() {
    let all = [
        Msg::Up,
        Msg::Down,
        Msg::First,
        Msg::Last,
        Msg::Switch,
        Msg::NextPage,
        Msg::PreviousPage,
        Msg::Reload,
        Msg::Help,
        Msg::Back,
        Msg::Redraw,
        Msg::Loaded(1, Ok(loaded(0, None))),
        Msg::Loaded(2, Ok(loaded(5, Some("c")))),
        Msg::Loaded(2, Err("x".into())),
    ];
    let (mut empty, effects) = Model::new(String::new(), Vec::new());
    assert_eq!(effects, []);
    let mut full = model();
    // A small generator instead of chance: the same walk in every run.
    let mut state = 7_usize;
    for _ in 0..20_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let msg = &all[(state >> 33) % all.len()];
        update(&mut empty, msg.clone());
        update(&mut full, msg.clone());
    }
}

#[test]
fn a_body_becomes_a_page() {
    let record = json!({"b": null, "id": 1, "tags": ["x"], "title": "T"});
    let body = json!({"data": [record], "meta": {"limit": 50, "next": "c"}});
    let body = serde_json::from_str(&body.to_string()).expect("a page");
    let page = page(&body).expect("records");
    assert_eq!(page.columns, ["id", "title", "b", "tags"]);
    assert_eq!(page.rows, [["1", "T", "", "[\"x\"]"]]);
    assert_eq!(page.next.as_deref(), Some("c"));
}
