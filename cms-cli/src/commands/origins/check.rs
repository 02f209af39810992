//! `cms origins check`: whether the pages of a website may call

use cms_core::traffic::origins::{Origin, normalise};
use cms_http::{client::Client, wire::origins::Read};
use serde_json::json;

use crate::{
    output::{Done, Exit, Failure, Output},
    reply,
};

/// Prints the answer; fails when the pages may not call.
pub(super) async fn run(out: &Output, client: &Client, text: &str) -> Done {
    let (allowed, reason, words) = judge(client, text).await?;
    if out.json {
        out.data(&json!({"allowed": allowed, "reason": reason}))?;
    } else {
        out.line(&words)?;
    }
    if allowed { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
}

/// Whether an origin may call, and why: as a code and in words.
async fn judge(client: &Client, text: &str) -> Done<(bool, &'static str, String)> {
    let Some(origin) = normalise(text) else {
        let words = format!("not allowed: {text} is not scheme://host[:port]");
        return Ok((false, "not_an_origin", words));
    };
    let same = |known: &Origin| known.origin == origin;
    Ok(match reply::first::<Read>(client, reply::list_query, same).await? {
        Some(Origin { id, active: true, .. }) => {
            (true, "allowed", format!("allowed: registered as {id}"))
        }
        Some(Origin { id, .. }) => {
            let next = format!("cms origins activate {origin}");
            (false, "inactive", format!("not allowed: registered as {id}, not active ({next})"))
        }
        None => {
            let next = format!("cms origins add {origin}");
            (false, "not_registered", format!("not allowed: not registered ({next})"))
        }
    })
}
