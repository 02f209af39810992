//! Rows that flags choose, printed and deleted

use clap::Args;
use cms_http::{
    client::{Ask, Client},
    wire::{
        Data, NoBody,
        item::{Delete, OneOrMany, WhichItem},
    },
};
use serde_json::json;

use super::ITEM;
use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, listed, table},
    prompt,
    reply::{self, Choose},
};

/// Sends a request and prints the rows in the reply: one or several.
pub(super) async fn print(out: &Output, client: &Client, ask: Ask) -> Done {
    let answer = client.send(ask).await?;
    if let Some(etag) = &answer.etag {
        out.detail(&format!("ETag: {etag}"));
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let reply: Data<OneOrMany> = serde_json::from_str(&answer.body).map_err(Failure::unexpected)?;
    match reply.data {
        OneOrMany::One(row) => reply::show(out, &answer.body, &row),
        OneOrMany::Many(rows) => table::records(out, &[], &rows),
    }
}

/// Rows to be deleted.
#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// Content table
    table: String,
    /// Ids of the rows
    #[arg(required = true)]
    ids: Vec<String>,
    /// Only if the row still has this entity tag, which cms items get -v prints; without it each
    /// row is read first
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

impl DeleteArgs {
    pub(super) fn of(table: &str, ids: Vec<String>) -> Self {
        Self { table: table.to_owned(), ids, if_match: None }
    }
}

/// The entity tag of a row as it is now. None: the caller may change rows, but not read them.
pub(super) async fn tag(
    client: &Client,
    table: &str,
    id: &str,
    language: Option<&str>,
) -> Done<Option<String>> {
    let ask = Ask::get(ITEM).query("table", table).query("id", id).maybe("language", language);
    match client.send(ask).await.map_err(Failure::from) {
        Ok(answer) => Ok(answer.etag),
        Err(failure) if failure.exit == Exit::NoRight => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Deletes rows after a question. Stops at the first failure.
pub(super) async fn delete(
    flags: &Flags,
    out: &Output,
    client: &Client,
    args: &DeleteArgs,
) -> Done {
    let DeleteArgs { table, ids, if_match } = args;
    if if_match.is_some() && ids.len() > 1 {
        return Err(Failure::usage("--if-match is the entity tag of one row: name one id"));
    }
    prompt::confirm(flags, &format!("Delete {} of {table}? This cannot be undone.", listed(ids)))?;
    reply::several(out, ids, async |id| delete_one(client, table, id, if_match.clone()).await)
        .await?;
    out.done(&json!({"deleted": ids}), &format!("Deleted: {}", ids.join(", ")))
}

async fn delete_one(client: &Client, table: &str, id: String, seen: Option<String>) -> Done {
    let tag = match seen {
        None => tag(client, table, &id, None).await?,
        seen => seen,
    };
    let which = WhichItem { table: table.to_owned(), id, language: None };
    client.send(Ask::of::<Delete>(&which, &NoBody)?.if_match(tag)).await?;
    Ok(())
}

/// Which records, in which order, and which of their columns.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Filters {
    #[command(flatten)]
    choose: Choose,
    /// Only these columns
    #[arg(long, value_name = "COLUMNS")]
    fields: Option<String>,
    /// Only versions in this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
}

impl Filters {
    /// The request for the first page.
    pub(crate) fn ask(&self, table: &str) -> Ask {
        self.choose
            .ask(Ask::get(ITEM).query("table", table))
            .maybe("fields", self.fields.as_ref())
            .maybe("language", self.language.as_ref())
    }
}
