//! What was submitted: a list, one, its removal.

use super::{
    Forms, Submission, SubmissionDetail, SubmissionFilter, TABLE, sql, submission::Position,
};
use crate::{AuditEntry, Change, Code, Direction, Error, Page, Paging, Result, ground::ListName};

fn position(bytes: &[u8]) -> Option<Position> {
    let number = |part: &[u8]| part.try_into().ok().map(i64::from_be_bytes);
    bytes.split_at_checked(8).and_then(|(at, id)| Some((number(at)?, number(id)?)))
}

impl Forms {
    /// Submissions, newest first, a page at a time.
    ///
    /// # Errors
    /// `not_found` for a form that is missing; `bad_query` for a foreign cursor, or
    /// for backward order.
    pub async fn submissions(
        &self,
        filter: &SubmissionFilter,
        paging: &Paging,
    ) -> Result<Page<Submission>> {
        if paging.direction == Direction::Backward {
            return Err(Error::new(Code::BadQuery, "This list has only one order."));
        }
        let base = &self.0.base;
        let form = match &filter.form {
            Some(which) => Some(self.form(which).await?.id),
            None => None,
        };
        let list = base.list(ListName::Submissions).of(filter);
        let read = async |before, limit| sql::list(base.db(), form, filter, before, limit).await;
        let key = |row: &Submission| [row.at.to_be_bytes(), row.id.to_be_bytes()].concat();
        Page::by_key(list, paging, position, read, key).await
    }

    /// One submission with its answers.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn submission(&self, id: i64) -> Result<SubmissionDetail> {
        sql::get(self.0.base.db(), id).await?.ok_or_else(|| none(id))
    }

    /// Removes a submission for good.
    ///
    /// # Errors
    /// `not_found`; as every write.
    pub async fn delete_submission(&self, change: &mut Change, id: i64) -> Result<()> {
        if !sql::delete(change, id).await? {
            return Err(none(id));
        }
        let row = id.to_string();
        change.audit(AuditEntry { action: "delete", table: TABLE, id: &row, columns: &[] }).await
    }
}

fn none(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no submission with id {id}."))
}
