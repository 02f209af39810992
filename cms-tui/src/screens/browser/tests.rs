//! Lists against a service that has many rows.

use std::sync::atomic::{AtomicUsize, Ordering};

use cms_http::{client::Ask, wire::origins};
use ratatui::{Terminal, backend::TestBackend};
use serde_json::json;

use super::*;
use crate::{
    screens::cells::{column, plain},
    step::{Calling, To},
    theme::Role,
};

fn columns(_: &Json) -> Vec<Column> {
    vec![column("NAME", "name", 0, plain)]
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let ask = Ask::get("/rows").maybe("cursor", asked.cursor.clone());
    Ok(Calling {
        ask,
        read: |_| Ok(Reply::default()),
        to: To::Slot(0),
        reread: None,
        is_count: false,
    })
}

const fn rows() -> Spec {
    Spec::new("rows", |_| "Rows".to_owned(), columns, list, |_, _| Step::None)
}

static FILTERED: Spec = Spec { tokens: Some(|_| String::new()), ..rows() };
static WHOLE: Spec = rows();

#[test]
fn lists_of_the_service_are_sorted_by_all_their_columns() {
    let names = sorted::<origins::Read>(&Json::Null);
    assert_eq!(names, ["id", "origin", "active", "created_at"]);
}

/// Rows of a service, newest first: page after page, by a cursor that names the last row seen.
struct Service {
    rows: Vec<i64>,
    calls: usize,
    /// Begins the names.
    name: &'static str,
}

impl Service {
    fn of(count: i64) -> Self {
        Self { rows: (0..count).rev().collect(), calls: 0, name: "row" }
    }

    fn page(&mut self, line: &str) -> Reply {
        self.calls += 1;
        let after = line.split(['?', '&']).find_map(|one| one.strip_prefix("cursor="));
        let after = after.and_then(|id| id.parse().ok()).unwrap_or(i64::MAX);
        let page: Vec<i64> = self.rows.iter().copied().filter(|id| *id < after).take(200).collect();
        let is_end = page.last() == self.rows.last();
        let next = page.last().filter(|_| !is_end).map(i64::to_string);
        let rows = page.iter().map(|id| json!({"id": id, "name": format!("{} {id}", self.name)}));
        Reply { data: rows.collect(), next, ..Reply::default() }
    }

    /// Answers all that the screen asks. Returns whether anything became different.
    fn serve(&mut self, screen: &mut Browser, step: Step) -> bool {
        let (mut waiting, mut changed) = (vec![step], false);
        while let Some(step) = waiting.pop() {
            match step {
                Step::Several(steps) => waiting.extend(steps),
                Step::Call(calling) => {
                    let reply = self.page(&calling.ask.line());
                    let (step, different) = screen.take(0, Ok(reply));
                    changed |= different;
                    waiting.push(step);
                }
                _ => {}
            }
        }
        changed
    }

    fn open(&mut self, spec: &'static Spec) -> Browser {
        let mut browser = Browser::new(spec, Place::of("rows"));
        let step = browser.load();
        self.serve(&mut browser, step);
        browser
    }

    fn press(&mut self, browser: &mut Browser, verb: &str, times: usize) {
        for _ in 0..times {
            let step = browser.move_list(verb);
            self.serve(browser, step);
        }
    }

    fn refresh(&mut self, browser: &mut Browser) -> bool {
        let step = browser.load();
        self.serve(browser, step)
    }
}

/// A list of so many rows, after so many keys down.
fn scrolled(rows: i64, spec: &'static Spec, down: usize) -> (Service, Browser) {
    let mut service = Service::of(rows);
    let mut browser = service.open(spec);
    browser.list.height.set(20);
    service.press(&mut browser, "down", down);
    (service, browser)
}

fn terminal(width: u16, height: u16) -> Terminal<TestBackend> {
    Terminal::new(TestBackend::new(width, height)).expect("a terminal")
}

fn draw(terminal: &mut Terminal<TestBackend>, browser: &Browser) {
    terminal.draw(|frame| browser.draw(frame, frame.area(), Look::default())).expect("drawn");
}

/// Types a key into the filter, and pauses.
fn type_key(service: &mut Service, browser: &mut Browser, key: &str) {
    let step = browser.key(key.parse().expect("a key")).expect("taken");
    service.serve(browser, step);
    let (step, _) = browser.pause();
    service.serve(browser, step);
}

fn ids(browser: &Browser) -> Vec<i64> {
    browser.list.window.rows().filter_map(|row| row.id.parse().ok()).collect()
}

fn here(browser: &Browser) -> Option<i64> {
    browser.row().and_then(|row| row["id"].as_i64())
}

#[test]
fn a_refresh_reads_in_place_and_drops_no_neighbour() {
    let (mut service, mut browser) = scrolled(1_000, &FILTERED, 395);
    let (before, calls) = (ids(&browser), service.calls);
    assert_eq!((before.len(), here(&browser)), (600, Some(604)));
    assert!(!service.refresh(&mut browser), "nothing is different");
    assert_eq!((ids(&browser), here(&browser)), (before, Some(604)));
    assert!(service.calls - calls <= 2, "only what is seen is read");
    // Rows before it and after it go; the row under the cursor stays.
    service.rows.retain(|id| *id != 610 && *id != 600);
    assert!(service.refresh(&mut browser));
    assert_eq!((ids(&browser).len(), here(&browser)), (600, Some(604)));
    let held = ids(&browser);
    assert!(held.windows(2).all(|two| two[0] > two[1]), "no row twice, none out of order");
    assert!(!held.contains(&610) && !held.contains(&600));
    // It goes itself: no row is selected, until a key is pressed.
    service.rows.retain(|id| *id != 604);
    service.refresh(&mut browser);
    assert_eq!(here(&browser), None);
    service.press(&mut browser, "down", 1);
    assert_eq!(here(&browser), Some(603));
}

#[test]
fn new_rows_at_the_top_push_the_others_down() {
    let (mut service, mut browser) = scrolled(1_000, &FILTERED, 199);
    assert_eq!(here(&browser), Some(800));
    service.rows.splice(..0, [1_001, 1_000]);
    // The cursor is on the second page by now, which is not on the screen yet.
    service.refresh(&mut browser);
    assert_eq!(here(&browser), Some(800));
    assert!(ids(&browser).windows(2).all(|two| two[0] == two[1] + 1), "no row is missing");
}

#[test]
fn later_pages_have_the_filter_of_the_first() {
    let (mut service, mut browser) = scrolled(1_000, &FILTERED, 0);
    browser.tick(1_000);
    service.press(&mut browser, "down", 300);
    service.refresh(&mut browser);
    service.press(&mut browser, "first", 1);
    service.refresh(&mut browser);
    assert_eq!((browser.filter_now, ids(&browser).len()), (0, 600));
    let step = browser.restart();
    service.serve(&mut browser, step);
    assert_eq!(browser.filter_now, 1_000);
}

#[test]
fn a_list_that_the_service_does_not_filter_is_a_window_when_it_is_long() {
    let (mut service, mut browser) = scrolled(10_000, &WHOLE, 5_000);
    assert_eq!(here(&browser), Some(4_999));
    assert!(ids(&browser).len() <= 600 && browser.whole.is_empty(), "memory is bounded");
    // Its filter looks through all of it.
    browser.list.is_filtering = true;
    for key in "r o w Space 1 2 3".split(' ') {
        type_key(&mut service, &mut browser, key);
    }
    let found = ids(&browser);
    assert_eq!((found.len(), found.first(), found.last()), (20, Some(&9_123), Some(&123)));
    type_key(&mut service, &mut browser, "Esc");
    assert_eq!(ids(&browser).first(), Some(&9_999), "all of it again");
}

#[test]
fn a_filter_is_in_force_when_its_line_is_closed() {
    let mut service = Service::of(10);
    let mut browser = service.open(&FILTERED);
    // Nobody pauses, and nothing is answered.
    for (keys, filter) in [("p 2 Enter", "p2"), ("0 Esc", ""), ("p 2 Enter", "p2")] {
        browser.list.is_filtering = true;
        for key in keys.split(' ') {
            drop(browser.key(key.parse().expect("a key")));
        }
        assert_eq!((browser.applied(), here(&browser)), (filter, None), "{keys}");
    }
    drop(browser.back());
    assert_eq!(browser.applied(), "");
}

#[test]
fn a_frame_builds_the_rows_that_are_seen() {
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    static SPEC: Spec = Spec {
        tokens: Some(|_| String::new()),
        columns: |_| {
            vec![column("NAME", "name", 0, |row, name, now| {
                BUILT.fetch_add(1, Ordering::Relaxed);
                plain(row, name, now)
            })]
        },
        ..rows()
    };
    let mut service = Service::of(1_000);
    let mut browser = service.open(&SPEC);
    service.press(&mut browser, "down", 300);
    for (width, height) in [(60, 16), (100, 30), (200, 60)] {
        let mut terminal = terminal(width, height);
        let before = BUILT.load(Ordering::Relaxed);
        draw(&mut terminal, &browser);
        let built = BUILT.load(Ordering::Relaxed) - before;
        assert!(built > 3 && built <= usize::from(height) + 2, "{built} rows for {height} lines");
    }
}

#[test]
fn the_preview_is_made_once_for_a_row() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static SPEC: Spec = Spec {
        preview: |_, _, _, _| {
            MADE.fetch_add(1, Ordering::Relaxed);
            vec![(Role::Plain, "line".to_owned()); 100_000]
        },
        ..rows()
    };
    let mut service = Service::of(10);
    let mut browser = service.open(&SPEC);
    let mut terminal = terminal(100, 30);
    for _ in 0..50 {
        draw(&mut terminal, &browser);
    }
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
    assert!(browser.preview.borrow().lines.len() < 6_000, "and not without end");
    service.press(&mut browser, "down", 1);
    draw(&mut terminal, &browser);
    assert_eq!(MADE.load(Ordering::Relaxed), 2);
}

#[test]
fn what_may_not_be_seen_any_more_is_gone() {
    let mut service = Service::of(10);
    let mut browser = service.open(&FILTERED);
    let code = "permission_denied".to_owned();
    drop(browser.load());
    browser.take(0, Err(Fault { code, ..Fault::new("no") }));
    assert_eq!((ids(&browser).len(), here(&browser)), (0, None));
}

#[test]
fn a_held_page_is_read_again_when_it_is_seen() {
    let (mut service, mut browser) = scrolled(1_000, &FILTERED, 395);
    browser.list.top.set(375);
    service.name = "new";
    service.refresh(&mut browser);
    let name = |browser: &Browser| browser.row().map(|row| row["name"].clone());
    assert_eq!(name(&browser), Some(json!("new 604")));
    let calls = service.calls;
    service.press(&mut browser, "down", 4);
    assert_eq!(service.calls, calls, "a page that is held is not read before it is seen");
    for (verb, expected) in [("down", "new 599"), ("first", "new 999")] {
        service.press(&mut browser, verb, 1);
        browser.list.top.set(browser.list.at());
        assert_eq!(name(&browser), Some(json!(expected)));
    }
    // What was read a moment ago is not read again.
    let calls = service.calls;
    service.press(&mut browser, "down", 20);
    assert_eq!(service.calls, calls);
}

static DETAILED: Spec =
    Spec { detail: Some(|_, _| Ok(Calling::to("/row", |_| Ok(Reply::default())))), ..rows() };

/// A list whose details are asked for and not answered yet.
fn detailed() -> Browser {
    let mut browser = Browser::new(&DETAILED, Place::of("rows"));
    drop(browser.load());
    let rows = Reply { data: json!([{"id": 1, "name": "one"}]), ..Reply::default() };
    let (step, _) = browser.take(0, Ok(rows));
    assert_eq!(asked(step), ["GET /row"]);
    browser
}

fn asked(step: Step) -> Vec<String> {
    match step {
        Step::Several(steps) => steps.into_iter().flat_map(asked).collect(),
        Step::Call(calling) => vec![calling.ask.line()],
        _ => Vec::new(),
    }
}

fn whole(text: &str) -> Result<Reply, Fault> {
    Ok(Reply { data: json!({"id": 1, "body": text}), ..Reply::default() })
}

#[test]
fn events_do_not_starve_the_preview() {
    let mut browser = detailed();
    for _ in 0..3 {
        browser.outdate(false);
        assert!(asked(browser.pause().0).is_empty(), "it is asked once until the reply comes");
    }
    assert!(browser.take(1, whole("first")).1);
    assert_eq!(browser.detail.as_ref().map(|(_, detail)| &detail["body"]), Some(&json!("first")));
    // What happened meanwhile is read with the next look, though the rows are the same.
    assert_eq!(asked(browser.pause().0), ["GET /row"]);
    assert!(browser.take(1, whole("second")).1);
    assert!(asked(browser.pause().0).is_empty());
}

#[test]
fn the_preview_is_read_again_when_the_list_is_polled() {
    let mut browser = detailed();
    browser.take(1, whole("first"));
    browser.tick(4_000);
    drop(browser.load());
    assert!(asked(browser.pause().0).is_empty(), "not with every look at a list close by");
    browser.tick(5_000);
    drop(browser.load());
    assert_eq!(asked(browser.pause().0), ["GET /row"]);
}

#[test]
fn a_click_on_the_large_preview_hits_no_row_below_it() {
    let mut service = Service::of(10);
    let mut browser = service.open(&WHOLE);
    let mut terminal = terminal(100, 30);
    draw(&mut terminal, &browser);
    service.press(&mut browser, "zoom", 1);
    draw(&mut terminal, &browser);
    assert!(matches!(browser.click(Position::new(5, 5)), Clicked::Nothing));
    assert_eq!(here(&browser), Some(9));
    service.press(&mut browser, "zoom", 1);
    assert!(matches!(browser.click(Position::new(5, 5)), Clicked::Moved(_)));
}

#[test]
fn what_was_counted_goes_when_the_filter_cannot_be_read() {
    static PARTS: Parts = Parts { token: "state", names: &["new"] };
    static SPEC: Spec = Spec {
        parts: Some(&PARTS),
        list: |_| Err(Fault::new("not understood")),
        tokens: Some(|_| String::new()),
        ..rows()
    };
    let mut browser = Browser::new(&SPEC, Place::of("rows"));
    browser.counts = json!({"new": 7});
    browser.list.window.total = Some(7);
    drop(browser.load());
    assert_eq!((&browser.counts, browser.list.window.total), (&Json::Null, None));
    // The count of the filter before comes late.
    let late = Reply { counts: json!({"new": 7}), ..Reply::default() };
    assert!(!browser.take(2, Ok(late)).1 && browser.counts.is_null());
}

#[test]
fn what_was_counted_goes_with_the_right_to_see_it() {
    static ABOVE: Above = Above {
        title: "Counts",
        asks: &[|| Ok(Calling::to("/counts", |_| Ok(Reply::default())))],
        height: 1,
        lines: |_, _| Vec::new(),
    };
    static SPEC: Spec = Spec { above: Some(&ABOVE), ..rows() };
    let mut browser = Browser::new(&SPEC, Place::of("rows"));
    let counts = Reply { data: json!({"waiting": 7}), ..Reply::default() };
    browser.take(draw::ABOVE, Ok(counts));
    browser.list.window.total = Some(7);
    for slot in [draw::ABOVE, 2] {
        let code = "permission_denied".to_owned();
        let (_, changed) = browser.take(slot, Err(Fault { code, ..Fault::default() }));
        assert!(changed);
    }
    assert_eq!((&browser.above[..], browser.list.window.total), (&[Json::Null][..], None));
}
