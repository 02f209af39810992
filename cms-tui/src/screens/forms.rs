//! Forms, and what was submitted, newest first. Forms are edited as the records that they are.

use cms_http::wire::{
    forms::{Delete, Read, WhichSubmissions},
    item::{self, WhichItems},
};

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    preview,
    open: Some(|row, _| Step::Open(Place::about("submissions", row))),
    empty: "No form. cms forms create makes one.",
    follows: |event, _| event.starts_with("item.forms."),
    ..Spec::new("forms", |_| "Forms".to_owned(), columns, list, act)
};

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<item::Read>(&WhichItems {
        table: "forms".to_owned(),
        limit: Some(PAGE.to_string()),
        cursor: asked.cursor.clone(),
        sort: Some("name".to_owned()),
        ..WhichItems::default()
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "name", 20, plain),
        column("TITLE", "title", 0, plain),
        column("FIELDS", "fields", 6, number_of),
        column("STATE", "active", 6, active),
        column("KEPT", "retention_days", 9, kept),
    ]
}

fn number_of(row: &Json, name: &str, _: i64) -> Cell {
    (items(&row[name]).len().to_string(), Role::Plain)
}

fn kept(row: &Json, name: &str, _: i64) -> Cell {
    match row[name].as_i64() {
        Some(days) => (format!("{days} days"), Role::Plain),
        None => ("for ever".to_owned(), Role::Quiet),
    }
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, now: i64) -> Lines {
    let names = [
        ("Title", "title"),
        ("Mails to", "recipients"),
        ("Least time", "min_seconds"),
        ("Thanks", "thanks"),
        ("Leads to", "redirect_url"),
    ];
    let mut lines = members(row, &names, now);
    lines.push((Role::Title, "Fields".to_owned()));
    for field in items(&row["fields"]) {
        let [id, kind, label] = ["id", "type", "label"].map(|name| plain_text(&field[name]));
        let needed = if field["required"] == true { " *" } else { "" };
        lines.push((Role::Plain, format!("{id:<18} {kind:<16} {label}{needed}")));
    }
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "submissions" => Step::Open(Place::about("submissions", &row)),
        "show" => Step::View(Viewer::json(format!("Form {}", plain_text(&row["name"])), &row)),
        _ => Step::None,
    }
}

pub(crate) static SUBMISSIONS: Spec = Spec {
    detail: Some(|row, _| whole(row)),
    preview: submission,
    tokens: Some(|_| TOKENS.to_owned()),
    open: Some(|row, _| show(row)),
    empty: "Nothing was submitted yet.",
    poll_s: 3,
    follows: |event, _| event == "form.submitted",
    ..Spec::new("submissions", title, submission_columns, submissions, act_on_submissions)
};

const TOKENS: &str = "spam:true since:2d";

fn title(form: &Json) -> String {
    match form["name"].as_str() {
        Some(name) => format!("Submissions · {}", safe(name)),
        None => "Submissions".to_owned(),
    }
}

fn whole(row: &Json) -> Result<Calling, Fault> {
    get::<Read>(&WhichSubmissions { id: Some(acts::id(row)), ..WhichSubmissions::default() })
}

fn submissions(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which = WhichSubmissions {
        form: asked.subject["name"].as_str().map(str::to_owned),
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        ..WhichSubmissions::default()
    };
    for piece in &pieces(asked.filter) {
        match piece.word() {
            Word::Token("spam", value) => which.spam = parsed(value, "spam:true")?,
            Word::Token("since", value) => which.since = since_at(value, asked.now, "since:2d")?,
            Word::Token(word, _) | Word::Text(word) => return Err(unknown(word, TOKENS)),
        }
    }
    get::<Read>(&which)
}

fn submission_columns(form: &Json) -> Vec<Column> {
    let mut columns = vec![
        column("TIME", "created_at", 11, clock),
        column("ID", "id", 7, plain),
        column("SPAM", "spam", 4, yes),
        column("ANSWERS", "summary", 0, plain),
    ];
    if form.is_null() {
        columns.insert(1, column("FORM", "form", 18, plain));
    }
    columns
}

fn submission(row: &Json, detail: Option<&Json>, _: &Json, now: i64) -> Lines {
    let mut lines = members(row, &[("Form", "form"), ("Sent", "created_at")], now);
    if row["spam"] == true {
        lines.push((Role::Warn, "It looks like a program's: no event, no mail.".to_owned()));
    }
    let Some(detail) = detail else {
        lines.push(loading());
        return lines;
    };
    for answer in items(&detail["answers"]) {
        let label = answer["label"].as_str().filter(|label| !label.is_empty());
        let label = label.map_or_else(|| plain_text(&answer["field"]), |one| safe(one).into());
        lines.push((Role::Title, label));
        let text = answer["text"].as_str().unwrap_or_default().lines().take(100);
        lines.extend(text.map(|line| (Role::Plain, safe(line).into_owned())));
    }
    lines
}

fn show(row: &Json) -> Step {
    let title = format!("Submission {}", acts::id(row));
    whole(row).view(title)
}

fn act_on_submissions(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "show" => show(&scene.row.cloned().unwrap_or_default()),
        "delete" => {
            let rows = scene.rows().len();
            let calls =
                acts::each(scene, "submission", "deleted", |row| get::<Delete>(&by_id(row)));
            let text = format!("Delete {} for good?", count(rows, "submission"));
            let confirm = Confirm::new(text, move || calls);
            Step::Confirm(if rows == 1 { confirm } else { confirm.typing(rows.to_string()) })
        }
        _ => Step::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_asks_the_service_or_is_refused() {
        let form = json!({"name": "contact"});
        let line = |filter: &str| SUBMISSIONS.asks(&form, filter);
        let asked = line("spam:true").expect("a call");
        assert!(asked.contains("form=contact") && asked.contains("spam=true"), "{asked}");
        for wrong in ["text", "spam:maybe", "since:x", "colour:red"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }
}
