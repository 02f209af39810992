//! What can be done with funnels.

use cms_http::wire::funnels::{
    Create, Delete, Deletion, Duplicate, Duplicated, MayName, Publication, Publish, Save,
    WhichFunnel,
};

use super::name;
use crate::screens::prelude::*;

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "graph" => Step::Open(Place::about("funnel", &row)),
        "new" => new(),
        _ => shared(verb, &row),
    }
}

/// Acts that the list and the screen of one funnel share.
pub(super) fn shared(verb: &str, funnel: &Json) -> Step {
    match verb {
        "show" => super::whole(funnel).view(format!("Funnel {}", name(funnel))),
        "inbox" => Step::Open(Place::of("inbox").filtered(format!("funnel:{}", acts::id(funnel)))),
        "analytics" => Step::Open(Place::about("analytics", funnel)),
        "check" => check(funnel),
        "publish" => publish(funnel.clone()),
        "archive" => archive(funnel.clone()),
        "duplicate" => duplicate(funnel),
        "delete" => delete(funnel.clone()),
        _ => Step::None,
    }
}

/// An empty draft.
fn new() -> Step {
    let fields = vec![
        Field::text("name", "Name", "").hint("such as Lead funnel").required(),
        Field::text("slug", "Slug", "").hint("for addresses; made from the name when it is empty"),
    ];
    let note = "It begins as an empty draft. cms funnels edit draws its steps.";
    Form::new("A new funnel", fields, make).note(note).step()
}

fn make(values: &Values) -> Step {
    let mut funnel = json!({"name": values.text("name")});
    let slug = values.text("slug");
    if !slug.trim().is_empty() {
        funnel["slug"] = slug.trim().into();
    }
    send_json::<Create>(&NoQuery {}, funnel).then(|reply| {
        let (name, slug) = (name(&reply.data), plain_text(&reply.data["slug"]));
        Step::did(format!("{name} is made as a draft: cms funnels edit {slug} draws it"))
    })
}

fn which(funnel: &Json) -> Option<WhichFunnel> {
    Some(WhichFunnel::Id(acts::id(funnel)))
}

fn publication(funnel: &Json, rev: Option<i64>) -> Publication {
    Publication { id: which(funnel), rev, strict: false, dry_run: false }
}

/// Checks whether the funnel could be published. Stores nothing.
pub(super) fn judging(funnel: &Json) -> Result<Calling, Fault> {
    let body = Publication { dry_run: true, ..publication(funnel, None) };
    send::<Publish>(&MayName::default(), &body)
}

/// All problems and warnings: whether each prevents publishing, where it is, and what it says.
pub(super) fn problems(judged: &Result<Reply, Fault>) -> Vec<(bool, String, Option<i64>, String)> {
    match judged {
        Ok(reply) => {
            let warnings = items(&reply.data["warnings"]).iter();
            let one = |one: &Json| {
                let [path, message] = ["path", "message"].map(|name| plain_text(&one[name]));
                (false, path, one["node"].as_i64(), message)
            };
            warnings.map(one).collect()
        }
        Err(fault) => {
            let one = |one: &cms_http::wire::FieldProblem| {
                (true, one.field.clone(), None, one.message.clone())
            };
            fault.errors.iter().map(one).collect()
        }
    }
}

fn check(funnel: &Json) -> Step {
    let title = format!("Check of {}", name(funnel));
    judging(funnel).ending(move |judged| match &judged {
        Err(fault) if fault.code != "not_publishable" => Step::Fault(fault.clone()),
        _ => Step::View(Viewer::new(title, problem_lines(&judged))),
    })
}

fn problem_lines(judged: &Result<Reply, Fault>) -> Lines {
    let found = problems(judged);
    let refused = found.iter().filter(|(is_bad, ..)| *is_bad).count();
    let mut lines = vec![match (refused, found.len()) {
        (0, 0) => (Role::Good, "✓ It can be published.".to_owned()),
        (0, n) => (Role::Good, format!("✓ It can be published: {}.", count(n, "warning"))),
        (n, _) => (Role::Bad, format!("✗ It cannot be published: {}.", count(n, "problem"))),
    }];
    for (is_bad, path, _, message) in found {
        let (sign, role) = if is_bad { ("✗", Role::Bad) } else { ("◐", Role::Warn) };
        lines.push((role, format!("{sign} {path}")));
        lines.extend(paragraph(Role::Plain, "    ", &message, 74));
    }
    lines
}

/// Publishes the funnel only in the state that its author has seen.
fn publish(funnel: Json) -> Step {
    let text = format!(
        "Publish {}? New visits begin with it as it is drawn; those under way keep their version.",
        name(&funnel)
    );
    Step::Confirm(Confirm::new(text, move || {
        let body = publication(&funnel, funnel["rev"].as_i64());
        send::<Publish>(&MayName::default(), &body).ending(move |outcome| match outcome {
            Ok(reply) => {
                let version = plain_text(&reply.data["version"]);
                Step::did(format!("{} is published as version {version}", name(&funnel)))
            }
            Err(fault) if fault.code == "not_publishable" => {
                let title = format!("Check of {}", name(&funnel));
                Step::View(Viewer::new(title, problem_lines(&Err(fault))))
            }
            Err(fault) => Step::Fault(moved(fault)),
        })
    }))
}

/// The message for a funnel that somebody has saved since.
fn moved(fault: Fault) -> Fault {
    match fault.code.as_str() {
        "rev_conflict" => Fault {
            detail: "Somebody has saved it since: look again (F5). Nothing was done.".to_owned(),
            ..fault
        },
        _ => fault,
    }
}

fn archive(funnel: Json) -> Step {
    let text =
        format!("Archive {}? No visit begins any more; those under way go on.", name(&funnel));
    Step::Confirm(Confirm::new(text, move || {
        let funnel_id = acts::id(&funnel);
        let body = json!({"id": funnel_id, "rev": funnel["rev"], "funnel": {"status": "archived"}});
        ended(
            send_json::<Save>(&MayName::default(), body),
            format!("{} is archived", name(&funnel)),
        )
    }))
}

fn duplicate(funnel: &Json) -> Step {
    let body = Duplicated { id: which(funnel), ..Duplicated::default() };
    ended(
        send::<Duplicate>(&MayName::default(), &body),
        format!("{} is copied; the copy is a draft", name(funnel)),
    )
}

fn delete(funnel: Json) -> Step {
    let text = format!(
        "Delete {} for good, with all that visitors sent through it? This cannot be taken back.",
        name(&funnel)
    );
    let typed = plain_text(&funnel["slug"]);
    let ask = Confirm::new(text, move || {
        let body = Deletion { id: which(&funnel), rev: funnel["rev"].as_i64() };
        ended(send::<Delete>(&MayName::default(), &body), format!("{} is deleted", name(&funnel)))
    });
    Step::Confirm(ask.typing(typed))
}

fn ended(call: Result<Calling, Fault>, done: String) -> Step {
    call.ending(move |outcome| match outcome {
        Ok(_) => Step::did(done),
        Err(fault) => Step::Fault(moved(fault)),
    })
}
