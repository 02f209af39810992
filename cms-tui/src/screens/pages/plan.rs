//! When a page is published and taken off by itself.

use std::sync::Arc;

use cms_http::wire::pagebuilder::{MayName, SetSchedule};
use serde_json::{Map, Value as Json, json};

use super::{
    draft,
    hold::{Others, Seen},
};
use crate::{
    calls::Reply,
    step::{BulkCall, Checked, Form, Step, Undo, send},
    widgets::{field::Field, form::Values},
};

const TIMES: [(&str, &str); 2] = [("publish_at", "Publish at"), ("take_off_at", "Take off at")];

pub(super) fn form(seen: Seen) -> Step {
    let field = |(name, label): (&str, &str)| {
        let now = seen.state[name].as_str().unwrap_or_default();
        Field::text(name, label, now).hint("such as 2026-12-24T06:00:00Z; empty: never")
    };
    let fields = TIMES.map(field).to_vec();
    let title = format!("When is {} published and taken off?", seen.name());
    Form::new(title, fields, move |values| submit(&seen, values))
        .note("What is published is the draft as it is at that moment.")
        .step()
}

fn submit(seen: &Seen, values: &Values) -> Step {
    if values.changed.is_empty() {
        return Step::Tell("Nothing was changed.".to_owned());
    }
    let (page, name) = (seen.id(), seen.name());
    let (state, wanted) = (seen.state.clone(), times(&Json::Object(values.all.clone())));
    let make = move || send::<SetSchedule>(&MayName::default(), body(page, &wanted));
    let done = move |reply: &Reply, others: &Others| {
        let before = times(others.state(&state));
        let back = planned(page, name.clone(), times(&reply.data), before);
        let undo = Undo { rows: vec![back], ..Undo::default() };
        Step::undoable(format!("{name} has its times{others}"), Some(undo))
    };
    seen.change(make, done).step()
}

fn times(of: &Json) -> Map<String, Json> {
    TIMES.iter().map(|(name, _)| ((*name).to_owned(), of[*name].clone())).collect()
}

fn body(page: i64, times: &Map<String, Json>) -> Json {
    json!({"page_id": page, "publish_at": times["publish_at"], "take_off_at": times["take_off_at"]})
}

/// Sets these times over those that were seen, and back.
fn planned(page: i64, name: String, seen: Map<String, Json>, wanted: Map<String, Json>) -> Checked {
    let (said, times, before) = (name.clone(), wanted.clone(), seen.clone());
    let call = Arc::new(move |now: &Reply| {
        let call = send::<SetSchedule>(&MayName::default(), body(page, &times))?;
        let (said, times, before) = (said.clone(), times.clone(), before.clone());
        let (name, call) = (said.clone(), call.if_match(now.etag.clone()));
        let undo = move |_: &Reply| Some(planned(page, said, times, before));
        Ok(BulkCall::new(name, call, Some(Box::new(undo))))
    });
    let again = Arc::new(move || draft(page));
    Checked { name, again, seen, wanted, merges: false, call }
}
