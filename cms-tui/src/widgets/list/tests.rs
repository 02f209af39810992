use super::*;

fn rows(ids: &[&str]) -> Vec<Row> {
    ids.iter().map(|id| Row { id: (*id).to_owned(), json: Json::from(*id) }).collect()
}

#[test]
fn cursor_and_marks_stay_on_their_rows() {
    let mut list = List::default();
    list.replace(rows(&["a", "b", "c", "d"]));
    list.act("down");
    list.act("mark");
    assert_eq!((list.at(), list.marks.len()), (2, 1));
    list.top_for(2);
    let line = list.at() - list.top.get();
    list.replace(rows(&["new", "newer", "a", "b", "c", "d"]));
    assert_eq!(list.row().map(|row| row.id.as_str()), Some("c"));
    assert_eq!(list.at() - list.top_for(2), line, "it stays on its line");
    assert_eq!(list.top_for(10), 0, "what fits is shown whole");
    assert!(list.marks.contains_key("b"));
}

#[test]
fn no_row_is_selected_when_the_one_under_the_cursor_is_gone() {
    let mut list = List::default();
    list.replace(rows(&["a", "b", "c"]));
    list.act("down");
    list.act("mark");
    list.act("up");
    list.replace(rows(&["a", "c"]));
    assert_eq!((list.row(), list.here(), list.marks.len()), (None, None, 0));
    list.replace(rows(&["a", "x", "c"]));
    assert_eq!(list.row(), None, "also after the next look");
    list.act("down");
    assert_eq!(list.row().map(|row| row.id.as_str()), Some("x"), "the key selects again");
    // A row that was asked for by its id, and is not there.
    let mut list = List::default();
    list.look_for("z");
    list.replace(rows(&["a"]));
    assert_eq!(list.row(), None);
}

#[test]
fn all_rows_are_marked_beside_those_marked_before() {
    let mut list = List::default();
    list.marks.insert("far".to_owned(), Json::Null);
    list.replace(rows(&["a", "b"]));
    list.act("mark_all");
    assert_eq!(list.marks.keys().collect::<Vec<_>>(), ["a", "b", "far"]);
}

#[test]
fn all_that_match_are_marked_until_others_match() {
    let mut list = List { is_all: true, ..List::default() };
    list.replace(rows(&["a", "b"]));
    assert!(list.is_marked("b") && list.is_marked("of another page"));
    assert_eq!(list.back(), Some(Moved::Here));
    assert!(!list.is_marked("b"));
    for verb in ["mark", "range"] {
        list.is_all = true;
        list.act(verb);
        assert_eq!((list.is_all, list.marks.len()), (false, 0), "{verb}");
    }
    list.is_all = true;
    list.restart();
    assert!(!list.is_all);
}

#[test]
fn whoever_moved_a_row_away_goes_on_with_the_next() {
    let mut list = List::default();
    list.replace(rows(&["a", "b", "c"]));
    list.act("down");
    list.goes_on = true;
    list.replace(rows(&["a", "c"]));
    assert_eq!(list.row().map(|row| row.id.as_str()), Some("c"));
    list.replace(rows(&["a"]));
    assert_eq!(list.row(), None, "once only: what others take away is another thing");
}

#[test]
fn cursor_and_marks_are_forgotten() {
    let mut list = List::default();
    list.replace(rows(&["a", "b"]));
    list.act("down");
    list.act("mark");
    list.forget();
    list.replace(rows(&["a", "b"]));
    assert_eq!((list.at(), list.marks.len()), (0, 0));
}

#[test]
fn the_cursor_is_put_on_a_row_that_is_not_there_yet() {
    let mut list = List::default();
    list.look_for("b");
    list.replace(rows(&["a", "b"]));
    assert_eq!(list.row().map(|row| row.id.as_str()), Some("b"));
}

#[test]
fn a_range_is_marked_and_esc_takes_one_step() {
    let mut list = List::default();
    list.replace(rows(&["a", "b", "c", "d"]));
    for verb in ["range", "down", "down", "range"] {
        list.act(verb);
    }
    assert_eq!(list.marks.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    list.filter = Input::of("x");
    assert_eq!(list.back(), Some(Moved::Here));
    assert_eq!(list.back(), Some(Moved::Filtered));
    assert_eq!(list.back(), None);
}
