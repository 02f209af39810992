//! Forms on pages, and the submissions of visitors. A form is a record of the content table
//! `forms`, so forms are read and written as items; this room receives and shows submissions.
//!
//! ```text
//! form         a form: as stored, its fields read once, as a page shows it
//! receive      an answered form: judged, stored, mailed
//! submissions  a list of them, one, its removal, a table for export
//! sql          statements
//! ```

mod form;
mod receive;
pub(crate) mod sql;
mod submissions;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Millis, Result,
    base::Base,
    db::args,
    fields::{Answer, broken_links},
    items::BrokenAddress,
    jobs,
    mail::Mails,
};

pub use form::{ShownForm, WhichForm};
pub use receive::{ActiveForm, Answered, JudgedAnswers, Received};
pub use submissions::Export;

/// The table's name in the audit log.
const TABLE: &str = "form_submissions";
/// Number of forms read at once.
const FORMS_READ: i64 = 100;

/// The forms of a site: `cms.forms()`.
#[derive(Clone)]
pub struct Forms(Arc<Inner>);

struct Inner {
    base: Base,
    mails: Mails,
    known: form::FieldsCache,
}

impl Forms {
    pub(crate) fn new(base: &Base, mails: &Mails) -> Self {
        let (base, mails) = (base.clone(), mails.clone());
        Self(Arc::new(Inner { base, mails, known: form::FieldsCache::default() }))
    }

    /// How the database would find the submissions of a form from `horizon` or before: the lines
    /// of the engine's plan.
    pub async fn expiry_plan(&self, form: i64, horizon: Millis) -> Result<Vec<String>> {
        self.0.base.db().plan(sql::EXPIRE.sql(), args![form, horizon]).await
    }

    /// Links in the fields of forms that are not valid addresses, at most `most`.
    pub(crate) async fn broken_addresses(&self, most: usize) -> Result<Vec<BrokenAddress>> {
        let (mut found, mut after) = (Vec::new(), i64::MIN);
        while found.len() < most {
            let args = args![after, FORMS_READ];
            let rows: Vec<(i64, String)> = self.0.base.db().all(sql::FIELDS_AFTER, args).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            for (id, fields) in &rows {
                let fields = serde_json::from_str(fields).map_err(Error::internal)?;
                found.extend(broken_links(&fields).into_iter().map(|fault| BrokenAddress {
                    table: "forms".to_owned(),
                    id: id.to_string(),
                    column: format!("fields{}", fault.field),
                    problem: fault.message,
                }));
            }
        }
        found.truncate(most);
        Ok(found)
    }

    /// Removes submissions that are older than their form keeps them.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let (base, mut removed) = (&self.0.base, 0);
        for (form, days) in base.db().all::<(i64, i64)>(sql::RETENTIONS, args![]).await? {
            let days = u64::try_from(days).unwrap_or(u64::MAX);
            let horizon = jobs::days_before(base.clock().now(), days);
            // Usually nothing is old, and a needless change would hold up other writers.
            let (has_old,): (bool,) = base.db().one(sql::HAS_OLD, args![form, horizon]).await?;
            if has_old {
                removed += jobs::remove(base, sql::EXPIRE, args![form, horizon]).await?;
            }
        }
        Ok(removed)
    }

    /// A form, switched off or not.
    async fn form(&self, which: &WhichForm) -> Result<form::Form> {
        let found = match which {
            WhichForm::Name(name) => match WhichForm::from(name.clone()) {
                WhichForm::Id(id) => sql::by_id(self.0.base.db(), id).await?,
                WhichForm::Name(name) => sql::by_name(self.0.base.db(), &name).await?,
            },
            WhichForm::Id(id) => sql::by_id(self.0.base.db(), *id).await?,
        };
        found.ok_or_else(|| form::missing(which))
    }
}

/// A submission in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Submission {
    /// Ids grow with time.
    pub id: i64,
    /// The name of its form.
    pub form: String,
    /// When it came, RFC 3339 in UTC.
    pub created_at: String,
    /// Whether it looks like that of a program.
    pub spam: bool,
    /// The first answers in one line.
    pub summary: String,
    /// When it came, in milliseconds.
    #[serde(skip)]
    at: Millis,
}

/// A submission with its answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SubmissionDetail {
    /// As in a list.
    #[serde(flatten)]
    pub submission: Submission,
    /// The answers, in the order of the fields.
    pub answers: Vec<Answer>,
}

/// Selects submissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubmissionFilter {
    /// Only those of this form.
    pub form: Option<WhichForm>,
    /// Only those received at this time or later.
    pub since: Option<Millis>,
    /// Only those received before this time.
    pub until: Option<Millis>,
    /// True: only those that look like a program's; false: only the others.
    pub spam: Option<bool>,
}

/// The place of a submission in the list.
type Position = (Millis, i64);
