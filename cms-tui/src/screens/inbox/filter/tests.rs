//! Words are conditions, and back.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn now() -> i64 {
    moment::millis("2026-11-21T12:00:00Z").expect("a time")
}

fn read(filter: &str) -> Result<Conditions, Fault> {
    Conditions::read(filter, now(), "ana")
}

fn words(filter: &Json) -> String {
    super::words(filter, now())
}

fn said(filter: &str) -> String {
    let read = read(filter).unwrap_or_else(|fault| panic!("{filter}: {}", fault.detail));
    let one = |(column, op, value): &(String, String, String)| format!("{column} {op} {value}");
    let all: Vec<_> = read.all.iter().map(one).collect();
    format!("{}|{}", all.join("; "), read.search)
}

#[test]
fn words_are_conditions() {
    for (filter, expected) in [
        ("", "|"),
        ("ada lovelace", "|ada lovelace"),
        ("state:new", "inbox_status in new|"),
        ("state:new,qualified ada", "inbox_status in new,qualified|ada"),
        ("!state:rejected", "inbox_status nin rejected|"),
        ("visit:under-way", "status in in_progress; expires_at gt 2026-11-21T12:00:00Z|"),
        ("!visit:under-way,completed", "status nin in_progress,completed|"),
        ("status:in=in_progress,completed", "status in in_progress,completed|"),
        ("@me", "assigned_name eq ana|"),
        ("assigned:me", "assigned_name eq ana|"),
        ("for:ben !@nobody", "assigned_name eq ben; assigned_to null false|"),
        ("@nobody", "assigned_to null true|"),
        ("funnel:7", "funnel_id eq 7|"),
        ("funnel:\"Solar quote\"", "funnel_name contains Solar quote|"),
        ("score:>5 score:<=9", "score gt 5; score lte 9|"),
        ("!score:>5 !score:>=5", "score lte 5; score lt 5|"),
        ("!score:<5 !score:<=5 !score:5", "score gte 5; score gt 5; score ne 5|"),
        ("!score:gt=5 !company:ne=x", "score lte 5; company eq x|"),
        ("!funnel:7", "funnel_id ne 7|"),
        ("spam:no test:yes", "is_spam eq false; is_test eq true|"),
        ("since:2d", "started_at gte 2026-11-19T12:00:00Z|"),
        ("before:1h", "started_at lt 2026-11-21T11:00:00Z|"),
        ("company:x", "company contains x|"),
        ("contact_name:starts_with=A", "contact_name starts_with A|"),
        ("last_node_id=12", "last_node_id eq 12|"),
        ("O'Brien \"a:b\"", "|O'Brien a:b"),
        (r#"company:"A \"B\" C" "5\" pipe""#, r#"company contains A "B" C|5" pipe"#),
        ("\"@me\" \"state:new\" \"a=b\"", "|@me state:new a=b"),
        ("!state:\"new\" @\"Ada L\"", "inbox_status nin new; assigned_name eq Ada L|"),
    ] {
        assert_eq!(said(filter), expected, "{filter}");
    }
}

#[test]
fn a_wrong_word_is_named() {
    for wrong in [
        "colour:red", "state:", "state:nwe", "visit:new", "visit:under-way,completed",
        "visit:completed,under-way", "since:x", "score:high", "spam:maybe", "!ada",
        "!funnel:solar", "!company:contains=x",
    ] {
        let fault = read(wrong).expect_err(wrong);
        assert!(!fault.detail.is_empty(), "{wrong}");
    }
    assert!(Conditions::read("@me", 0, "").is_err(), "nobody is logged in");
}

#[test]
fn a_view_is_read_as_it_was_saved() {
    for filter in [
        "state:new @me",
        "visit:under-way",
        "status:in=in_progress,completed",
        "funnel:7 score:>=5 spam:no",
        "since:2026-11-19T12:00:00Z ada lovelace",
        "funnel:\"Solar quote\" @nobody",
        "contact_name:starts_with=A",
        "contact_name:\"eq=Ada Lovelace\"",
        "!state:rejected",
        "company:x source:google",
        "\"a:b\" \"@x\" \"!y\" \"k=v\" ada",
        "company:contains=a=b funnel_name:contains=7",
        "assigned_name:eq=me contact_name:\"eq=a b\"",
        "!visit:under-way,completed",
    ] {
        let (first, mut again) = (read(filter).expect(filter), read("").expect("none"));
        again.clone_from(&read(&words(&json!(first.body()))).expect("its own words"));
        let sorted = |mut one: Conditions| {
            one.all.sort();
            one
        };
        assert_eq!(sorted(again), sorted(first), "{filter}: {}", words(&json!({})));
    }
    assert_eq!(words(&json!({"inbox_status": "new", "assigned_to": null})), "state:new @nobody");
    assert_eq!(words(&json!({"search": "a:b ada"})), "\"a:b\" ada");
    // Of visits under way the present replaces a time that is past.
    for (at, kept) in [
        ("2026-11-20T00:00:00Z", "status in in_progress; expires_at gt 2026-11-21T12:00:00Z|"),
        ("2026-12-01T00:00:00Z", "expires_at gt 2026-12-01T00:00:00Z; status in in_progress|"),
    ] {
        let view = json!({"status": {"in": ["in_progress"]}, "expires_at": {"gt": at}});
        assert_eq!(said(&words(&view)), kept);
    }
}

/// Texts in which what the words know comes often.
fn any_text(most: usize) -> impl Strategy<Value = String> {
    let known = "\"\\ :=!@a1".chars().collect::<Vec<_>>();
    prop::collection::vec(prop::sample::select(known), 0..most)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn any_view_is_read_as_it_was_saved(
        all in prop::collection::btree_map(
            (
                prop::sample::select(vec![
                    "company", "contact_email", "contact_name", "utm_source", "reference",
                    "assigned_name", "funnel_name", "last_node_id",
                ]),
                prop::sample::select(vec!["eq", "ne", "contains", "starts_with"]),
            ),
            any_text(8),
            0..4,
        ),
        searched in prop::collection::vec(any_text(6), 0..4),
    ) {
        let all: BTreeMap<(&str, &str), String> = all;
        let one = |((column, op), value): (&(&str, &str), &String)| {
            ((*column).to_owned(), (*op).to_owned(), value.clone())
        };
        let search = searched.join(" ");
        let search = search.split_whitespace().collect::<Vec<_>>().join(" ");
        let saved = Conditions { all: all.iter().map(one).collect(), search };
        let words = words(&json!(saved.body()));
        let mut again = read(&words).map_err(|why| TestCaseError::fail(why.detail))?;
        again.all.sort();
        prop_assert_eq!(again, saved, "{}", words);
    }
}
