//! `cms funnels try`: a visit that is a test

use cms_core::funnels::StartVisit;
use cms_http::{
    client::Client,
    wire::{funnels::StartTest, parameters::NoQuery},
};

use crate::{
    output::{Done, Output},
    reply,
};

pub(super) async fn run(
    out: &Output,
    client: &Client,
    funnel: String,
    language: Option<String>,
) -> Done {
    let mut visit = StartVisit::of(funnel);
    visit.language = language;
    let (answer, begun) = reply::call::<StartTest>(client, &NoQuery {}, &visit).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let begun = begun.data;
    if let Some(url) = begun.url {
        return Ok(out.line(&url)?);
    }
    out.line(&begun.started.session_uuid)?;
    out.note(
        "This is the session_uuid. There is no address: set page_url of the funnel's settings.",
    );
    Ok(())
}
