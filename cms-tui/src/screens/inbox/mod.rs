//! The inbox: what visitors of funnels sent, sorted, noted and assigned; what can be done with
//! submissions, from the list and from the screen of one.
//!
//! ```text
//! filter   the filter line, as conditions of the service and back
//! wording  a submission in words: answers, the way that it took, files, mails
//! save     one changed, on condition that nobody else did; many, as one act of the service
//! views    what the list shows, saved as a view or written into a file
//! ```

mod filter;
mod save;
mod views;
pub(super) mod wording;

use cms_http::wire::inbox::{
    AskedErasure, AssignableUsers, BulkOp, Erase, InboxAsked, Submission, Submissions,
};

pub(super) use views::at_home;

use super::{
    browser::{Parts, by_id},
    prelude::*,
};
use filter::{Conditions, TOKENS};
use save::Target;

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
    ..Spec::new("inbox", |_| "Inbox".to_owned(), columns, list, act_on_list)
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

fn act_on_list(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "next_state" => Step::Set("part", "1".to_owned()),
        "state_before" => Step::Set("part", "-1".to_owned()),
        "views" => views::choose(scene),
        "export" => views::export(scene),
        "erase" => ask_erasure(scene),
        _ => act(verb, scene),
    }
}

/// Whether the screen of one submission has the same action.
pub(crate) fn is_shared(verb: &str) -> bool {
    matches!(verb, "state" | "assign" | "notes" | "delete")
}

pub(crate) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "state" => save::chosen(scene, set_state),
        "assign" => assign(scene),
        "notes" => save::edit_notes(&row),
        "delete" => save::chosen(scene, |target| match target {
            Target::One(row) => save::delete(&row),
            many => save::delete_many(&many),
        }),
        _ => Step::None,
    }
}

fn set_state(target: Target) -> Step {
    let is_now = |state: &str| match &target {
        Target::One(row) if row["inbox_status"] == state => " (it is)",
        _ => "",
    };
    let entries = STATES.iter().map(|state| format!("{state}{}", is_now(state))).collect();
    let title = format!("State of {}", target.said());
    Step::Menu(Menu::new(title, entries, move |n| {
        let Some(state) = STATES.get(n) else { return Step::None };
        match target {
            Target::One(row) => {
                let wanted = Map::from_iter([("inbox_status".to_owned(), Json::from(*state))]);
                save::write(row, wanted, format!("is {state}"))
            }
            many => {
                save::set_many(&many, BulkOp::SetStatus, Json::from(*state), (*state).to_owned())
            }
        }
    }))
}

/// Users that a menu offers.
const MOST: u32 = 500;

fn assign(scene: &Scene<'_>) -> Step {
    let who = scene.who.to_owned();
    save::chosen(scene, move |target| {
        let asked = cms_http::wire::parameters::ListQuery::page(Limit(MOST), None);
        get::<AssignableUsers>(&asked).then(move |reply| offered(target, &reply.data, &who))
    })
}

/// Offers the user first, then nobody, then all others by name.
fn offered(target: Target, users: &Json, who: &str) -> Step {
    let user = |user: &Json| {
        let name = user["username"].as_str().unwrap_or_default().to_owned();
        (name, user["id"].clone())
    };
    let mut people: Vec<(String, Json)> = items(users).iter().map(user).collect();
    people.sort_by_key(|(name, _)| (name != who, name.to_lowercase()));
    let after_me = usize::from(people.first().is_some_and(|(name, _)| name == who));
    people.insert(after_me, ("nobody".to_owned(), Json::Null));
    let entry = |(name, _): &(String, Json)| match name == who {
        true => format!("{} (you)", safe(name)),
        false => safe(name).into_owned(),
    };
    let entries = people.iter().map(entry).collect();
    Step::Menu(Menu::new(format!("Assign {} to", target.said()), entries, move |n| {
        let Some((name, id)) = people.into_iter().nth(n) else { return Step::None };
        match target {
            Target::One(row) => {
                let wanted = Map::from_iter([("assigned_to".to_owned(), id)]);
                save::write(row, wanted, format!("is for {name}"))
            }
            many => save::set_many(&many, BulkOp::Assign, id, format!("for {name}")),
        }
    }))
}

/// Erases everything that was sent under an address, wherever it is stored. First shows what would
/// go, then asks for the address once more.
fn ask_erasure(scene: &Scene<'_>) -> Step {
    let known = scene.row.map(|row| plain_text(&row["contact_email"])).unwrap_or_default();
    let field = Field::text("email", "Address of mail", &known)
        .hint("in submissions, forms, files, mails, events and what was sent of them")
        .required();
    Form::new("Erase an address", vec![field], |values| {
        let email = values.text("email").trim().to_owned();
        erasure(&email, true).then(move |reply| confirm_erasure(email, &reply))
    })
    .note("Nothing goes yet: first you see what would.")
    .step()
}

fn erasure(email: &str, dry_run: bool) -> Result<Calling, Fault> {
    let body = AskedErasure { email: email.to_owned(), dry_run };
    let call = send::<Erase>(&NoQuery {}, &body);
    call.map(Calling::whole::<Erase>)
}

/// What holds the address, by kind: `2 submissions, 5 events`.
fn held(receipt: &Json) -> Vec<String> {
    let kinds = receipt["removed"].as_object().into_iter().flatten();
    kinds.map(|(kind, rows)| format!("{} {}", rows["count"], kind.replace('_', " "))).collect()
}

fn confirm_erasure(email: String, reply: &Reply) -> Step {
    let found = held(&reply.data);
    let shown = safe(&email).into_owned();
    if found.is_empty() {
        let left = left(&reply.data);
        return match left.is_empty() {
            true => Step::Tell(format!("Nothing holds {shown}.")),
            false => Step::View(Viewer::new(format!("Files alone hold {shown}"), left)),
        };
    }
    let text = format!(
        "Erase for good what was sent as {shown}: {}? This cannot be taken back.",
        found.join(", ")
    );
    let typed = email.clone();
    let ask = Confirm::new(text, move || erasure(&email, false).then(|reply| receipt(&reply.data)));
    Step::Confirm(ask.typing(typed))
}

/// The receipt of the service, for the user to keep.
fn receipt(told: &Json) -> Step {
    let fact = |name: &str| plain_text(&told[name]);
    let mut lines = vec![
        (Role::Good, format!("✓ Erased {} by {}", fact("erased_at"), fact("erased_by"))),
        (Role::Quiet, format!("digest {}", fact("digest"))),
    ];
    lines.extend(held(told).into_iter().map(|rows| (Role::Plain, rows)));
    lines.push((Role::Plain, format!("database: {}", fact("database"))));
    lines.extend(left(told));
    Step::View(Viewer::new("Receipt of the erasure", lines))
}

/// Files that hold the address, or may.
fn left(told: &Json) -> Lines {
    let mut lines = Vec::new();
    for (member, said) in [("copies", "held by"), ("unread", "not looked into")] {
        let files = items(&told[member]).iter();
        lines.extend(files.map(|file| (Role::Warn, format!("◐ {said}: {}", plain_text(file)))));
    }
    lines
}
