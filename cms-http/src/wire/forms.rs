//! `/api/form/submit` and `/api/backend/forms/submissions`

use cms_core::forms::{Answered, Received, Submission, SubmissionDetail, WhichForm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Body, Data, Done, Early, NoBody, OneOrPage, Text,
    body::MOST_ANSWERS,
    operations,
    parameters::{ById, Limit, Moment, NoQuery, paged},
};

operations! {
    /// Submits a form. Submissions that look automatic are answered alike and marked.
    Submit: NoQuery, Early<OfForm, Answered> => Data<Received>;
    /// One submission with its answers, or a page of submissions, newest first.
    Read: WhichSubmissions, NoBody => OneOrPage<Submission, SubmissionDetail>;
    /// Removes a submission for good.
    Delete: ById, NoBody => Done;
    /// The submissions of a form as a table, newest first: a column for each answer.
    Export: Exported, NoBody => Text;
}

impl Body for Answered {
    const MOST_VALUES: usize = MOST_ANSWERS;
}

/// Which form a body is about.
#[derive(Clone, Debug, Deserialize)]
pub struct OfForm {
    /// The form, by its name or id.
    pub form: WhichForm,
}

paged! {
    /// Which submissions.
    pub struct WhichSubmissions {
        /// The one to show.
        pub id: Option<i64>,
        /// Only those of this form, by its name or id.
        pub form: Option<String>,
        /// Not before.
        pub since: Option<Moment>,
        /// Before.
        pub until: Option<Moment>,
        /// Only those that look automatic, or only the others.
        pub spam: Option<bool>,
    }
}

/// Which submissions of a form.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exported {
    /// The form, by its name or id.
    #[schemars(example = &"contact")]
    pub form: String,
    /// Not before.
    pub since: Option<Moment>,
    /// Before.
    pub until: Option<Moment>,
    /// Only those that look automatic, or only the others.
    pub spam: Option<bool>,
    /// `false`: a table without the byte order mark that tells spreadsheets of UTF-8.
    pub bom: Option<bool>,
}
