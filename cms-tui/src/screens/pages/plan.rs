//! When a page is published and taken off by itself.

use std::sync::Arc;

use cms_http::wire::pagebuilder::{MayName, Planned, Plans, SetSchedule};

use super::{
    draft,
    hold::{DraftView, OthersEdits},
};
use crate::screens::{browser::ExtraColumns, prelude::*};

const TIMES: [(&str, &str); 2] = [("publish_at", "Publish at"), ("take_off_at", "Take off at")];

/// More plans are not looked at: the preview tells of each page.
const MOST: u32 = 500;

/// What is planned for the pages of a list; a column for each kind of time that any page has.
pub(super) static EXTRA_COLUMNS: ExtraColumns = ExtraColumns {
    ask: || get::<Plans>(&Listing { limit: Limit(MOST), ..Listing::default() }),
    columns: |plans| {
        let has = |name: &str| rows(plans).any(|plan| !plan[name].is_null());
        let times = TIMES.into_iter().filter(|(name, _)| has(name));
        times.map(|(name, label)| time(name, &label.to_uppercase())).collect()
    },
    put: |page, plans| {
        if let Some(plan) = rows(plans).find(|plan| plan["page_id"] == acts::id(page)) {
            TIMES.iter().for_each(|(name, _)| page[*name] = plan[*name].clone());
        }
    },
};

fn rows(plans: &Json) -> impl Iterator<Item = &Json> {
    items(plans).iter()
}

fn time(name: &str, title: &str) -> Column {
    column(title, name, 16, |page, name, _| -> Cell {
        (page[name].as_str().map(moment::minute).unwrap_or_default(), Role::Warn)
    })
}

pub(super) fn form(seen: DraftView) -> Step {
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

fn submit(seen: &DraftView, values: &Values) -> Step {
    if values.changed.is_empty() {
        return Step::tell("Nothing was changed.");
    }
    let (page, name) = (seen.id(), seen.name());
    let (state, known, values) = (seen.state.clone(), seen.clone(), values.clone());
    let make = move || {
        let wanted = wanted(&known, &values);
        send::<SetSchedule>(&MayName::default(), &body(page, &wanted))
    };
    let done = move |reply: &Reply, others: &OthersEdits| {
        let before = times(others.state_before(&state));
        let back = planned(page, name.clone(), times(&reply.data), before);
        let undo = Undo { rows: vec![back], ..Undo::default() };
        Step::undoable(format!("{name} has its times{others}"), Some(undo))
    };
    seen.change(make, done).step()
}

/// A time that was not touched stays as it was looked at last.
fn wanted(seen: &DraftView, values: &Values) -> Map<String, Json> {
    let mut wanted = times(&seen.latest());
    wanted.extend(values.changed.clone());
    wanted
}

fn times(of: &Json) -> Map<String, Json> {
    TIMES.iter().map(|(name, _)| ((*name).to_owned(), of[*name].clone())).collect()
}

fn body(page: i64, times: &Map<String, Json>) -> Planned {
    let time = |name: &str| times[name].as_str().map(str::to_owned);
    let [publish_at, take_off_at] = ["publish_at", "take_off_at"].map(time);
    Planned { page_id: Some(page), publish_at, take_off_at }
}

/// Sets these times over those that were seen, and back.
fn planned(page: i64, name: String, seen: Map<String, Json>, wanted: Map<String, Json>) -> Checked {
    let (said, times, before) = (name.clone(), wanted.clone(), seen.clone());
    let call = Arc::new(move |now: &Reply| {
        let call = send::<SetSchedule>(&MayName::default(), &body(page, &times))?;
        let (said, times, before) = (said.clone(), times.clone(), before.clone());
        let (name, call) = (said.clone(), call.if_match(now.etag.clone()));
        let undo = move |_: &Reply| Some(planned(page, said, times, before));
        Ok(BulkCall::new(name, call, Some(Box::new(undo))))
    });
    let again = Arc::new(move || draft(page));
    Checked { name, again, seen, wanted, merges: false, call }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_somebody_else_planned_stays() {
        let (tea, noon) = ("2026-12-24T15:00:00Z", "2026-12-24T12:00:00Z");
        let none = json!({"publish_at": null, "take_off_at": null, "rows": []});
        let seen = DraftView::of(&json!({"id": 7}), &none, None);
        let changed = json!({"take_off_at": tea});
        let values = Values {
            all: times(&json!({"publish_at": null, "take_off_at": tea})),
            changed: changed.as_object().expect("an object").clone(),
        };
        let sent = |seen: &DraftView| Json::Object(super::wanted(seen, &values));
        assert_eq!(sent(&seen), json!({"publish_at": null, "take_off_at": tea}));
        let data = json!({"publish_at": noon, "take_off_at": null, "rows": []});
        *seen.reviewed.lock().expect("nobody panicked") = Some(Reply { data, ..Reply::default() });
        assert_eq!(sent(&seen), json!({"publish_at": noon, "take_off_at": tea}));
    }

    #[test]
    fn a_column_is_there_when_any_page_has_such_a_time() {
        let titles = |plans: Json| -> Vec<String> {
            (EXTRA_COLUMNS.columns)(&plans).into_iter().map(|column| column.title).collect()
        };
        let plan = json!({"page_id": 7, "publish_at": "2026-12-24T06:00:00Z", "take_off_at": null});
        assert!(titles(Json::Null).is_empty());
        assert_eq!(titles(json!([plan])), ["PUBLISH AT"]);
        let other = json!({"page_id": 8, "take_off_at": "2027-01-01T00:00:00Z"});
        assert_eq!(titles(json!([plan, other])), ["PUBLISH AT", "TAKE OFF AT"]);
        let (mut page, mut without) = (json!({"id": 7}), json!({"id": 9}));
        for page in [&mut page, &mut without] {
            (EXTRA_COLUMNS.put)(page, &json!([plan]));
        }
        let cell = (time("publish_at", "").show)(&page, "publish_at", 0);
        assert_eq!(cell.0, "2026-12-24 06:00");
        assert_eq!(without, json!({"id": 9}));
    }
}
