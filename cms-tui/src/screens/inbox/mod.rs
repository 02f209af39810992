//! The inbox: what visitors of funnels sent, sorted, noted and assigned.
//!
//! ```text
//! filter   the filter line, as conditions of the service and back
//! wording  a submission in words: answers, the way that it took, files, mails
//! act      what can be done with submissions; whom they are for
//! target   which are meant: one, the marked ones, all that match
//! save     one changed, on condition that nobody else did; its notes
//! bulk     many changed or deleted as one act of the service
//! views    saved views
//! export   written into a file
//! ```

mod act;
mod bulk;
mod erase;
mod export;
mod filter;
mod save;
mod target;
mod views;
pub(super) mod wording;

use cms_http::wire::inbox::{InboxAsked, Submission, Submissions};

pub(super) use act::{act, is_shared};
pub(super) use export::at_home;

use super::{
    browser::{Parts, by_id},
    prelude::*,
};
use filter::{Conditions, TOKENS};

/// The states, in the order in which a lead goes through them.
pub(super) const STATES: [&str; 5] = ["new", "qualified", "contacted", "converted", "rejected"];

static PARTS: Parts = Parts { token: "state", names: &STATES };

pub(crate) static SPEC: Spec = Spec {
    rows: |_, data| by_id(data, "submission_id"),
    count: Some(count),
    parts: Some(&PARTS),
    detail: Some(|row, _| whole(row)),
    preview: |row, detail, _, now| wording::preview(row, detail, now),
    tokens: Some(|_| TOKENS.to_owned()),
    sorts: |_| SORTS.map(str::to_owned).to_vec(),
    marks_all: true,
    open: Some(|row, _| Step::Open(Place::about("submission", row))),
    empty: "Nobody has sent anything yet.",
    follows: |event, _| event.starts_with("formfunnel."),
    ..Spec::new("inbox", |_| "Inbox".to_owned(), columns, list, act::act_on_list)
};

/// All but the last have an index.
const SORTS: [&str; 6] =
    ["started_at", "score", "completed_at", "contact_name", "contact_email", "inbox_status"];

fn query(asked: &ListQuery<'_>) -> Result<InboxAsked, Fault> {
    let conditions = Conditions::read(asked.filter, asked.now, asked.who)?;
    Ok(InboxAsked { sort: asked.sort.clone(), ..conditions.query() })
}

fn list(of: &ListQuery<'_>) -> Result<Calling, Fault> {
    let (limit, cursor) = (Some(PAGE.to_string()), of.cursor.clone());
    get::<Submissions>(&InboxAsked { limit, cursor, ..query(of)? })
}

/// How many there are in each state: the first page tells it.
fn count(of: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Submissions>(&InboxAsked { limit: Some("1".to_owned()), sort: None, ..query(of)? })
}

/// A submission with its answers and its way.
pub(super) fn whole(row: &Json) -> Result<Calling, Fault> {
    get::<Submission>(&cms_http::wire::parameters::ById { id: id(row) })
}

pub(super) fn id(row: &Json) -> i64 {
    row["submission_id"].as_i64().unwrap_or_default()
}

/// What people call it: the contact, else its number.
pub(super) fn name(row: &Json) -> String {
    let members = ["contact_name", "contact_email", "company", "contact_phone", "reference"];
    let known = members.iter().filter_map(|name| row[*name].as_str());
    let known = known.map(str::trim).find(|text| !text.is_empty());
    known.map_or_else(|| format!("submission {}", id(row)), |text| safe(text).into_owned())
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("STATE", "inbox_status", 11, |row, _, _| wording::state(row)),
        column("AGE", "started_at", 4, age),
        column("CONTACT", "contact_name", 0, |row, _, _| contact(row)),
        column("ABOUT", "about", 0, |row, _, _| (wording::about(row), Role::Plain)),
        column("WAY", "way", 14, |row, _, _| wording::visit(row)).from(80),
        column("FUNNEL", "funnel_id", 12, |row, _, _| {
            (plain_text(&row["funnel_name"]), Role::Plain)
        })
        .from(92),
        column("FOR", "assigned_to", 7, |row, _, _| assigned(row)),
        column("SCORE", "score", 5, |row, name, _| (plain_text(&row[name]), Role::Plain)).from(70),
    ]
}

fn contact(row: &Json) -> Cell {
    let text = name(row);
    let role = if text.starts_with("submission ") { Role::Quiet } else { Role::Plain };
    (text, role)
}

fn assigned(row: &Json) -> Cell {
    match row["assigned_name"].as_str() {
        Some(name) => (safe(name).into_owned(), Role::Plain),
        None => ("—".to_owned(), Role::Quiet),
    }
}
