//! What can be done with deliveries.

use cms_http::wire::{
    parameters::{Limit, NoQuery},
    webhooks::{Deliveries, Redeliver, WhichDeliveries},
};
use serde_json::{Value as Json, json};

use super::detail;
use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    screens::acts,
    step::{Confirm, Step, get, send},
    text::count,
    widgets::viewer::{Viewer, differences},
};

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "redeliver" => redeliver(scene),
        "redeliver_all" => redeliver_all(scene.subject["id"].as_i64(), 0),
        "diff" => diff(&row),
        "show" => view(&row, "", "Delivery"),
        "payload" => view(&row, "payload", "Body of"),
        _ => Step::None,
    }
}

fn redeliver(scene: &Scene<'_>) -> Step {
    let ids: Vec<_> = scene.rows().iter().map(|row| acts::id(row)).collect();
    let call = send::<Redeliver>(&NoQuery {}, json!({"ids": ids}));
    call.map(|call| call.then(queued)).into()
}

fn queued(reply: Reply) -> Step {
    let jobs = usize::try_from(reply.data["queued"].as_i64().unwrap_or(0)).unwrap_or(0);
    Step::did(format!("{} sent again, with the same event and body", count(jobs, "delivery")))
}

/// The service counts: it refuses when the number differs and says how many there are.
fn redeliver_all(subscription: Option<i64>, expected: u64) -> Step {
    let mut filter = json!({"status": "failed"});
    if let Some(id) = subscription {
        filter["subscription"] = id.into();
    }
    let body = json!({"filter": filter, "expected": expected});
    let call = send::<Redeliver>(&NoQuery {}, body);
    let call = call.map(|call| {
        call.ending(move |outcome| match outcome {
            Ok(_) if expected == 0 => Step::Tell("No delivery has failed.".to_owned()),
            Ok(reply) => queued(reply),
            Err(fault) if fault.code == "count_moved" => ask(subscription, &fault),
            Err(fault) => Step::Fault(fault),
        })
    });
    call.into()
}

fn ask(subscription: Option<i64>, fault: &Fault) -> Step {
    let Some(found) = first_number(&fault.detail) else { return Step::Fault(fault.clone()) };
    let many = count(usize::try_from(found).unwrap_or(usize::MAX), "failed delivery");
    Step::Confirm(Confirm::new(format!("Send {many} again?"), move || {
        redeliver_all(subscription, found)
    }))
}

fn first_number(text: &str) -> Option<u64> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// Shows an attempt, or one member of it.
fn view(row: &Json, member: &'static str, title: &str) -> Step {
    let title = format!("{title} {}", acts::id(row));
    let call = detail(acts::id(row));
    let call = call.map(|call| {
        call.then(move |reply| {
            let shown = if member.is_empty() { &reply.data } else { &reply.data[member] };
            Step::View(Viewer::json(title, shown))
        })
    });
    call.into()
}

/// Compares an attempt with the one before it of the same job.
fn diff(row: &Json) -> Step {
    let (job, id) = (row["queue_id"].clone(), acts::id(row));
    let which = WhichDeliveries {
        subscription: row["subscription"].as_i64(),
        event: row["event"].as_str().map(str::to_owned),
        limit: Limit(500),
        ..WhichDeliveries::default()
    };
    let call = get::<Deliveries>(&which).map(|call| {
        call.then(move |reply| {
            let attempts = reply.data.as_array().into_iter().flatten();
            let before = attempts.filter(|one| one["queue_id"] == job && acts::id(one) < id);
            match before.map(acts::id).max() {
                Some(before) => compare(before, id),
                None => Step::Tell("This job had no attempt before.".to_owned()),
            }
        })
    });
    call.into()
}

fn compare(before: i64, after: i64) -> Step {
    let call = detail(before).map(|call| {
        call.then(move |old| {
            let call = detail(after).map(|call| {
                call.then(move |new| {
                    let title = format!("Attempt {before} → {after}");
                    Step::View(Viewer::new(title, differences(&old.data, &new.data)))
                })
            });
            call.into()
        })
    });
    call.into()
}
