//! Deliveries: attempts, newest first, with what was sent and what came back.

use cms_http::wire::webhooks::{
    Deliveries, Redeliver, Redelivery, RedeliveryFilter, WhichDeliveries,
};

use super::{cells::status, delivery, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| delivery::attempt(acts::id(row))),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    open: Some(|row, _| Step::Open(Place::about("delivery", row))),
    empty: "No deliveries. A webhook's events show here after their first attempt.",
    poll_s: 2,
    ..Spec::new("deliveries", title, columns, list, act)
};

const TOKENS: &str = "status:failed event:NAME webhook:ID submission:ID job:ID since:2h";

fn title(subject: &Json) -> String {
    match subject["name"].as_str() {
        Some(name) => format!("Deliveries · {}", safe(name)),
        None => "Deliveries".to_owned(),
    }
}

/// What the words of a filter ask for.
fn which(asked: &ListQuery<'_>) -> Result<WhichDeliveries, Fault> {
    let mut which = WhichDeliveries {
        subscription: asked.subject["id"].as_i64(),
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        ..WhichDeliveries::default()
    };
    for piece in &pieces(asked.filter) {
        match piece.word() {
            Word::Token("status", value) => which.status = Some(value.to_owned()),
            Word::Token("event", value) => which.event = Some(value.to_owned()),
            Word::Token("webhook", value) => which.subscription = parsed(value, "webhook:3")?,
            Word::Token("submission", value) => which.submission = parsed(value, "submission:9")?,
            Word::Token("job", value) => which.job = parsed(value, "job:41")?,
            Word::Token("since", value) => which.since = since_at(value, asked.now, "since:2h")?,
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
            // A bare word is the name of an event.
            Word::Text(text) => which.event = Some(text.to_owned()),
        }
    }
    Ok(which)
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Deliveries>(&which(asked)?)
}

fn columns(subject: &Json) -> Vec<Column> {
    let mut columns = vec![
        column("TIME", "created_at", 11, clock),
        column("EVENT", "event", 0, plain),
        column("STATUS", "status", 14, status),
        column("CODE", "response_code", 4, plain),
        column("MS", "duration_ms", 6, plain),
        column("TRY", "attempt", 3, plain),
    ];
    if subject.is_null() {
        columns.insert(2, column("HOOK", "subscription", 5, plain));
    }
    columns
}

fn preview(row: &Json, detail: Option<&Json>, _: &Json, now: i64) -> Lines {
    let attempt = plain_text(&row["attempt"]);
    let (sign, role): Cell = status(row, "status", now);
    let mut lines = vec![(role, format!("{sign}  attempt {attempt} of job {}", row["queue_id"]))];
    lines.extend(reason(&row["error_message"]));
    let Some(detail) = detail else {
        lines.push(loading());
        return lines;
    };
    if let Some(response) = detail["response"].as_str().filter(|text| !text.is_empty()) {
        lines.push((Role::Title, format!("Response {}", plain_text(&row["response_code"]))));
        lines.extend(laid_out(response));
    }
    lines.push((Role::Title, "Request".to_owned()));
    match &detail["payload"] {
        Json::Null => lines.push((Role::Quiet, "The body is no longer kept.".to_owned())),
        payload => lines.extend(json_lines(payload)),
    }
    if let Some(removed) = detail["removed"].as_array().filter(|removed| !removed.is_empty()) {
        let removed = plain_text(&removed.clone().into());
        lines.push((Role::Warn, format!("Removed by the payload filter: {removed}")));
    }
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "redeliver" => redeliver(scene),
        "redeliver_all" => match failed(scene) {
            Ok(filter) => redeliver_all(filter.clone(), said(&filter), 0),
            Err(fault) => Step::Fault(fault),
        },
        "diff" => diff(scene),
        "show" => view(&row, "", "Delivery"),
        "payload" => view(&row, "payload", "Body of"),
        _ => Step::None,
    }
}

fn redeliver(scene: &Scene<'_>) -> Step {
    let ids: Vec<_> = scene.rows().iter().map(|row| acts::id(row)).collect();
    send::<Redeliver>(&NoQuery {}, &delivery::named(ids)).then(delivery::queued)
}

/// A filter for the failed deliveries of this list.
fn failed(scene: &Scene<'_>) -> Result<RedeliveryFilter, Fault> {
    let asked = ListQuery {
        subject: &scene.subject,
        cursor: None,
        filter: scene.filter,
        now: scene.now,
        sort: None,
        who: scene.who,
    };
    let which = which(&asked)?;
    if let Some(status) = which.status.filter(|status| status != "failed") {
        let say =
            format!("The list shows {status}: filter for status:failed, or mark and press r.");
        return Err(Fault::new(say));
    }
    // The service's filter knows no job: it would also send deliveries of others.
    if which.job.is_some() {
        return Err(Fault::new("R does not know job: mark them with * and press r."));
    }
    Ok(RedeliveryFilter {
        status: Some("failed".to_owned()),
        subscription: which.subscription,
        submission: which.submission,
        event: which.event,
        since: which.since.and_then(|since| json!(since).as_str().map(str::to_owned)),
        ..RedeliveryFilter::default()
    })
}

/// Sends the deliveries again if their number is as expected. Otherwise the service refuses and
/// says how many there are.
fn redeliver_all(filter: RedeliveryFilter, said: String, expected: u64) -> Step {
    let body = Redelivery { ids: None, filter: Some(filter.clone()), expected: Some(expected) };
    send::<Redeliver>(&NoQuery {}, &body).ending(move |outcome| match outcome {
        Ok(_) if expected == 0 => Step::tell("Nothing that failed can be sent again."),
        Ok(reply) => delivery::queued(reply),
        Err(Fault { matched: Some(matched), .. }) => ask(filter, said, matched),
        Err(fault) => Step::Fault(fault),
    })
}

fn ask(filter: RedeliveryFilter, said: String, matched: u64) -> Step {
    let many = count(usize::try_from(matched).unwrap_or(usize::MAX), "failed delivery");
    Step::Confirm(Confirm::new(format!("Send {many}{said} again?"), move || {
        redeliver_all(filter, said, matched)
    }))
}

/// The filter in words, for the question.
fn said(filter: &RedeliveryFilter) -> String {
    let number = |number: Option<i64>| number.map(|number| number.to_string());
    let words = [
        ("of event", filter.event.clone()),
        ("of webhook", number(filter.subscription)),
        ("of submission", number(filter.submission)),
        ("since", filter.since.clone()),
    ];
    let word = |(label, value): (&str, Option<String>)| Some(format!(" {label} {}", safe(&value?)));
    words.into_iter().filter_map(word).collect()
}

/// Shows an attempt, or one member of it.
fn view(row: &Json, member: &'static str, title: &str) -> Step {
    let title = format!("{title} {}", acts::id(row));
    delivery::attempt(acts::id(row)).then(move |reply| {
        let shown = if member.is_empty() { &reply.data } else { &reply.data[member] };
        Step::View(Viewer::json(title, shown))
    })
}

/// Compares two marked attempts, else the one under the cursor with the previous one of its job.
fn diff(scene: &Scene<'_>) -> Step {
    let marked: Vec<i64> = scene.marks.iter().map(|row| acts::id(row)).collect();
    match marked[..] {
        [one, other] => return delivery::compare(one.min(other), one.max(other)),
        [] | [_] => {}
        _ => return Step::tell("Mark two attempts, not more."),
    }
    let row = scene.row.cloned().unwrap_or_default();
    let id = acts::id(&row);
    delivery::attempts(row["queue_id"].as_i64()).then(move |reply| {
        let attempts = items(&reply.data).iter();
        match attempts.map(acts::id).filter(|one| *one < id).max() {
            Some(before) => delivery::compare(before, id),
            None => Step::tell("This job had no attempt before."),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_asks_the_service_or_is_refused() {
        let line = |filter: &str| SPEC.asks(&Json::Null, filter);
        let known = [("submission", "submission"), ("job", "job"), ("webhook", "subscription")];
        for (word, member) in known {
            let (filter, asks) = (format!("{word}:9"), format!("{member}=9"));
            let asked = line(&filter).expect("a call");
            assert!(asked.contains(&asks), "{asked}");
        }
        for wrong in ["submission:x", "job:", "webhook:x", "since:x", "colour:red"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_the_list_shows_is_sent_again() {
        let now = moment::millis("2026-11-21T12:00:00Z").expect("a time");
        let filter = |filter: &str, subject: Json| {
            failed(&Scene { filter, subject, now, ..Scene::default() })
        };
        let all = filter("", Json::Null).expect("a filter");
        assert_eq!((all.status.as_deref(), said(&all).as_str()), (Some("failed"), ""));
        let narrow = filter("webhook:3 event:a since:2h", Json::Null).expect("a filter");
        assert_eq!((narrow.subscription, narrow.event.as_deref()), (Some(3), Some("a")));
        let since = narrow.since.as_deref().and_then(crate::moment::millis);
        assert_eq!(since, Some(now - 7_200_000));
        assert!(said(&narrow).starts_with(" of event a of webhook 3 since 2026-11-21"));
        let of_hook = filter("status:failed", json!({"id": 7})).expect("a filter");
        assert_eq!(of_hook.subscription, Some(7));
        assert!(filter("status:delivered", Json::Null).is_err());
        assert!(filter("webhook:x", Json::Null).is_err());
        assert!(filter("job:41 status:failed", Json::Null).is_err());
        let of_visit = filter("submission:9", Json::Null).expect("a filter");
        assert_eq!(of_visit.submission, Some(9));
        assert_eq!(said(&of_visit), " of submission 9");
    }
}
