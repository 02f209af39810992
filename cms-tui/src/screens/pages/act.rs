//! What can be done with a page as a whole, in the list and on the screen of one.

use cms_http::wire::pagebuilder::{Diff, Discard, MayName, OnePage, Publish, TakeOff};

use super::{
    about, diff,
    hold::{DraftView, OthersEdits, reading},
    links, make, page_id, plan, wording,
};
use crate::screens::prelude::*;

/// In the list: the draft is read first, so that the question is about what it is now.
pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let page = about(scene.row.unwrap_or(&Json::Null));
    let verb = verb.to_owned();
    match verb.as_str() {
        "new" => make::begin_new(),
        "revisions" | "compare" | "copy" | "link" | "links" => {
            let seen = DraftView { page, ..DraftView::default() };
            whole(&verb, seen)
        }
        _ => reading(&page, move |seen| whole(&verb, seen)),
    }
}

/// With the draft as it was seen.
pub(super) fn whole(verb: &str, seen: DraftView) -> Step {
    match verb {
        "show" => Step::View(Viewer::json(seen.name(), &seen.state)),
        "publish" => publish(seen),
        "take_off" => take_off(&seen),
        "discard" => discard(seen),
        "schedule" => plan::form(seen),
        "revisions" => Step::Open(Place::about("revisions", &seen.page)),
        "compare" => compare(&seen.page, None, None),
        "copy" => make::begin_copy(&seen.page),
        "link" => links::make_link(&seen.page),
        "links" => Step::Open(Place::about("links", &seen.page)),
        _ => Step::None,
    }
}

/// Shows what leads from one state to another; without both, what publishing would change.
pub(super) fn compare(page: &Json, from: Option<String>, to: Option<String>) -> Step {
    let said = |state: &Option<String>, usual: &str| match state.as_deref() {
        Some("draft") => "draft".to_owned(),
        Some(number) => format!("revision {number}"),
        None => usual.to_owned(),
    };
    let states = format!("{} → {}", said(&from, "published"), said(&to, "draft"));
    let title = format!("{} · {states}", super::address(page));
    // Long texts may differ at their end.
    diff(page_id(page), from, to).map(Calling::whole::<Diff>).then(move |reply| {
        Step::View(Viewer::new(title, wording::differences(&reply.data, wording::WIDE)))
    })
}

/// Reads what the draft has changed, then goes on.
fn changed(
    seen: DraftView,
    next: impl FnOnce(DraftView, &[Json]) -> Step + Send + 'static,
) -> Step {
    diff(seen.id(), None, None).then(move |reply| next(seen, items(&reply.data)))
}

fn publish(seen: DraftView) -> Step {
    changed(seen, |seen, found| {
        let name = seen.name();
        let text = match (found.is_empty(), seen.state["published"] == true) {
            (true, true) => {
                return Step::Tell(format!(
                    "Visitors see {name} as the draft is: nothing differs."
                ));
            }
            (true, false) => format!("Publish {name}? Visitors see it from then on."),
            _ => format!("Publish {name}? Visitors see {} from then on.", wording::in_short(found)),
        };
        Step::Confirm(Confirm::new(text, move || {
            let body = body(&seen);
            let said = name.clone();
            let done = move |reply: &Reply, others: &OthersEdits| {
                let revision = plain_text(&reply.data["revision"]);
                Step::did(format!("{said} is published as revision {revision}{others}"))
            };
            seen.change(move || send::<Publish>(&MayName::default(), &body), done).step()
        }))
    })
}

fn body(seen: &DraftView) -> OnePage {
    OnePage { page_id: Some(seen.id()) }
}

fn take_off(seen: &DraftView) -> Step {
    let name = seen.name();
    if seen.state["published"] != true {
        return Step::Tell(format!("{name} is not published."));
    }
    let text = format!("Take off {name}? Visitors see it no longer; its revisions stay.");
    let seen = seen.clone();
    Step::Confirm(Confirm::new(text, move || {
        let body = body(&seen);
        let make = move || send::<TakeOff>(&MayName::default(), &body);
        seen.change(make, move |_, others| Step::did(format!("{name} is taken off{others}"))).step()
    }))
}

fn discard(seen: DraftView) -> Step {
    let name = seen.name();
    let Some(revision) = seen.state["revision"].as_i64() else {
        let why = "was never published, so there is nothing to return to: delete its rows instead.";
        return Step::Tell(format!("{name} {why}"));
    };
    changed(seen, move |seen, found| {
        if found.is_empty() {
            return Step::Tell(format!("The draft of {name} is revision {revision} already."));
        }
        let text = format!(
            "Lose what the draft of {name} has changed? It becomes revision {revision} again, \
             without {}.",
            wording::in_short(found)
        );
        Step::Confirm(Confirm::new(text, move || {
            let body = body(&seen);
            let make = move || send::<Discard>(&MayName::default(), &body);
            let say = format!("the draft of {name} is revision {revision} again");
            seen.change(make, move |_, others| Step::did(format!("{say}{others}"))).step()
        }))
    })
}
