//! A form as it is saved

use crate::{
    output::{Done, Exit, Failure, Output},
    reply,
};
use cms_http::{
    client::{Answer, Ask, Client},
    wire::{Data, Record},
};

pub(super) const ITEM: &str = "/api/backend/item";

/// A form with the reply that shows it.
pub(super) struct Saved {
    pub(super) id: i64,
    pub(super) answer: Answer,
}

impl Saved {
    /// Finds a form by its id or its name.
    pub(super) async fn find(client: &Client, form: &str) -> Done<Self> {
        let id = match form.parse() {
            Ok(id) => id,
            Err(_) => named(client, form).await?,
        };
        let ask = Ask::get(ITEM).query("table", "forms").query("id", id);
        Ok(Self { id, answer: client.send(ask).await? })
    }
}

async fn named(client: &Client, name: &str) -> Done<i64> {
    let found = reply::named::records(client, "forms", "name", name).await?;
    found.first().copied().ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no form {name}")).hint("cms forms list")
    })
}

/// Prints the form in a reply.
pub(super) fn print(out: &Output, answer: &Answer) -> Done {
    let form: Data<Record> = serde_json::from_str(&answer.body).map_err(Failure::unexpected)?;
    reply::show(out, &answer.body, &form.data)
}
