//! An answered form: its answers are judged before the change begins, and stored with their event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Forms, TABLE, WhichForm,
    form::{Form, missing},
    mails, robots, sql,
};
use crate::{
    AuditEntry, Change, Error, Result,
    events::{AnsweredForm, FORM_SUBMITTED, FormData, FormSubmission},
    fields::{Answer, Context, summary},
    rfc3339,
};

/// Submissions of a form that are mailed within an hour at most.
const NOTICES: i64 = 100;

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
    /// Answers by the ids of fields. What no field asks for is left aside.
    pub answers: Map<String, Json>,
    /// What stands in an input of the page that people do not see: nothing.
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

/// What the page learns. Programs learn the same.
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
    /// The form that answers are for.
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

    /// Stores a submission. One of a person raises `form.submitted` and a mail to each
    /// recipient of the form; one of a program is kept and marked. The form counts as it is now:
    /// if its fields changed since, the answers are judged again.
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
        let spam = robots::looks_automatic(trap, answered.seconds, form.min_seconds);
        let line = summary(&answers);
        let id = sql::insert(change, form.id, spam, &line, &answers).await?.ok_or_else(gone)?;
        let row = id.to_string();
        let entry = AuditEntry { action: "create", table: TABLE, id: &row, columns: &["answers"] };
        let data = event(&form, id, change, &answers);
        if spam {
            change.ask(FORM_SUBMITTED, &data).await?;
            change.audit(entry).await?;
        } else {
            change.raise_audited(FORM_SUBMITTED, &data, entry).await?;
            // The row that was just stored counts.
            if sql::within_hour(change, form.id, NOTICES + 1).await? <= NOTICES {
                for mail in mails::notices(&form, id, &line, &answers) {
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
        answers: answers.iter().map(Answer::told).collect(),
    }
}
