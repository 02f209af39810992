//! `cms users sessions`: where a user is logged in

use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use super::user::id;
use crate::{
    output::{Done, Output},
    reply::{self, Paging},
};

const SESSIONS: &str = "/api/backend/users/sessions";

pub(super) async fn list(out: &Output, client: &Client, user: &str, paging: &Paging) -> Done {
    let ask = Ask::get(SESSIONS).query("id", id(client, user).await?);
    let columns = ["id", "address", "user_agent", "created_at", "last_seen_at"];
    reply::print(out, client, ask, paging, &columns).await
}

/// Ends one session, or all.
pub(super) async fn revoke(
    out: &Output,
    client: &Client,
    user: &str,
    session: Option<i64>,
) -> Done {
    let ask = Ask::delete(SESSIONS).query("id", id(client, user).await?);
    client.send(ask.maybe("session", session)).await?;
    let text = match session {
        Some(session) => format!("The session {session} of {user} has ended."),
        None => format!("All sessions of {user} have ended."),
    };
    out.done(&json!({"revoked": session.map_or("all".into(), Json::from)}), &text)
}
