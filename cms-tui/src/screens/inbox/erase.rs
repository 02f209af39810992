//! Erases everything that was sent under an address, wherever it is stored. First shows what
//! would go, then asks for the address once more.

use cms_http::wire::inbox::{AskedErasure, Erase};

use crate::screens::prelude::*;

pub(super) fn ask(scene: &Scene<'_>) -> Step {
    let known = scene.row.map(|row| plain_text(&row["contact_email"])).unwrap_or_default();
    let field = Field::text("email", "Address of mail", &known)
        .hint("in submissions, forms, files, mails, events and what was sent of them")
        .required();
    Form::new("Erase an address", vec![field], |values| {
        let email = values.text("email").trim().to_owned();
        call(&email, true).then(move |reply| confirm(email, &reply))
    })
    .note("Nothing goes yet: first you see what would.")
    .step()
}

fn call(email: &str, dry_run: bool) -> Result<Calling, Fault> {
    let body = AskedErasure { email: email.to_owned(), dry_run };
    let call = send::<Erase>(&NoQuery {}, &body);
    call.map(Calling::whole::<Erase>)
}

/// What holds the address, by kind: `2 submissions, 5 events`.
fn found(receipt: &Json) -> Vec<String> {
    let kinds = receipt["removed"].as_object().into_iter().flatten();
    kinds.map(|(kind, rows)| format!("{} {}", rows["count"], kind.replace('_', " "))).collect()
}

fn confirm(email: String, reply: &Reply) -> Step {
    let found = found(&reply.data);
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
    let ask = Confirm::new(text, move || call(&email, false).then(|reply| receipt(&reply.data)));
    Step::Confirm(ask.typing(typed))
}

/// The receipt of the service, for the user to keep.
fn receipt(told: &Json) -> Step {
    let fact = |name: &str| plain_text(&told[name]);
    let mut lines = vec![
        (Role::Good, format!("✓ Erased {} by {}", fact("erased_at"), fact("erased_by"))),
        (Role::Quiet, format!("digest {}", fact("digest"))),
    ];
    lines.extend(found(told).into_iter().map(|rows| (Role::Plain, rows)));
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
