//! `cms users sessions`: where a user is logged in

use cms_http::{
    client::Client,
    wire::{
        NoBody,
        users::{OfUser, Revoke, Sessions, Which},
    },
};
use serde_json::{Value as Json, json};

use super::user::find;
use crate::{
    output::{Done, Output},
    reply::{self, Paging},
};

pub(super) async fn list(out: &Output, client: &Client, user: &str, paging: &Paging) -> Done {
    let id = find(client, user).await?.id;
    let columns = ["id", "address", "user_agent", "created_at", "last_seen_at"];
    let query = |limit, cursor| OfUser { id, limit, cursor };
    reply::list::<Sessions>(out, client, paging, &columns, query).await
}

/// Ends one session, or all.
pub(super) async fn revoke(
    out: &Output,
    client: &Client,
    user: &str,
    session: Option<i64>,
) -> Done {
    let id = find(client, user).await?.id;
    client.call::<Revoke>(&Which { id, session }, &NoBody).await?;
    let text = match session {
        Some(session) => format!("The session {session} of {user} has ended."),
        None => format!("All sessions of {user} have ended."),
    };
    out.done(&json!({"revoked": session.map_or("all".into(), Json::from)}), &text)
}
