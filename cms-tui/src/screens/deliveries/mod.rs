//! Deliveries: attempts, newest first, with what was sent and what came back.

mod act;

use cms_http::wire::webhooks::{Deliveries, WhichDeliveries};

use super::{cells::status, delivery, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| delivery::attempt(acts::id(row))),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    open: Some(|row, _| Step::Open(Place::about("delivery", row))),
    empty: "No deliveries. A webhook's events show here after their first attempt.",
    poll_s: 2,
    ..Spec::new("deliveries", title, columns, list, act::act)
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
}
