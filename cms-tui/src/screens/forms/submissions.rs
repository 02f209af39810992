//! Submissions of a form, newest first.

use cms_http::wire::forms::{Delete, Read, WhichSubmissions};

use crate::screens::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| whole(row)),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    open: Some(|row, _| show(row)),
    empty: "Nothing was submitted yet.",
    poll_s: 3,
    follows: |event, _| event == "form.submitted",
    ..Spec::new("submissions", title, columns, list, act)
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

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
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

fn columns(form: &Json) -> Vec<Column> {
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

fn preview(row: &Json, detail: Option<&Json>, _: &Json, now: i64) -> Lines {
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

fn act(verb: &str, scene: &Scene<'_>) -> Step {
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
        let line = |filter: &str| SPEC.asks(&form, filter);
        let asked = line("spam:true").expect("a call");
        assert!(asked.contains("form=contact") && asked.contains("spam=true"), "{asked}");
        for wrong in ["text", "spam:maybe", "since:x", "colour:red"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }
}
