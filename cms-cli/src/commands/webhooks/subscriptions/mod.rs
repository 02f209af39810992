//! `cms webhooks list`, `create` and the like: subscriptions, through `/api/backend/webhooks`

mod saved;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use super::header;
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, record::Record},
    prompt,
    reply::{self, Paging},
};

const WEBHOOKS: &str = "/api/backend/webhooks";

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionsCommand {
    /// List all subscriptions
    List(Paging),
    /// Show a subscription
    Show {
        /// Id of the subscription
        id: i64,
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
        /// Id of the subscription
        id: i64,
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
        /// Id of the subscription
        id: i64,
    },
    /// Switch a subscription on; its held jobs are sent now
    Activate {
        /// Id of the subscription
        id: i64,
        /// Drop the held jobs
        #[arg(long)]
        drop_held: bool,
    },
    /// Switch a subscription off; its jobs are held until it is activated
    Pause {
        /// Id of the subscription
        id: i64,
    },
    /// Give a subscription a new secret, shown once
    RotateSecret {
        /// Id of the subscription
        id: i64,
        /// How long the old secret signs too, such as 30s, 10m, 2h or 7d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = input::seconds)]
        grace: i64,
    },
    /// Delete a subscription for good, with its jobs; its past deliveries stay for a time
    Delete {
        /// Id of the subscription
        id: i64,
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
    let at = |path: &str, id: i64| Ask::post(&format!("{WEBHOOKS}/{path}")).query("id", id);
    let patch = |id: i64| Ask::patch(WEBHOOKS).query("id", id);
    match command {
        SubscriptionsCommand::List(paging) => {
            let columns =
                ["id", "name", "url", "events", "active", "failure_count", "disabled_reason"];
            reply::print(out, client, Ask::get(WEBHOOKS), &paging, &columns).await
        }
        SubscriptionsCommand::Show { id } => {
            reply::record(out, client, Ask::get(WEBHOOKS).query("id", id)).await
        }
        SubscriptionsCommand::Create {
            name, url, events, headers, max_retries, inactive, ..
        } => {
            let headers: BTreeMap<_, _> = headers.into_iter().collect();
            let body = json!({
                "name": name,
                "url": url,
                "events": events,
                "custom_headers": headers,
                "max_retries": max_retries,
                "active": !inactive,
            });
            let answer = client.send(Ask::post(WEBHOOKS).json(&body)).await?;
            saved::secret(out, &answer.body)?;
            saved::warn(out, &answer)
        }
        SubscriptionsCommand::Edit { id, name, url, events, headers, max_retries, .. } => {
            let mut body = serde_json::Map::new();
            let mut set = |key: &str, value: Option<Json>| {
                value.map(|value| body.insert(key.to_owned(), value))
            };
            set("name", name.map(Json::from));
            set("url", url.map(Json::from));
            set("events", (!events.is_empty()).then(|| json!(events)));
            let headers = headers.into_iter().collect::<BTreeMap<_, _>>();
            set("custom_headers", (!headers.is_empty()).then(|| json!(headers)));
            set("max_retries", max_retries.map(Json::from));
            let answer = client.send(patch(id).json(&Json::Object(body))).await?;
            reply::body(out, &answer.body, Record::shown)?;
            saved::warn(out, &answer)
        }
        SubscriptionsCommand::Ping { id } => {
            let answer = client.send(at("ping", id)).await?;
            let delivered = answer.json()?["data"]["status"] == "delivered";
            reply::body(out, &answer.body, Record::shown)?;
            if delivered { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
        }
        SubscriptionsCommand::Activate { id, drop_held } => {
            let held = if drop_held { "drop" } else { "replay" };
            reply::record(out, client, at("activate", id).json(&json!({"held": held}))).await
        }
        SubscriptionsCommand::Pause { id } => {
            reply::record(out, client, patch(id).json(&json!({"active": false}))).await
        }
        SubscriptionsCommand::RotateSecret { id, grace } => {
            prompt::confirm(
                flags,
                &format!(
                    "Give the subscription {id} a new secret? The receiver needs it before the old \
                     one ends."
                ),
            )?;
            let ask = at("rotate-secret", id).json(&json!({"grace_s": grace}));
            saved::secret(out, &client.send(ask).await?.body)
        }
        SubscriptionsCommand::Delete { id } => {
            prompt::confirm(flags, &format!("Delete the subscription {id} and its jobs?"))?;
            client.send(Ask::delete(WEBHOOKS).query("id", id)).await?;
            out.done(&json!({"deleted": [id]}), &format!("The subscription {id} is deleted."))
        }
    }
}
