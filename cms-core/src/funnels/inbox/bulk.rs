//! Bulk changes: many submissions in one change, all or none. One statement first lists the
//! submissions; the rest runs part by part, so that memory holds one part. An undo takes back the
//! caller's last bulk change of status or assignment, except where others have changed a
//! submission since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    InboxFilter, check_assignable, is_assignable, owner, search, sql,
    update::{self, state_fault},
};
use crate::{
    Change, Code, Error, Result,
    db::{Statement, Value, args},
    funnels::{
        Funnels,
        counters::{self, TURN},
    },
};

/// Maximum number of ids in a bulk change.
const IDS: usize = 10_000;

/// What a bulk change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BulkOp {
    /// Sets `inbox_status` to `value`.
    SetStatus,
    /// Sets `assigned_to` to `value`; null: nobody.
    Assign,
    /// Deletes for good.
    Delete,
}

impl BulkOp {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SetStatus => "set_status",
            Self::Assign => "assign",
            Self::Delete => "delete",
        }
    }
}

/// A bulk change of submissions: those of `ids`, or all that `filter` selects.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BulkOfSubmissions")]
#[schemars(extend("examples" = [{"op": "set_status", "ids": [1], "value": "qualified"}]))]
pub struct Bulk {
    /// What to do.
    pub op: BulkOp,
    /// These submissions, 10,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10_000))]
    pub ids: Option<Vec<i64>>,
    /// All submissions that match. Needs `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<InboxFilter>,
    /// How many the caller expects to be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub expected: Option<i64>,
    /// The status, or the id of the user; null: nobody.
    #[serde(default)]
    pub value: Option<Json>,
}

/// What a bulk change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BulkOfSubmissionsDone")]
#[non_exhaustive]
pub struct BulkDone {
    /// Submissions that were meant.
    pub matched: i64,
    /// Those that were changed or deleted: the others had the value already.
    pub changed: i64,
}

/// A bulk change with its parsed value.
enum Act {
    SetStatus(String),
    Assign(Option<i64>),
    Delete,
}

impl Funnels {
    /// Changes or deletes many submissions. The caller's last change of status or assignment can be
    /// taken back by [`Funnels::undo`].
    ///
    /// # Errors
    /// `validation_failed` for what cannot be read; `not_found` for an unknown id; `count_moved`
    /// when another number of submissions matches than expected. Nothing is changed then.
    pub async fn bulk(&self, change: &mut Change, bulk: Bulk) -> Result<BulkDone> {
        let act = act(change, &bulk).await?;
        let (query, named) = match (&bulk.ids, &bulk.filter) {
            (Some(ids), None) => {
                let named = distinct(ids)?;
                (self.0.inbox.keyed(named.iter().copied()), Some(named.len() as i64))
            }
            (None, Some(_)) if bulk.expected.is_none() => {
                let why = "how many submissions the filter is expected to select";
                return Err(Error::invalid_field("expected", "required", why));
            }
            (None, Some(filter)) => (filter.query("filter")?.0, None),
            _ => {
                let why = "either ids or a filter is expected";
                return Err(Error::invalid_field("ids", "required", why));
            }
        };
        change.lock(TURN).await?;
        counters::sql::hold_funnels(change).await?;
        let query = search::narrow(&mut *change, &query).await?.query;
        let owner = owner(change.actor());
        let args = args![&owner, bulk.op.as_str(), change.now()];
        let (id,): (i64,) = change.one(sql::NEW_BULK, args).await?;
        let chosen = self.0.inbox.write_matching(change, sql::CHOOSE, args![id], &query);
        let found = chosen.await.map_err(in_filter)?;
        let matched = i64::try_from(found).unwrap_or(i64::MAX);
        if let Some(expected) = bulk.expected.filter(|expected| *expected != matched) {
            let what = format!("{matched} submissions match now, not {expected}");
            return Err(moved(&what).matching(found));
        }
        if named.is_some_and(|named| named != matched) {
            let detail = "Some of these submissions do not exist. Nothing was changed.";
            return Err(Error::new(Code::NotFound, detail));
        }
        let changed = match act {
            Act::SetStatus(status) => set_status(change, id, &status).await?,
            Act::Assign(user) => assign(change, id, user).await?,
            Act::Delete => self.delete_chosen(change, id).await?,
        };
        if bulk.op != BulkOp::Delete && changed > 0 {
            sql::keep_bulk(change, &owner, id, changed).await?;
        } else {
            sql::drop_bulk(change, id).await?;
        }
        Ok(BulkDone { matched, changed })
    }
}

async fn act(change: &mut Change, bulk: &Bulk) -> Result<Act> {
    let wrong = |code, why: &str| Err(Error::invalid_field("value", code, why));
    match (bulk.op, bulk.value.as_ref().filter(|value| !value.is_null())) {
        (BulkOp::SetStatus, Some(Json::String(status))) => match state_fault("value", status) {
            Some(fault) => Err(Error::invalid(vec![fault])),
            None => Ok(Act::SetStatus(status.clone())),
        },
        (BulkOp::SetStatus, _) => wrong("required", "a state of the inbox is expected"),
        (BulkOp::Assign, None) => Ok(Act::Assign(None)),
        (BulkOp::Assign, Some(value)) => {
            let Some(user) = value.as_i64() else {
                return wrong("type", "the id of a user is expected, or null for nobody");
            };
            check_assignable(change, user, "value").await?;
            Ok(Act::Assign(Some(user)))
        }
        (BulkOp::Delete, None) => Ok(Act::Delete),
        (BulkOp::Delete, Some(_)) => wrong("unknown", "a deletion takes no value"),
    }
}

fn distinct(ids: &[i64]) -> Result<Vec<i64>> {
    let mut distinct = ids.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.is_empty() || distinct.len() > IDS {
        let why = format!("1 to {IDS} ids are expected: name more by a filter");
        return Err(Error::invalid_field("ids", "range", why));
    }
    Ok(distinct)
}

fn moved(what: &str) -> Error {
    Error::new(Code::CountMoved, format!("{what}: look again. Nothing was changed."))
}

/// Names the field `filter` in errors that speak of a query.
fn in_filter(error: Error) -> Error {
    match error.code() {
        Code::BadQuery => {
            let why = error.detail().trim_end_matches('.').to_owned();
            Error::invalid_field("filter", "format", why)
        }
        _ => error,
    }
}

async fn set_status(change: &mut Change, id: i64, status: &str) -> Result<i64> {
    change.run(sql::LEAVE_STATUS, args![id, status]).await?;
    let awaited = sql::rows(change, id).await?;
    let values = args![status, change.now()];
    all_of(awaited, by_parts(change, id, "inbox_status", sql::SET_STATUS, values).await?)
}

async fn assign(change: &mut Change, id: i64, user: Option<i64>) -> Result<i64> {
    change.run(sql::LEAVE_ASSIGNED, args![id, user]).await?;
    let awaited = sql::rows(change, id).await?;
    let values = args![user, change.now()];
    all_of(awaited, by_parts(change, id, "assigned_to", sql::ASSIGN, values).await?)
}

/// Updates a column of the chosen submissions part by part, unless somebody has changed them
/// since. Returns how many.
async fn by_parts(
    change: &mut Change,
    id: i64,
    column: &str,
    statement: Statement,
    values: Vec<Value>,
) -> Result<i64> {
    let (mut updated, mut after) = (0, 0);
    while let Some(last) = sql::part(change, id, after).await? {
        let args = [args![id, after, last], values.clone()].concat();
        let touched: Vec<sql::Touched> = change.all(statement, args).await?;
        updated += touched.len() as i64;
        update::emit_updated(change, touched, &[column]).await?;
        after = last;
    }
    Ok(updated)
}

impl Funnels {
    /// Deletes the chosen submissions part by part. Each part takes its rows off the list.
    async fn delete_chosen(&self, change: &mut Change, id: i64) -> Result<i64> {
        let awaited = sql::rows(change, id).await?;
        let mut changed = 0;
        while let Some(last) = sql::part(change, id, 0).await? {
            change.run(sql::STAGE_PART, args![id, 0_i64, last]).await?;
            self.count_leaving(change).await?;
            counters::sql::clear_staged(change).await?;
            let touched = sql::delete_part(change, id, last).await?;
            if touched.is_empty() {
                break;
            }
            changed += touched.len() as i64;
            update::emit_deleted(change, touched).await?;
        }
        all_of(awaited, changed)
    }
}

/// Refuses the whole change when somebody changed a submission after it was chosen.
fn all_of(awaited: i64, changed: i64) -> Result<i64> {
    match awaited == changed {
        true => Ok(changed),
        false => Err(moved("Somebody changed some of these submissions at the same time")),
    }
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BulkOfSubmissionsUndone")]
#[non_exhaustive]
pub struct Undone {
    /// What was taken back: `set_status` or `assign`.
    pub op: String,
    /// Submissions that are as they were before.
    pub restored: i64,
    /// Those that somebody else has changed since: they stay.
    pub changed_since: i64,
    /// Those that were deleted since.
    pub gone: i64,
}

impl Funnels {
    /// Takes the caller's last bulk change back. A second call finds none.
    ///
    /// # Errors
    /// `not_found` when there is none.
    pub async fn undo(&self, change: &mut Change) -> Result<Undone> {
        change.lock(TURN).await?;
        counters::sql::hold_funnels(change).await?;
        let last: Option<(i64, String, i64)> =
            change.optional(sql::LAST_BULK, args![owner(change.actor())]).await?;
        let (id, op, changed) = last.ok_or_else(|| {
            Error::new(Code::NotFound, "There is no bulk change of yours to take back.")
        })?;
        let left = sql::rows(change, id).await?;
        let (column, statement) = match op == BulkOp::SetStatus.as_str() {
            true => ("inbox_status", sql::RESTORE_STATUS),
            false => {
                for (user,) in sql::keep_users_before(change, id).await? {
                    if !is_assignable(change, user).await? {
                        change.run(sql::FORGET_BEFORE, args![id, user]).await?;
                    }
                }
                ("assigned_to", sql::RESTORE_ASSIGNED)
            }
        };
        let restored = by_parts(change, id, column, statement, args![]).await?;
        sql::drop_bulk(change, id).await?;
        Ok(Undone { op, restored, changed_since: left - restored, gone: changed - left })
    }
}
