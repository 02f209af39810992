//! `cms webhooks list`, `create` and the like: subscriptions, through `/api/backend/webhooks`

mod saved;

use clap::{Args, Subcommand};
use cms_core::webhooks::{NewSubscription, SubscriptionPatch};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        keys::Grace,
        parameters::NoQuery,
        webhooks::{Activate, Activation, Create, Delete, Held, Ping, Read, Rotate, Update},
    },
};
use serde_json::json;

use super::header;
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{self, Paging, by_id, named},
};

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionsCommand {
    /// List all subscriptions
    List(Paging),
    /// Show a subscription
    Show {
        /// Id or name of the subscription
        webhook: String,
    },
    /// Create a subscription; its secret is shown once
    #[command(after_help = "Examples:
  cms webhooks create --name shop --url https://shop.example.org/hook \\
    --event item.orders.created --event form.submitted
  cms webhooks create --name mirror --url https://mirror.example.org/cms --event 'item.*' \\
    --header 'x-tenant: 7'")]
    Create {
        /// Name for people
        #[arg(long)]
        name: String,
        /// Address that deliveries go to: public, with https
        #[arg(long = "url", id = "hook_url", value_name = "URL")]
        url: String,
        #[command(flatten)]
        service: Service,
        /// An event (cms events list), a pattern such as item.*, or * for all; may be repeated
        #[arg(long = "event", value_name = "EVENT", required = true)]
        events: Vec<String>,
        /// Header of every delivery, NAME: VALUE or NAME: @FILE; may be repeated
        #[arg(long = "header", value_name = "HEADER", value_parser = header::own)]
        headers: Vec<(String, String)>,
        /// How often a failed delivery is tried again
        #[arg(long, value_name = "N", default_value_t = 5)]
        max_retries: i64,
        /// Create it switched off: its jobs are held until it is activated
        #[arg(long)]
        inactive: bool,
    },
    /// Change a subscription
    Edit {
        /// Id or name of the subscription
        webhook: String,
        /// New name
        #[arg(long)]
        name: Option<String>,
        /// New address
        #[arg(long = "url", id = "hook_url", value_name = "URL")]
        url: Option<String>,
        #[command(flatten)]
        service: Service,
        /// An event; replaces all events; may be repeated
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
        /// A header, NAME: VALUE or NAME: @FILE; replaces all headers; may be repeated
        #[arg(long = "header", value_name = "HEADER", value_parser = header::own)]
        headers: Vec<(String, String)>,
        /// How often a failed delivery is tried again
        #[arg(long, value_name = "N")]
        max_retries: Option<i64>,
    },
    /// Send a test event at once; exit code 0 when it is delivered
    Ping {
        /// Id or name of the subscription
        webhook: String,
    },
    /// Switch a subscription on; its held jobs are sent now
    Activate {
        /// Id or name of the subscription
        webhook: String,
        /// Drop the held jobs
        #[arg(long)]
        drop_held: bool,
    },
    /// Switch a subscription off; its jobs are held until it is activated
    Pause {
        /// Id or name of the subscription
        webhook: String,
    },
    /// Give a subscription a new secret, shown once
    RotateSecret {
        /// Id or name of the subscription
        webhook: String,
        /// How long the old secret signs too, such as 30s, 10m, 2h or 7d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = input::seconds)]
        grace: i64,
    },
    /// Delete a subscription for good, with its jobs; its past deliveries stay for a time
    Delete {
        /// Id or name of the subscription
        webhook: String,
    },
}

/// `--url` is the address of deliveries here, so the address of the service has another name. This
/// flag has the id of the global flag, so it takes the place of that flag and gives its value.
#[derive(Args, Debug)]
pub(crate) struct Service {
    /// Address of a running site, instead of a folder; or --url before `webhooks`
    #[arg(long = "service-url", id = "url", value_name = "URL")]
    _url: Option<String>,
}

pub(super) async fn run(
    flags: &Flags,
    out: &Output,
    client: &Client,
    command: SubscriptionsCommand,
) -> Done {
    match command {
        SubscriptionsCommand::List(paging) => {
            let columns =
                ["id", "name", "url", "events", "active", "failure_count", "disabled_reason"];
            reply::list::<Read>(out, client, &paging, &columns, reply::list_query).await
        }
        SubscriptionsCommand::Show { webhook } => {
            let one = reply::one(named::webhook(client, &webhook).await?);
            reply::record::<Read>(out, client, &one, &NoBody).await
        }
        SubscriptionsCommand::Create {
            name, url, events, headers, max_retries, inactive, ..
        } => {
            let custom_headers = headers.into_iter().collect();
            let active = !inactive;
            let new = NewSubscription { name, url, events, custom_headers, max_retries, active };
            let (answer, made) = reply::call::<Create>(client, &NoQuery {}, &new).await?;
            saved::secret(out, &answer.body, &made.data)?;
            saved::warn(out, made.meta.as_ref());
            Ok(())
        }
        SubscriptionsCommand::Edit { webhook, name, url, events, headers, max_retries, .. } => {
            let id = named::webhook(client, &webhook).await?;
            let events = (!events.is_empty()).then_some(events);
            let custom_headers = (!headers.is_empty()).then(|| headers.into_iter().collect());
            let patch =
                SubscriptionPatch { name, url, events, custom_headers, max_retries, active: None };
            let (answer, changed) = reply::call::<Update>(client, &by_id(id), &patch).await?;
            reply::show(out, &answer.body, &changed.data)?;
            saved::warn(out, changed.meta.as_ref());
            Ok(())
        }
        SubscriptionsCommand::Ping { webhook } => {
            let id = named::webhook(client, &webhook).await?;
            let (answer, pinged) = reply::call::<Ping>(client, &by_id(id), &NoBody).await?;
            reply::show(out, &answer.body, &pinged.data)?;
            let delivered = pinged.data.status == "delivered";
            if delivered { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
        }
        SubscriptionsCommand::Activate { webhook, drop_held } => {
            let id = named::webhook(client, &webhook).await?;
            let held = if drop_held { Held::Drop } else { Held::Replay };
            reply::record::<Activate>(out, client, &by_id(id), &Activation { held }).await
        }
        SubscriptionsCommand::Pause { webhook } => {
            let id = named::webhook(client, &webhook).await?;
            let patch = SubscriptionPatch { active: Some(false), ..SubscriptionPatch::default() };
            reply::record::<Update>(out, client, &by_id(id), &patch).await
        }
        SubscriptionsCommand::RotateSecret { webhook, grace } => {
            let id = named::webhook(client, &webhook).await?;
            prompt::confirm(
                flags,
                &format!(
                    "Give the subscription {webhook} a new secret? The receiver needs it before the old \
                     one ends."
                ),
            )?;
            let grace = Grace { grace_s: grace };
            let (answer, made) = reply::call::<Rotate>(client, &by_id(id), &grace).await?;
            saved::secret(out, &answer.body, &made.data)
        }
        SubscriptionsCommand::Delete { webhook } => {
            let id = named::webhook(client, &webhook).await?;
            prompt::confirm(flags, &format!("Delete the subscription {webhook} and its jobs?"))?;
            client.call::<Delete>(&by_id(id), &NoBody).await?;
            out.done(&json!({"deleted": [id]}), &format!("The subscription {webhook} is deleted."))
        }
    }
}
