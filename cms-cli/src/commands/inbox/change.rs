//! `cms inbox set-status`, `assign`, `note`, `delete`, `erase`, and the flags that choose
//! submissions. A change of one submission needs the state that was seen; a change of many is made
//! for all or for none. `cms inbox views`: saved queries

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use cms_core::{
    erasure::EraseReceipt,
    funnels::{
        Bulk, BulkOp, InboxFilter, InboxView, NewView, SubmissionDeletion, SubmissionUpdate,
    },
};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody, Operation,
        inbox::{
            AskedErasure, AssignableUsers, ChangeSubmissions, DeleteSubmission, DeleteView, Erase,
            InboxAsked, MayNameSubmission, SaveView, Submission, UpdateSubmission, Views,
        },
        parameters::{ListQuery, NoQuery},
    },
};
use serde_json::{Map, Value as Json, json};

use super::Selection;
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, counted},
    prompt,
    reply::{self, Paging},
};

/// Which submissions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Matching {
    /// Only those that fulfil column=value or column:op=value, op one of eq ne gt gte lt lte in nin
    /// contains starts_with ends_with null; may be repeated. The end of cms inbox list --help names
    /// the columns
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<(String, String, String)>,
    /// Only those with this text in name, address, telephone, company, summary or reference
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// Which submissions, and in which order.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Choose {
    #[command(flatten)]
    matching: Matching,
    /// Order by these columns, - in front for descending: -score,started_at
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// As a saved view says
    #[arg(long, value_name = "NAME", conflicts_with_all = ["conditions", "search", "sort"])]
    view: Option<String>,
}

impl Matching {
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.search.is_none()
    }

    /// The filter, as the body of a call has it.
    pub(super) fn filter(&self) -> Done<InboxFilter> {
        let mut filter = Map::new();
        for (column, op, value) in &self.conditions {
            let ops = filter.entry(column.clone()).or_insert_with(|| json!({}));
            let value = match op.as_str() {
                "in" | "nin" => value.split(',').map(Json::from).collect(),
                _ => Json::from(value.clone()),
            };
            if ops.as_object_mut().is_some_and(|ops| ops.insert(op.clone(), value).is_some()) {
                return Err(Failure::usage(format!("{column}:{op} is there twice")));
            }
        }
        if let Some(text) = &self.search {
            filter.insert("search".to_owned(), text.clone().into());
        }
        Ok(InboxFilter(filter))
    }
}

impl Choose {
    /// The filter, as the query of a list has it.
    pub(super) async fn asked(&self, client: &Client) -> Done<InboxAsked> {
        let Some(name) = &self.view else {
            return query(&self.matching.filter()?, self.sort.clone());
        };
        let view = view_named(client, name).await?;
        query(&view.query.filter, view.query.sort)
    }

    /// The filter and the order, to be saved.
    fn parts(&self) -> Done<(InboxFilter, Option<String>)> {
        if self.view.is_some() {
            return Err(Failure::usage("a view cannot be saved from another view"));
        }
        Ok((self.matching.filter()?, self.sort.clone()))
    }
}

/// A filter as parameters of a list.
fn query(filter: &InboxFilter, sort: Option<String>) -> Done<InboxAsked> {
    let mut asked = InboxAsked { sort, ..InboxAsked::default() };
    for (column, given) in &filter.0 {
        if column == "search" {
            asked.search = given.as_str().map(str::to_owned);
            continue;
        }
        let ops = match given {
            Json::Object(ops) => ops.clone(),
            Json::Null => Map::from_iter([("null".to_owned(), Json::from("true"))]),
            Json::Array(_) => Map::from_iter([("in".to_owned(), given.clone())]),
            _ => Map::from_iter([("eq".to_owned(), given.clone())]),
        };
        for (op, value) in ops {
            asked.filters.insert(format!("filter[{column}][{op}]"), text(&value));
        }
    }
    Ok(asked)
}

fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        Json::Null => "true".to_owned(),
        other => other.to_string(),
    }
}

/// Reads `column:op=value`.
fn condition(text: &str) -> Result<(String, String, String), String> {
    let form = "write column=value or column:op=value, such as inbox_status=new";
    let (left, value) = text.split_once('=').ok_or(form)?;
    let (column, op) = left.rsplit_once(':').unwrap_or((left, "eq"));
    if column.is_empty() || op.is_empty() {
        return Err(form.to_owned());
    }
    Ok((column.to_owned(), op.to_owned(), value.to_owned()))
}

#[derive(Debug, Subcommand)]
pub(crate) enum ViewsCommand {
    /// List your views, by name
    List,
    /// Save a view; one of the same name is replaced
    #[command(after_help = "Example:
  cms inbox views save 'New leads' --where inbox_status=new --sort -score")]
    Save {
        /// Its name
        name: String,
        #[command(flatten)]
        choose: Choose,
    },
    /// Delete a view
    Delete {
        /// Its name
        name: String,
    },
}

pub(super) async fn views(out: &Output, client: &Client, command: ViewsCommand) -> Done {
    match command {
        ViewsCommand::List => {
            let (columns, paging) = (["id", "name", "query", "updated_at"], Paging::default());
            reply::list::<Views>(out, client, &paging, &columns, |_, _| NoQuery {}).await
        }
        ViewsCommand::Save { name, choose } => {
            let mut new = NewView::new(&name);
            (new.query.filter, new.query.sort) = choose.parts()?;
            let (answer, _) = reply::call::<SaveView>(client, &NoQuery {}, &new).await?;
            out.told(&answer.body, &format!("The view {name} is saved."))
        }
        ViewsCommand::Delete { name } => {
            let view = view_named(client, &name).await?;
            client.call::<DeleteView>(&reply::by_id(view.id), &NoBody).await?;
            out.done(&json!({"deleted": [view.id]}), &format!("The view {name} is deleted."))
        }
    }
}

async fn view_named(client: &Client, name: &str) -> Done<InboxView> {
    let views = client.call::<Views>(&NoQuery {}, &NoBody).await?.data;
    views.into_iter().find(|view| view.name == name).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no view {name}"))
            .hint("cms inbox views list")
    })
}

pub(super) async fn set_status(
    out: &Output,
    client: &Client,
    to: String,
    which: Selection,
) -> Done {
    let what = format!("now {to}");
    if let Some((id, rev)) = which.single(client).await? {
        let mut update = SubmissionUpdate::default();
        update.inbox_status = Some(to);
        return one(out, client, (id, rev), update, &what).await;
    }
    let bulk = bulk(client, BulkOp::SetStatus, which, Some(to.into())).await?;
    send(out, client, bulk, &what).await
}

pub(super) async fn assign(out: &Output, client: &Client, user: &str, which: Selection) -> Done {
    let to = match user {
        "nobody" => None,
        name => Some(named(client, name).await?),
    };
    let what = format!("assigned to {user}");
    if let Some((id, rev)) = which.single(client).await? {
        let mut update = SubmissionUpdate::default();
        update.assigned_to = Some(to);
        return one(out, client, (id, rev), update, &what).await;
    }
    let bulk = bulk(client, BulkOp::Assign, which, to.map(Json::from)).await?;
    send(out, client, bulk, &what).await
}

pub(super) async fn delete(flags: &Flags, out: &Output, client: &Client, which: Selection) -> Done {
    let ask = |many| {
        let many = counted(many, "submission");
        prompt::confirm(flags, &format!("Delete {many} for good, with files and mails?"))
    };
    if let Some((id, rev)) = which.single(client).await? {
        ask(1)?;
        let mut gone = SubmissionDeletion::default();
        (gone.id, gone.rev) = (Some(id), rev);
        let body = as_seen::<DeleteSubmission>(client, id, rev, &gone).await?;
        return out.told(&body, "1 submission deleted.");
    }
    let bulk = bulk(client, BulkOp::Delete, which, None).await?;
    let many = bulk.expected.or(bulk.ids.as_ref().map(|ids| ids.len() as i64)).unwrap_or_default();
    ask(many.unsigned_abs())?;
    send(out, client, bulk, "deleted").await
}

/// Writes notes, but only if nobody else has changed the submission meanwhile.
pub(super) async fn note(
    out: &Output,
    client: &Client,
    id: i64,
    text: &str,
    rev: Option<i64>,
) -> Done {
    let text = match text {
        "-" => input::text("-".as_ref())?,
        text => text.to_owned(),
    };
    let mut update = SubmissionUpdate::default();
    (update.id, update.rev, update.inbox_notes) = (Some(id), rev, Some(text));
    let body = as_seen::<UpdateSubmission>(client, id, rev, &update).await?;
    out.told(&body, &format!("The notes of {id} are written."))
}

async fn one(
    out: &Output,
    client: &Client,
    (id, rev): (i64, Option<i64>),
    mut update: SubmissionUpdate,
    what: &str,
) -> Done {
    (update.id, update.rev) = (Some(id), rev);
    let body = as_seen::<UpdateSubmission>(client, id, rev, &update).await?;
    out.told(&body, &format!("1 submission {what}."))
}

/// Changes a submission if it is still as it was seen: at this `rev`, or as it is read here
/// first. Callers that may change submissions but not read them have seen nothing.
async fn as_seen<O: Operation<Query = MayNameSubmission>>(
    client: &Client,
    id: i64,
    rev: Option<i64>,
    body: &O::Body,
) -> Done<String> {
    let seen = match rev {
        Some(_) => None,
        None => match client.send(Ask::of::<Submission>(&reply::by_id(id), &NoBody)?).await {
            Ok(answer) => answer.etag,
            Err(error) => match Failure::from(error) {
                failure if failure.exit == Exit::NoRight => None,
                failure => return Err(failure),
            },
        },
    };
    let ask = Ask::of::<O>(&MayNameSubmission::default(), body)?;
    Ok(client.send(ask.if_match(seen)).await?.body)
}

/// The id of a user.
async fn named(client: &Client, user: &str) -> Done<i64> {
    if let Ok(id) = user.parse() {
        return Ok(id);
    }
    // Longer names contain this one too.
    let filter = ("filter[username][contains]".to_owned(), user.to_owned());
    let query = |limit, cursor| {
        let filters = [filter.clone()].into();
        ListQuery { filters, ..ListQuery::page(limit, cursor) }
    };
    let found = reply::first::<AssignableUsers>(client, query, |one| {
        one.username.eq_ignore_ascii_case(user)
    });
    found.await?.map(|one| one.id).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("nobody who may see the inbox is called {user}"))
            .hint("cms inbox users")
    })
}

impl Selection {
    /// The only submission that is named, with its `inbox_rev` if the caller knows it.
    async fn single(&self, client: &Client) -> Done<Option<(i64, Option<i64>)>> {
        match (&self.submissions[..], self.rev, self.expected) {
            ([one], rev, None) => Ok(Some((reply::named::submission(client, one).await?, rev))),
            (_, Some(_), _) => Err(Failure::usage("--rev is that of one submission: name its id")),
            _ => Ok(None),
        }
    }
}

async fn bulk(client: &Client, op: BulkOp, which: Selection, value: Option<Json>) -> Done<Bulk> {
    let Selection { submissions, matching, expected, .. } = which;
    if !submissions.is_empty() {
        let mut ids = Vec::with_capacity(submissions.len());
        for one in &submissions {
            ids.push(reply::named::submission(client, one).await?);
        }
        return Ok(Bulk { op, ids: Some(ids), filter: None, expected, value });
    }
    if matching.is_empty() {
        return Err(Failure::usage("name submissions by their ids, or by --where and --expected"));
    }
    if expected.is_none() {
        return Err(Failure::usage("with --where, say with --expected how many you expect"));
    }
    Ok(Bulk { op, ids: None, filter: Some(matching.filter()?), expected, value })
}

async fn send(out: &Output, client: &Client, bulk: Bulk, what: &str) -> Done {
    let (answer, done) = reply::call::<ChangeSubmissions>(client, &NoQuery {}, &bulk).await?;
    let done = done.data;
    let matched = counted(done.matched.unsigned_abs(), "submission");
    let text = match done.changed.filter(|changed| *changed != done.matched) {
        None => format!("{matched} {what}."),
        Some(changed) => format!("{matched} {what}; {changed} changed, the others were so before."),
    };
    out.told(&answer.body, &text)
}

pub(super) async fn erase(
    flags: &Flags,
    out: &Output,
    client: &Client,
    email: String,
    dry_run: bool,
) -> Done {
    if !dry_run {
        let what = format!("Erase everything that was sent as {email}, for good?");
        prompt::confirm(flags, &what)?;
    }
    let asked = AskedErasure { email, dry_run };
    reply::printed::<Erase>(out, client, &NoQuery {}, &asked, |done| {
        Ok(lines(&done.data).iter().try_for_each(|line| out.line(line))?)
    })
    .await
}

/// The receipt as readable text, one fact a line.
fn lines(receipt: &EraseReceipt) -> Vec<String> {
    let (goes, went) = if receipt.dry_run { ("would go", "looked") } else { ("gone", "erased") };
    let by = format!("{went} {} by {}", receipt.erased_at, receipt.erased_by);
    let mut lines = vec![by, format!("digest {}", receipt.digest)];
    for (kind, rows) in receipt.removed.iter().flatten() {
        let more = if rows.ids.len() as u64 == rows.count { "" } else { " ..." };
        lines.push(format!("{goes}: {} {kind} {}{more}", rows.count, rows.ids.join(" ")));
    }
    if receipt.removed.as_ref().is_some_and(BTreeMap::is_empty) {
        lines.push("nothing holds this address".to_owned());
    }
    if !receipt.dry_run {
        lines.push(format!("database: {}", receipt.database));
    }
    lines.extend(receipt.copies.iter().flatten().map(|file| format!("still held by: {file}")));
    lines.extend(receipt.unread.iter().flatten().map(|file| format!("not looked into: {file}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(conditions: &[&str]) -> Matching {
        let conditions = conditions.iter().map(|text| condition(text).expect("read")).collect();
        Matching { conditions, search: Some("ada".to_owned()) }
    }

    #[test]
    fn flags_say_the_same_in_bodies_and_queries() {
        let flags = ["inbox_status:in=new,qualified", "score:gt=5", "assigned_to:null=true"];
        let filter = matching(&flags).filter().expect("a filter");
        let expected = json!({
            "inbox_status": {"in": ["new", "qualified"]}, "score": {"gt": "5"},
            "assigned_to": {"null": "true"}, "search": "ada",
        });
        assert_eq!(Json::Object(filter.0.clone()), expected);
        let asked = query(&filter, None).expect("a query");
        let said: Vec<_> =
            asked.filters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "filter[assigned_to][null]=true",
            "filter[inbox_status][in]=new,qualified",
            "filter[score][gt]=5",
        ];
        assert_eq!(
            (said, asked.search.as_deref()),
            (expected.map(str::to_owned).to_vec(), Some("ada"))
        );
        assert!(matching(&["a=1", "a=2"]).filter().is_err());
    }
}
