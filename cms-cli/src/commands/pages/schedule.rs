//! `cms pages schedule`: when a page is published and taken off by itself

use clap::Args;
use cms_http::{
    client::Client,
    wire::pagebuilder::{MayName, Planned, SetSchedule},
};
use serde_json::json;

use crate::{
    output::{Done, Output},
    reply::{self, draft::Seen},
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms pages schedule /
  cms pages schedule / --publish 2099-12-24T06:00:00Z
  cms pages schedule / --no-publish

Without an option the plan is shown. A time that is not named stays as it is.")]
pub(crate) struct ScheduleArgs {
    /// Id, address or view of the page
    page: String,
    /// When the draft is published, RFC 3339
    #[arg(long, value_name = "TIME")]
    publish: Option<String>,
    /// When the page is taken off, RFC 3339
    #[arg(long, value_name = "TIME")]
    take_off: Option<String>,
    /// It is not published by itself
    #[arg(long, conflicts_with = "publish")]
    no_publish: bool,
    /// It is not taken off by itself
    #[arg(long, conflicts_with = "take_off")]
    no_take_off: bool,
    /// Neither happens by itself
    #[arg(long, conflicts_with_all = ["publish", "take_off", "no_publish", "no_take_off"])]
    clear: bool,
}

impl ScheduleArgs {
    /// Whether the plan is only looked at.
    fn is_question(&self) -> bool {
        let changes = self.no_publish || self.no_take_off || self.clear;
        !changes && self.publish.is_none() && self.take_off.is_none()
    }
}

pub(super) async fn run(out: &Output, client: &Client, args: ScheduleArgs) -> Done {
    let seen = Seen::find(client, &args.page).await?;
    let draft = &seen.draft;
    if args.is_question() {
        let plan = json!({
            "page_id": draft.page_id,
            "publish_at": draft.publish_at,
            "take_off_at": draft.take_off_at,
            "rev": draft.rev,
        });
        return reply::show(out, &seen.answer.body, &plan);
    }
    let kept = |at: &Option<String>, cleared: bool| at.clone().filter(|_| !cleared && !args.clear);
    let body = Planned {
        page_id: Some(draft.page_id),
        publish_at: args.publish.clone().or_else(|| kept(&draft.publish_at, args.no_publish)),
        take_off_at: args.take_off.clone().or_else(|| kept(&draft.take_off_at, args.no_take_off)),
    };
    let (answer, done) = seen.send::<SetSchedule>(client, &MayName::default(), &body).await?;
    reply::show(out, &answer.body, &done.data)
}
