//! `cms whoami`: which site commands are about, and as whom

use cms_http::client::Ask;
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    output::{
        Done, Output,
        record::{names, text},
        table,
    },
    site::{self, Site},
    target::Target,
};

pub(crate) async fn run(flags: &Flags, out: &Output) -> Done {
    let target = Target::of(flags)?;
    let mut me = match &target {
        // Keys belong to programs; the API knows no person behind them.
        Target::Address { .. } if site::api_key(flags)?.is_some() => {
            json!({"id": null, "username": null, "api_key": true})
        }
        _ => {
            let site = Site::open(flags, &target, out).await?;
            let answer = site.client.send(Ask::get("/api/backend/auth/me")).await;
            site.close().await;
            answer?.json()?["data"].take()
        }
    };
    me["site"] = target.to_string().into();
    if out.json {
        return Ok(out.data(&me)?);
    }
    let user = if me["api_key"] == true { "an API key".to_owned() } else { text(&me["username"]) };
    let mut rows = vec![("site", target.to_string()), ("user", user)];
    if me["id"].is_number() {
        let rights = match &me["rights"] {
            Json::Array(keys) => keys.iter().map(text).collect::<Vec<_>>().join(" "),
            _ => "everything".to_owned(),
        };
        rows.push(("groups", names(&me["groups"])));
        rows.push(("rights", rights));
        rows.push(("recovery codes left", text(&me["recovery_codes"])));
        rows.push(("session ends", text(&me["expires_at"])));
    }
    Ok(table::pairs(out, &rows)?)
}
