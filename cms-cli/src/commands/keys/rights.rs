//! `cms keys rights`, `check` and `denied`: what a key may call

use cms_core::{access::Right, keys::ApiKeyPatch};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        keys::{Check, LastDenied, PossibleCall, Read, Update},
    },
};

use crate::{
    output::{Done, Exit, Failure, Output, table},
    reply::{self, by_id},
};

/// Reads rights as people type them.
pub(super) fn parse(texts: &[String]) -> Done<Vec<Right>> {
    texts.iter().map(|text| Right::parse(text).map_err(Failure::usage)).collect()
}

/// Changes the rights of a key, if something is granted or revoked, and prints the key.
pub(super) async fn show_or_change(
    out: &Output,
    client: &Client,
    id: i64,
    grant: &[String],
    revoke: &[String],
) -> Done {
    let show = reply::one(id);
    if grant.is_empty() && revoke.is_empty() {
        return reply::record::<Read>(out, client, &show, &NoBody).await;
    }
    let mut patch = ApiKeyPatch::default();
    (patch.grant, patch.revoke) = (parse(grant)?, parse(revoke)?);
    if !revoke.is_empty() {
        let held = reply::data::<Read>(client, &show, &NoBody).await?.rights;
        expect_held(&held, &patch.revoke)?;
    }
    reply::record::<Update>(out, client, &by_id(id), &patch).await
}

/// Refuses to revoke what the key does not have: the row may be mistyped.
fn expect_held(held: &[Right], revoke: &[Right]) -> Done {
    let same = |a: &Right, b: &Right| a.endpoint == b.endpoint && a.query == b.query;
    match revoke.iter().find(|gone| !held.iter().any(|row| same(row, gone))) {
        None => Ok(()),
        Some(gone) => Err(Failure::new(
            Exit::Refused,
            format!("the key has no right for {} with these parameters", gone.endpoint),
        )
        .hint("cms keys rights ID shows the rights of a key")),
    }
}

/// Prints whether a key may make a call; fails when it may not.
pub(super) async fn check(
    out: &Output,
    client: &Client,
    id: i64,
    method: &str,
    path: String,
) -> Done {
    let asked = PossibleCall { id, method: method.to_uppercase(), path };
    let (answer, judged) = reply::call::<Check>(client, &asked, &NoBody).await?;
    out.line(if out.json { &answer.body } else { &judged.data.reason })?;
    if judged.data.allowed { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
}

/// Prints the call, or grants its right and prints the key.
pub(super) async fn denied(out: &Output, client: &Client, id: i64, grants: bool) -> Done {
    let (answer, last) = reply::call::<LastDenied>(client, &by_id(id), &NoBody).await?;
    let Some(denied) = last.data else {
        let none = format!("The key {id} was refused no call that a right could allow.");
        return out.told(&answer.body, &none);
    };
    if grants {
        let mut patch = ApiKeyPatch::default();
        patch.grant = vec![denied.right];
        return reply::record::<Update>(out, client, &by_id(id), &patch).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(texts: &[&str]) -> Vec<Right> {
        texts.iter().map(|text| Right::parse(text).expect(text)).collect()
    }

    #[test]
    fn only_what_a_key_has_is_revoked() {
        let held = rights(&["GET,POST /api/backend/item?table=blog", "GET /api/pages"]);
        for (revoke, is_held) in [
            (&["POST /api/backend/item?table=blog", "GET /api/pages"][..], true),
            (&["GET /api/pages", "GET /api/menu"], false),
            (&["GET /api/backend/item"], false),
            (&["*"], false),
        ] {
            assert_eq!(expect_held(&held, &rights(revoke)).is_ok(), is_held, "{revoke:?}");
        }
    }
}
