//! Events: those that are known, and those that have happened.

use cms_http::wire::events::{Emit, List, Messages, Named, WhichMessages};

use super::{browser::by_id, prelude::*};
use crate::widgets::{field::Kind, input::Input};

/// Known events.
pub(crate) static KNOWN: Spec = Spec {
    rows: |_, data| by_id(data, "event_name"),
    detail: Some(|row, _| get::<List>(&named(row))),
    empty: "No events are known.",
    ..Spec::new("events", |_| "Known events".to_owned(), columns, known, act)
};

/// Recorded events, newest first.
pub(crate) static HAPPENED: Spec = Spec {
    detail: Some(|row, _| message(row)),
    preview: |row, detail, _, _| json_lines(detail.map_or(row, |detail| &detail["payload"])),
    tokens: Some(|_| TOKENS.to_owned()),
    empty: "No event has happened yet.",
    poll_s: 2,
    follows: |_, _| true,
    ..Spec::new("messages", |_| "Recorded events".to_owned(), of_messages, happened, act)
};

const TOKENS: &str = "event:item.pages.* since:2h";

fn known(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<List>(&Named { name: None, list: asked.page() })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("EVENT", "event_name", 0, plain),
        column("PLUGIN", "plugin_id", 14, plain),
        column("KIND", "event_type", 7, plain),
        column("WHEN", "description", 0, plain),
    ]
}

fn message(row: &Json) -> Result<Calling, Fault> {
    let id = row["id"].as_str().map(str::to_owned);
    get::<Messages>(&WhichMessages { id, ..WhichMessages::default() })
}

fn happened(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which = WhichMessages {
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        ..WhichMessages::default()
    };
    for piece in &pieces(asked.filter) {
        match piece.word() {
            Word::Token("event", value) | Word::Text(value) => which.event = Some(value.to_owned()),
            Word::Token("since", value) => which.since = since_at(value, asked.now, "since:2h")?,
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
        }
    }
    get::<Messages>(&which)
}

fn of_messages(_: &Json) -> Vec<Column> {
    vec![
        column("TIME", "created_at", 11, clock),
        column("EVENT", "event", 0, plain),
        column("JOBS", "jobs", 5, plain),
        column("ID", "id", 0, plain),
    ]
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "show" => {
            let name = row["event_name"].as_str().unwrap_or_default().to_owned();
            get::<List>(&named(&row)).view(name)
        }
        "payload" => message(&row)
            .then(|reply| Step::View(Viewer::json("What is sent", &reply.data["payload"]))),
        "emit" => get::<List>(&named(&row)).then(|reply| emit(&reply.data)),
        _ => Step::None,
    }
}

fn named(row: &Json) -> Named {
    let name = row["event_name"].as_str().map(str::to_owned);
    Named { name, ..Named::default() }
}

fn emit(event: &Json) -> Step {
    let name = event["event_name"].as_str().unwrap_or_default().to_owned();
    if event["emit"] == false {
        return Step::Tell(format!("{name}: the service raises it itself"));
    }
    // What the data must look like, where the service knows that.
    let example = event.get("example").filter(|example| !example.is_null());
    let text = example.and_then(|example| serde_json::to_string_pretty(example).ok());
    let data = Input::lines(text.as_deref().unwrap_or("{}"));
    let fields = vec![Field::new("data", "Data", Kind::Json(data)).hint("a JSON object")];
    Form::new(format!("Raise {name}"), fields, move |values| {
        let said = format!("{name} is raised");
        let event = json!({"event": name, "data": values.all["data"]});
        send_json::<Emit>(&NoQuery {}, event).did(said)
    })
    .step()
}
