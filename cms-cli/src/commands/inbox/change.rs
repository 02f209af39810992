//! `cms inbox set-status`, `assign`, `note`, `delete`

use cms_core::funnels::{Bulk, BulkOp, SubmissionUpdate};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        inbox::{
            AssignableUsers, ChangeSubmissions, MayNameSubmission, Submission, UpdateSubmission,
        },
        parameters::NoQuery,
    },
};
use serde_json::Value as Json;

use super::{Which, told};
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, counted},
    prompt, reply,
};

pub(super) async fn set_status(out: &Output, client: &Client, to: String, which: Which) -> Done {
    let bulk = bulk(BulkOp::SetStatus, which, Some(to.clone().into()))?;
    send(out, client, bulk, &format!("now {to}")).await
}

pub(super) async fn assign(out: &Output, client: &Client, user: &str, which: Which) -> Done {
    let id = match user {
        "nobody" => None,
        name => Some(named(client, name).await?),
    };
    let bulk = bulk(BulkOp::Assign, which, id.map(Json::from))?;
    send(out, client, bulk, &format!("assigned to {user}")).await
}

pub(super) async fn delete(flags: &Flags, out: &Output, client: &Client, which: Which) -> Done {
    let bulk = bulk(BulkOp::Delete, which, None)?;
    let many = bulk.expected.or(bulk.ids.as_ref().map(|ids| ids.len() as i64)).unwrap_or_default();
    let many = counted(many.unsigned_abs(), "submission");
    prompt::confirm(flags, &format!("Delete {many} for good, with files and mails?"))?;
    send(out, client, bulk, "deleted").await
}

/// Only of a submission that nobody else has changed meanwhile.
pub(super) async fn note(out: &Output, client: &Client, id: i64, text: &str) -> Done {
    let text = match text {
        "-" => input::text("-".as_ref())?,
        text => text.to_owned(),
    };
    let seen = client.send(Ask::of::<Submission>(&reply::by_id(id), &NoBody)?).await?;
    let update = SubmissionUpdate { id: Some(id), inbox_notes: Some(text), ..Default::default() };
    let ask = Ask::of::<UpdateSubmission>(&MayNameSubmission::default(), &update)?;
    let answer = client.send(ask.if_match(seen.etag)).await?;
    told(out, &answer.body, &format!("The notes of {id} are written."))
}

/// The id of a user.
async fn named(client: &Client, user: &str) -> Done<i64> {
    if let Ok(id) = user.parse() {
        return Ok(id);
    }
    let found = reply::first::<AssignableUsers>(client, reply::listing, |one| {
        one.username.eq_ignore_ascii_case(user)
    });
    found.await?.map(|one| one.id).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("nobody who may see the inbox is called {user}"))
            .hint("cms inbox users")
    })
}

fn bulk(op: BulkOp, which: Which, value: Option<Json>) -> Done<Bulk> {
    let Which { ids, matching, expected } = which;
    if !ids.is_empty() {
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
    told(out, &answer.body, &text)
}
