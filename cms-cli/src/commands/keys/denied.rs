//! `cms keys denied`: the last call that a key was refused, and the right for it

use cms_core::access::Right;
use cms_http::{
    client::Client,
    wire::{NoBody, keys::LastDenied},
};

use super::rights;
use crate::{
    output::{Done, Output, table},
    reply::{self, by_id},
};

/// Prints the call, or grants its right and prints the key.
pub(super) async fn run(out: &Output, client: &Client, id: i64, grant: bool) -> Done {
    let (answer, last) = reply::call::<LastDenied>(client, &by_id(id), &NoBody).await?;
    let Some(denied) = last.data else {
        if out.json {
            return Ok(out.line(&answer.body)?);
        }
        out.note(&format!("The key {id} was refused no call that a right could allow."));
        return Ok(());
    };
    if grant {
        return rights::grant(out, client, id, vec![denied.right]).await;
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    Ok(table::pairs(out, &[("at", denied.at), ("right", text(&denied.right))])?)
}

/// A right as people type it.
fn text(right: &Right) -> String {
    let query: Vec<_> = right.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("{} {}{query}", right.methods.join(","), right.endpoint)
}
