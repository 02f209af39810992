//! The form of a webhook, with the known events to tick; a new secret, shown once.

use std::collections::BTreeSet;

use cms_http::wire::{
    events::{Explain, List, Named},
    parameters::ListQuery,
    webhooks::{Create, Update},
};

use super::WEBHOOK;
use crate::{
    screens::prelude::*,
    widgets::{field::Kind, input::Input},
};

/// Reads the known events, then shows the form.
pub(super) fn begin(row: Option<Json>) -> Step {
    let named = Named { name: None, list: ListQuery::page(Limit(500), None) };
    get::<List>(&named).then(move |reply| form(row, &reply).step())
}

/// Names with the plugin that raises them, patterns first.
fn options(known: &Json, chosen: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut options = vec![
        ("everything".to_owned(), "*".to_owned()),
        ("all items".to_owned(), "item.*".to_owned()),
    ];
    let text = |row: &Json, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let known = items(known).iter();
    let mut events: Vec<_> =
        known.map(|row| (text(row, "plugin_id"), text(row, "event_name"))).collect();
    events.sort();
    options.extend(events);
    let missing = chosen.iter().filter(|name| !options.iter().any(|(_, one)| one == *name));
    let missing: Vec<_> = missing.map(|name| ("not known".to_owned(), name.clone())).collect();
    options.extend(missing);
    options
}

fn form(row: Option<Json>, known: &Reply) -> Form {
    let given = row.clone().unwrap_or_default();
    let text = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
    let chosen: BTreeSet<_> = texts(&given["events"]).map(str::to_owned).collect();
    let headers = given["custom_headers"].as_object().into_iter().flatten();
    let headers: Vec<_> =
        headers.map(|(name, value)| format!("{name}: {}", value.as_str().unwrap_or(""))).collect();
    let retries = given["max_retries"].as_i64().unwrap_or(5).to_string();
    let fields = vec![
        Field::text("name", "Name", &text("name")).required(),
        Field::text("url", "URL", &text("url")).required().hint("a public https address"),
        Field::many("events", "Events", options(&known.data, &chosen), chosen)
            .required()
            .hint("Space ticks, letters filter"),
        Field::lines("custom_headers", "Headers", &headers.join("\n"))
            .hint("NAME: VALUE, one a line; *** keeps a value"),
        Field::number("max_retries", "Retries", &retries).hint("attempts after the first"),
    ];
    let title = row.as_ref().map_or("New webhook".to_owned(), |row| format!("Edit {}", name(row)));
    Form::new(title, fields, move |values| submit(row.as_ref(), values))
}

/// `NAME: VALUE` lines as an object.
fn headers(text: &str) -> Json {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let pairs = lines.map(|line| line.split_once(':').unwrap_or((line, "")));
    pairs.map(|(name, value)| (name.trim().to_owned(), Json::from(value.trim()))).collect()
}

fn body(values: &Map<String, Json>) -> Json {
    let mut body = values.clone();
    if let Some(lines) = body.get("custom_headers") {
        let lines = headers(lines.as_str().unwrap_or_default());
        body.insert("custom_headers".to_owned(), lines);
    }
    Json::Object(body)
}

fn submit(row: Option<&Json>, values: &Values) -> Step {
    let said = values.text("name");
    match row {
        None => send_json::<Create>(&NoQuery {}, body(&values.all))
            .then(move |reply| secret_shown(&said, "is made", &reply)),
        Some(row) if values.changed.is_empty() => Step::Tell(format!("{}: no change", name(row))),
        Some(row) => acts::change::<Update>(&WEBHOOK, row, body(&values.changed), "is saved"),
    }
}

/// Who would get an event, and what.
pub(super) fn explain() -> Step {
    let fields = vec![
        Field::text("event", "Event", "").required().hint("such as item.pages.updated"),
        Field::new("data", "Data", Kind::Json(Input::of("{}"))).hint("a JSON object"),
    ];
    Form::new("Who would get an event?", fields, |values| {
        let event = json!({"event": values.all["event"], "data": values.all["data"]});
        let listing = Listing { limit: Limit(200), ..Listing::default() };
        send_json::<Explain>(&listing, event).then(explained)
    })
    .step()
}

fn explained(reply: Reply) -> Step {
    let subscriptions = items(&reply.data["subscriptions"]).iter();
    let mut lines: Lines = subscriptions
        .map(|one| {
            let outcome = one["outcome"].as_str().unwrap_or_default();
            let role = if outcome == "sent" { Role::Good } else { Role::Quiet };
            let reason = one["reason"].as_str().unwrap_or_default();
            let line = format!("{outcome:<12} {}: {reason}", name(one));
            (role, safe(&line).into_owned())
        })
        .collect();
    if lines.is_empty() {
        lines.push((Role::Quiet, "There are no webhooks.".to_owned()));
    }
    // Null without data.
    if let Some(body) = reply.data["body"].as_str() {
        lines.push((Role::Plain, String::new()));
        let body: Json = serde_json::from_str(body).unwrap_or_else(|_| body.into());
        lines.extend(json_lines(&body));
    }
    Step::View(Viewer::new("Who would get it", lines))
}

/// Shows a secret that will not be shown again.
pub(super) fn secret_shown(name: &str, done: &str, reply: &Reply) -> Step {
    let secret = reply.data["secret"].as_str().unwrap_or_default().to_owned();
    let about = "The receiver checks signatures with this secret.";
    let mut steps = vec![
        Step::did(format!("{name} {done}")),
        Step::View(Viewer::once(format!("Secret of {name}"), about, secret)),
    ];
    let warnings = items(&reply.data["meta"]["warnings"]).iter();
    let warnings: Vec<_> = warnings.filter_map(|one| one["message"].as_str()).collect();
    if !warnings.is_empty() {
        steps.push(Step::Tell(format!("Saved, but: {}", warnings.join("; "))));
    }
    Step::Several(steps)
}
