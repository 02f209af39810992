//! Deliveries: attempts, newest first, with what was sent and what came back.

mod act;

use cms_http::wire::{
    parameters::{Limit, Moment},
    webhooks::{Deliveries, WhichDeliveries},
};
use serde_json::Value as Json;

use super::{
    acts,
    browser::{ListQuery, Spec},
    cells::{Cell, Column, clock, column, plain, plain_text, status},
    delivery,
    filter_words::{Word, pieces, since, unknown},
};
use crate::{
    calls::Fault,
    step::{Calling, Place, Step, get},
    theme::Role,
    widgets::{viewer::json_lines, window::PAGE},
};

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
        Some(name) => format!("Deliveries · {}", crate::text::safe(name)),
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
            Word::Token("webhook", value) => which.subscription = Some(id(value, "webhook:3")?),
            Word::Token("submission", value) => which.submission = Some(id(value, "submission:9")?),
            Word::Token("job", value) => which.job = Some(id(value, "job:41")?),
            Word::Token("since", value) => {
                let at = since(value, asked.now).ok_or_else(|| unknown(value, "since:2h"))?;
                which.since = Some(Moment(at));
            }
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
            // A bare word is the name of an event.
            Word::Text(text) => which.event = Some(text.to_owned()),
        }
    }
    Ok(which)
}

fn id(value: &str, example: &str) -> Result<i64, Fault> {
    value.parse().map_err(|_| unknown(value, example))
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

fn preview(row: &Json, detail: Option<&Json>, _: &Json, now: i64) -> Vec<(Role, String)> {
    let attempt = plain_text(&row["attempt"]);
    let (sign, role): Cell = status(row, "status", now);
    let mut lines = vec![(role, format!("{sign}  attempt {attempt} of job {}", row["queue_id"]))];
    if let Some(why) = row["error_message"].as_str() {
        let said = crate::text::wrapped(why, 76).into_iter();
        lines.extend(said.map(|line| (Role::Bad, line)));
    }
    let Some(detail) = detail else {
        lines.push((Role::Quiet, "Loading …".to_owned()));
        return lines;
    };
    if let Some(response) = detail["response"].as_str().filter(|text| !text.is_empty()) {
        lines.push((Role::Title, format!("Response {}", plain_text(&row["response_code"]))));
        let json = serde_json::from_str::<Json>(response);
        let said = json.map_or_else(
            |_| {
                response.lines().map(|line| (Role::Plain, crate::text::safe(line).into())).collect()
            },
            |json| json_lines(&json),
        );
        lines.extend(said);
    }
    lines.push((Role::Title, "Request".to_owned()));
    match &detail["payload"] {
        Json::Null => lines.push((Role::Quiet, "The body is no longer kept.".to_owned())),
        payload => lines.extend(json_lines(payload)),
    }
    if let Some(removed) = detail["removed"].as_array().filter(|removed| !removed.is_empty()) {
        let removed = plain_text(&Json::from(removed.clone()));
        lines.push((Role::Warn, format!("Removed by the payload filter: {removed}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_asks_the_service_or_is_refused() {
        let line = |filter: &str| {
            list(&ListQuery { subject: &Json::Null, filter, ..ListQuery::default() })
                .map(|call| call.ask.line())
        };
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
