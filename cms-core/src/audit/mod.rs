//! The audit log: who did what to which row, and when. [`crate::Change::audit`] writes it; this
//! room reads it.

pub(crate) mod sql;

use std::{cmp::Reverse, collections::BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::sql::{Position, Span};
use crate::{
    Code, Error, Millis, Page, Paging, Result, base::Base, db::Db, ground::ListName, jobs,
};

/// Kinds of actors that have an id.
const CALLERS: [&str; 2] = ["user", "key"];
/// Kinds of actors that have none.
const OTHERS: [&str; 4] = ["operator", "system", "visitor", "application"];

/// One entry of the audit log. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AuditRow {
    /// Ids grow with time.
    pub id: i64,
    /// Who made the change.
    pub actor: AuditActor,
    /// `create`, `update`, `delete`, `rotate`...
    pub action: String,
    /// The table, by its outward name.
    pub table: String,
    /// Id of the changed row.
    pub row_id: String,
    /// The columns written.
    pub columns: Vec<String>,
    /// When the change was made.
    pub created_at: String,
    #[serde(skip)]
    at: Millis,
}

impl AuditRow {
    fn position(&self) -> Position {
        (self.at, self.id)
    }
}

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AuditActor {
    /// `system`, `operator`, `visitor`, `key`, `user` or `application`.
    pub kind: String,
    /// Id of the key or user.
    pub id: Option<i64>,
    /// Its name at that time.
    pub name: Option<String>,
}

/// The audit log of a site: `cms.audit()`.
#[derive(Clone)]
pub struct AuditLog(Base);

impl AuditLog {
    pub(crate) fn new(base: &Base) -> Self {
        Self(base.clone())
    }

    /// Removes rows older than `retention.audit_days`.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let days = self.0.settings().retention.audit_days;
        let horizon = jobs::days_before(self.0.clock().now(), days);
        jobs::expire(&self.0, &[(sql::EXPIRE, horizon)]).await
    }

    /// The query plan for what the filter selects of its first table, by line.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub async fn plan(&self, filter: &AuditFilter) -> Result<Vec<String>> {
        let table = filter.tables.first().map(String::as_str);
        sql::plan(self.0.db(), filter, table, span(filter, None, 50)).await
    }

    /// The audit log, newest first, one page at a time.
    ///
    /// # Errors
    /// `bad_query` for a row without a table.
    pub async fn list(&self, paging: &Paging, filter: &AuditFilter) -> Result<Page<AuditRow>> {
        filter.check()?;
        let read = async |last: Option<Position>, limit: i64| {
            let (db, asked) = (self.0.db(), span(filter, last, limit));
            if filter.tables.is_empty() {
                return sql::list(db, filter, None, asked).await;
            }
            let most = usize::try_from(limit).unwrap_or_default();
            let mut rows: Vec<AuditRow> = Vec::new();
            // Reads one table after the other by its index, and only entries that are newer than a
            // full page from the previous tables.
            for table in &filter.tables {
                let full = rows.get(most.saturating_sub(1)).map(AuditRow::position);
                let span = Span { after: full.unwrap_or(asked.after), ..asked };
                rows.extend(sql::list(db, filter, Some(table), span).await?);
                rows.sort_by_key(|row| Reverse(row.position()));
                rows.truncate(most);
            }
            Ok(rows)
        };
        let key = |row: &AuditRow| {
            let (at, id) = row.position();
            [at.to_be_bytes(), id.to_be_bytes()].concat()
        };
        let list = self.0.list(ListName::Audit).of(filter);
        let page = Page::by_key(list, paging, position, read, key).await?;
        page.counted(paging, async || sql::count(self.0.db(), filter).await).await
    }
}

/// The newest changes of one row, up to `limit`.
pub(crate) async fn of_row(db: &Db, table: &str, row: &str, limit: i64) -> Result<Vec<AuditRow>> {
    let filter = AuditFilter { row: Some(row.to_owned()), ..AuditFilter::default() };
    sql::list(db, &filter, Some(table), span(&filter, None, limit)).await
}

/// The entries within the filter's time that follow the last one of the previous page.
fn span(filter: &AuditFilter, last: Option<Position>, limit: i64) -> Span {
    let end = filter.until.map_or((i64::MAX, i64::MAX), |until| (until, i64::MIN));
    let after = (filter.since.unwrap_or(i64::MIN), i64::MIN);
    Span { after, before: last.unwrap_or(end), limit }
}

fn position(bytes: &[u8]) -> Option<Position> {
    let (at, id) = bytes.split_at_checked(8)?;
    Some((i64::from_be_bytes(at.try_into().ok()?), i64::from_be_bytes(id.try_into().ok()?)))
}

/// Selects entries of the audit log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuditFilter {
    /// Only changes of these tables; empty: of all.
    pub tables: BTreeSet<String>,
    /// Only changes of the row with this id. Needs a table, because ids are unique only within
    /// a table.
    pub row: Option<String>,
    /// Only changes that this actor made.
    pub actor: Option<ActorName>,
    /// Only changes of this time or later, in milliseconds.
    pub since: Option<Millis>,
    /// Only changes before this time, in milliseconds.
    pub until: Option<Millis>,
}

impl AuditFilter {
    /// # Errors
    /// `bad_query` for a row without a table.
    fn check(&self) -> Result<()> {
        if self.row.is_some() && self.tables.is_empty() {
            let detail = "id names a row of a table: name the table too, such as table=users&id=3.";
            return Err(Error::new(Code::BadQuery, detail));
        }
        Ok(())
    }
}

/// Who made a change, without the name: `user:3`, `key:5`, `operator`, `system`, `visitor` or
/// `application`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActorName {
    kind: &'static str,
    id: Option<i64>,
}

impl ActorName {
    /// The format that [`ActorName::parse`] accepts, as far as a regular expression can
    /// describe it.
    pub const PATTERN: &'static str =
        "^((user|key):[0-9]{1,18}|operator|system|visitor|application)$";

    /// Parses a text such as `user:3`.
    ///
    /// # Errors
    /// `bad_query` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let known =
            |kinds: &[&'static str], kind: &str| kinds.iter().copied().find(|one| *one == kind);
        let found = match text.split_once(':') {
            Some((kind, id)) => known(&CALLERS, kind)
                .zip(id.parse().ok())
                .map(|(kind, id)| Self { kind, id: Some(id) }),
            None => known(&OTHERS, text).map(|kind| Self { kind, id: None }),
        };
        found.ok_or_else(|| {
            let detail = "actor is user:3 or key:5 with the id, or operator, system, visitor or \
                          application.";
            Error::new(Code::BadQuery, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_are_callers_with_an_id_and_others_without() {
        for (text, expected) in [
            ("user:3", Some(("user", Some(3)))),
            ("key:5", Some(("key", Some(5)))),
            ("operator", Some(("operator", None))),
            ("system", Some(("system", None))),
            ("visitor", Some(("visitor", None))),
            ("user", None),
            ("user:", None),
            ("user:ana", None),
            ("operator:1", None),
            ("system:", None),
            ("User:3", None),
            ("user:99999999999999999999", None),
            ("", None),
        ] {
            let found = ActorName::parse(text).ok().map(|actor| (actor.kind, actor.id));
            assert_eq!(found, expected, "{text}");
        }
    }
}
