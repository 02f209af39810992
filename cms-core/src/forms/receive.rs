//! Receives an answered form. The answers are judged before the change begins; the change stores
//! them with their event and their mails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Forms, TABLE, WhichForm,
    form::{Form, missing},
    sql,
};
use crate::{
    AuditEntry, Change, Error, Result,
    events::{AnsweredForm, FORM_SUBMITTED, FormData, FormSubmission},
    fields::{Answer, Context, summary},
    mail::{MAX_MAIL_BYTES, Mail, MailAddress, Subject, escape_html, shortened},
    rfc3339,
};

/// Maximum number of submissions of a form that are mailed within an hour.
const NOTICES: i64 = 100;
/// Maximum characters of an answer in a mail.
const ANSWER: usize = 10_000;
/// Bytes reserved for one such answer: as text and as HTML, where a character takes up to six
/// bytes, with the lines around it.
const ROOM: usize = 130_000;

/// A form as a visitor answers it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "form": "contact",
    "answers": {"name": "Ada", "mail": "ada@example.org", "message": "Hello"},
}]))]
pub struct Answered {
    /// The form, by its name or id.
    pub form: WhichForm,
    /// Answers by the ids of fields. Unknown ids are ignored.
    pub answers: Map<String, Json>,
    /// The value of a hidden trap input. People leave it empty; a value marks the sender as a
    /// program.
    #[serde(default)]
    pub trap: Option<String>,
    /// How long the page was open, in seconds.
    #[serde(default)]
    pub seconds: Option<f64>,
}

/// A form that takes answers.
#[derive(Debug)]
pub struct ActiveForm(Form);

/// An answered form whose answers are good: [`Forms::receive`] stores it.
#[derive(Debug)]
pub struct JudgedAnswers {
    form: Form,
    answered: Answered,
    answers: Vec<Answer>,
}

/// The reply to the page. Programs get the same reply.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Received {
    /// Id of the submission.
    pub id: i64,
    /// What to tell the visitor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thanks: Option<String>,
    /// Where to lead the visitor instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
}

impl Forms {
    /// The form to answer, if it is active.
    ///
    /// # Errors
    /// `not_found` for a form that is missing or switched off.
    pub async fn active(&self, which: &WhichForm) -> Result<ActiveForm> {
        let form = self.form(which).await?;
        if !form.active {
            return Err(missing(which));
        }
        Ok(ActiveForm(form))
    }

    /// Judges the answers.
    ///
    /// # Errors
    /// `validation_failed` with all answers that are refused.
    pub fn judge(&self, form: ActiveForm, answered: Answered) -> Result<JudgedAnswers> {
        let ActiveForm(form) = form;
        let answers = self.answers(&form, &answered)?;
        Ok(JudgedAnswers { form, answered, answers })
    }

    fn answers(&self, form: &Form, answered: &Answered) -> Result<Vec<Answer>> {
        let base = &self.0.base;
        let context = Context::at(base.clock().now()).zone(base.zone().clone()).arriving();
        self.0.known.fields(form)?.take(&answered.answers, &context).map_err(Error::invalid)
    }

    /// Stores a submission. A person's submission raises `form.submitted` and queues a mail to
    /// each recipient of the form, for up to 100 submissions an hour. A program's submission is
    /// stored and marked as spam. The answers are judged again if the form's fields have
    /// changed since.
    ///
    /// # Errors
    /// `not_found` when the form was deleted or switched off meanwhile; `validation_failed`; as
    /// every write.
    pub async fn receive(&self, change: &mut Change, judged: JudgedAnswers) -> Result<Received> {
        let JudgedAnswers { form: seen, answered, answers } = judged;
        let gone = || missing(&answered.form);
        let form = sql::now(change, seen.id).await?.filter(|form| form.active).ok_or_else(gone)?;
        let is_same = form.declared == seen.declared;
        let answers = if is_same { answers } else { self.answers(&form, &answered)? };
        let trap = answered.trap.as_deref();
        let spam = looks_automatic(trap, answered.seconds, form.min_seconds);
        let line = summary(&answers);
        let id = sql::insert(change, form.id, spam, &line, &answers).await?.ok_or_else(gone)?;
        let row = id.to_string();
        let entry = AuditEntry { action: "create", table: TABLE, id: &row, columns: &["answers"] };
        let data = event(&form, id, change, &answers);
        if spam {
            change.ask(FORM_SUBMITTED, &data).await?;
            change.audit(entry).await?;
        } else {
            change.raise_about(None, FORM_SUBMITTED, &data, Some(entry)).await?;
            // The count includes the row just stored.
            if sql::within_hour(change, form.id, NOTICES + 1).await? <= NOTICES {
                for mail in notices(&form, id, &line, &answers) {
                    self.0.mails.queue(change, &mail).await?;
                }
            }
        }
        Ok(Received { id, thanks: form.thanks, redirect_url: form.redirect_url })
    }
}

/// The data of `form.submitted`.
fn event(form: &Form, id: i64, change: &Change, answers: &[Answer]) -> FormData {
    FormData {
        form: AnsweredForm { id: form.id, name: form.name.clone(), title: form.title.clone() },
        submission: FormSubmission { id, created_at: rfc3339(change.now()) },
        answers: answers.iter().map(Answer::event_answer).collect(),
    }
}

/// The mails about a submission.
fn notices(form: &Form, id: i64, summary: &str, answers: &[Answer]) -> Vec<Mail> {
    let title = if form.title.is_empty() { &form.name } else { &form.title };
    let subject = Subject::of(&format!("{title}: {summary}"));
    let (mut text, html) = bodies(answers);
    text.push_str(&format!("Form {}, submission {id}\n", form.name));
    let reply_to = answers.iter().find(|answer| answer.field_type == "email");
    let reply_to = reply_to.and_then(|answer| MailAddress::parse(&answer.text).ok());
    let mail = |recipient: &String| {
        let to = MailAddress::parse(recipient)
            .inspect_err(|error| tracing::warn!(form = form.name, ?error, "no mail to a recipient"))
            .ok()?;
        Some(Mail {
            cause: Some(format!("submission {id}")),
            reply_to: reply_to.clone(),
            html: Some(html.clone()),
            ..Mail::new("form.notice", to, subject.clone(), text.clone())
        })
    };
    form.recipients.iter().filter_map(mail).collect()
}

/// The answers as text and as HTML, cut to fit [`MAX_MAIL_BYTES`]: a submission must not fail
/// because its mail would be too large.
fn bodies(answers: &[Answer]) -> (String, String) {
    let (mut text, mut html) = (String::new(), "<table>".to_owned());
    for (at, answer) in answers.iter().enumerate() {
        if text.len() + html.len() + ROOM > MAX_MAIL_BYTES {
            let more =
                format!("{} more answers are stored with the submission.", answers.len() - at);
            text.push_str(&more);
            html.push_str(&format!("<tr><td colspan=\"2\">{more}</td></tr>"));
            break;
        }
        let name = if answer.label.is_empty() { &answer.field } else { &answer.label };
        let (name, value) = (shortened(name, 200), shortened(&answer.text, ANSWER));
        text.push_str(&format!("{name}\n{value}\n\n"));
        let (name, value) = (escape_html(&name), escape_html(&value));
        html.push_str(&format!("<tr><th align=\"left\">{name}</th><td>{value}</td></tr>"));
    }
    html.push_str("</table>");
    (text, html)
}

/// Whether a submission looks like a program's: an input that people do not see is filled in, or
/// the form was sent sooner than people can answer. The page reports `seconds`; missing `seconds`
/// count as 0, because programs that do not know the page leave them out.
fn looks_automatic(trap: Option<&str>, seconds: Option<f64>, least: i64) -> bool {
    let is_filled = trap.is_some_and(|text| !text.trim().is_empty());
    // `least` is small enough to be exact.
    let is_quick = least > 0 && seconds.unwrap_or(0.0) < least as f64;
    is_filled || is_quick
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(label: &str, text: &str) -> Answer {
        Answer {
            field: "a".to_owned(),
            field_type: "long_text".to_owned(),
            label: label.to_owned(),
            value: text.into(),
            text: text.to_owned(),
            cell: None,
        }
    }

    #[test]
    fn values_are_escaped_and_no_mail_is_too_large() {
        let (text, html) = bodies(&[answer("<b>", "<script>&\"'\nx"), answer("", "{{ a }}")]);
        assert_eq!(text, "<b>\n<script>&\"'\nx\n\na\n{{ a }}\n\n");
        assert!(html.contains("&lt;b&gt;") && html.contains("&lt;script&gt;&amp;"), "{html}");
        assert!(!html.contains("<script") && html.contains("{{ a }}"), "{html}");
        for character in ["x", "\"", "\u{1f600}"] {
            let long = vec![answer(&character.repeat(500), &character.repeat(20_000)); 200];
            let (text, html) = bodies(&long);
            assert!(text.len() + html.len() <= MAX_MAIL_BYTES, "{character}");
            assert!(text.ends_with("stored with the submission."), "{character}");
        }
    }

    #[test]
    fn a_filled_trap_and_too_few_seconds_give_a_program_away() {
        for (trap, seconds, least, expected) in [
            (None, None, 0, false),
            (Some(""), None, 0, false),
            (Some(" \n"), Some(9.0), 3, false),
            (Some("http://spam.example"), Some(9.0), 3, true),
            (Some("x"), None, 0, true),
            (None, Some(0.0), 0, false),
            (None, Some(2.9), 3, true),
            (None, Some(3.0), 3, false),
            (None, Some(-5.0), 3, true),
            (None, None, 3, true),
        ] {
            let found = looks_automatic(trap, seconds, least);
            assert_eq!(found, expected, "{trap:?} {seconds:?} {least}");
        }
    }
}
