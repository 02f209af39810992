//! `cms webhooks list`, `create` and the like: subscriptions, through `/api/backend/webhooks`

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use cms_http::client::{Answer, Ask};
use serde_json::{Value as Json, json};

use super::{WEBHOOKS, header, print, record};
use crate::{
    args::Global,
    commands::keys::change,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    paging::{self, Paging, unexpected},
    prompt,
    record::text,
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionsCommand {
    /// All subscriptions
    List(Paging),
    /// One subscription
    Show { id: i64 },
    /// Make a subscription; its secret is shown once
    #[command(after_help = "Examples:
  cms webhooks create --name shop --url https://shop.example.org/hook --event item.orders.created --event form.submitted
  cms webhooks create --name mirror --url https://mirror.example.org/cms --event 'item.*' --header 'x-tenant: 7'")]
    Create {
        /// For people
        #[arg(long)]
        name: String,
        /// Where deliveries go: https, a public address
        #[arg(long = "url", id = "hook_url", value_name = "URL")]
        url: String,
        #[command(flatten)]
        service: Service,
        /// An event, item.* or *; may be repeated (cms events list)
        #[arg(long = "event", value_name = "EVENT", required = true)]
        events: Vec<String>,
        /// NAME: VALUE, or NAME: @FILE, sent with every delivery; may be repeated
        #[arg(long = "header", value_name = "HEADER", value_parser = own_header)]
        headers: Vec<(String, String)>,
        /// Attempts after the first
        #[arg(long, value_name = "N", default_value_t = 5)]
        max_retries: i64,
        /// Jobs are held until it is activated
        #[arg(long)]
        inactive: bool,
    },
    /// Change a subscription
    Edit {
        id: i64,
        /// New name
        #[arg(long)]
        name: Option<String>,
        /// New address
        #[arg(long = "url", id = "hook_url", value_name = "URL")]
        url: Option<String>,
        #[command(flatten)]
        service: Service,
        /// All events anew; may be repeated
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
        /// All headers anew; NAME: @FILE takes the value from a file; may be repeated
        #[arg(long = "header", value_name = "HEADER", value_parser = own_header)]
        headers: Vec<(String, String)>,
        /// Attempts after the first
        #[arg(long, value_name = "N")]
        max_retries: Option<i64>,
    },
    /// Send a test event at once; exit code 0 when it was delivered
    Ping { id: i64 },
    /// Switch a subscription on; what was held is sent now
    Activate {
        id: i64,
        /// Drop what was held
        #[arg(long)]
        drop_held: bool,
    },
    /// Hold what is queued until the subscription is activated
    Pause { id: i64 },
    /// Give a subscription a new secret, shown once
    RotateSecret {
        id: i64,
        /// How long the old secret signs too: 30s, 10m, 2h, 7d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = change::seconds)]
        grace: i64,
    },
    /// Remove a subscription for good, with its jobs; the log of what was sent stays for its time
    Delete { id: i64 },
}

/// Where `--url` is the webhook's, the address of the service has another name. The id is that of
/// the global flag: its place is taken, and its value given.
#[derive(Args, Debug)]
pub(crate) struct Service {
    /// Address of a running site, instead of a folder; or --url before `webhooks`
    #[arg(long = "service-url", id = "url", value_name = "URL")]
    _url: Option<String>,
}

pub(super) async fn run(
    global: &Global,
    out: &Output,
    site: &Site,
    command: SubscriptionsCommand,
) -> Done {
    let client = &site.client;
    let at = |path: &str, id: i64| Ask::post(&format!("{WEBHOOKS}/{path}")).query("id", id);
    match command {
        SubscriptionsCommand::List(paging) => {
            let columns =
                ["id", "name", "url", "events", "active", "failure_count", "disabled_reason"];
            paging::print(out, client, Ask::get(WEBHOOKS), &paging, &columns).await
        }
        SubscriptionsCommand::Show { id } => {
            record(out, site, Ask::get(WEBHOOKS).query("id", id)).await
        }
        SubscriptionsCommand::Create {
            name, url, events, headers, max_retries, inactive, ..
        } => {
            let headers: BTreeMap<_, _> = headers.into_iter().collect();
            let body = json!({
                "name": name, "url": url, "events": events, "custom_headers": headers, "max_retries": max_retries, "active": !inactive,
            });
            let answer = client.send(Ask::post(WEBHOOKS).json(&body)).await?;
            secret(out, &answer.body)?;
            warn(out, &answer)
        }
        SubscriptionsCommand::Edit { id, name, url, events, headers, max_retries, .. } => {
            let mut body = serde_json::Map::new();
            let mut set = |key: &str, value: Option<Json>| {
                value.map(|value| body.insert(key.to_owned(), value))
            };
            set("name", name.map(Json::from));
            set("url", url.map(Json::from));
            set("events", (!events.is_empty()).then(|| json!(events)));
            set(
                "custom_headers",
                (!headers.is_empty())
                    .then(|| json!(headers.into_iter().collect::<BTreeMap<_, _>>())),
            );
            set("max_retries", max_retries.map(Json::from));
            let answer =
                client.send(Ask::patch(WEBHOOKS).query("id", id).json(&Json::Object(body))).await?;
            print(out, &answer.body)?;
            warn(out, &answer)
        }
        SubscriptionsCommand::Ping { id } => {
            let answer = client.send(at("ping", id)).await?;
            let delivered = answer.json()?["data"]["status"] == "delivered";
            print(out, &answer.body)?;
            if delivered { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
        }
        SubscriptionsCommand::Activate { id, drop_held } => {
            let held = if drop_held { "drop" } else { "replay" };
            record(out, site, at("activate", id).json(&json!({"held": held}))).await
        }
        SubscriptionsCommand::Pause { id } => {
            record(out, site, Ask::patch(WEBHOOKS).query("id", id).json(&json!({"active": false})))
                .await
        }
        SubscriptionsCommand::RotateSecret { id, grace } => {
            prompt::confirm(
                global,
                &format!(
                    "Give the webhook {id} a new secret? The receiver must have it when the old one stops."
                ),
            )?;
            secret(
                out,
                &client.send(at("rotate-secret", id).json(&json!({"grace_s": grace}))).await?.body,
            )
        }
        SubscriptionsCommand::Delete { id } => {
            prompt::confirm(global, &format!("Delete the webhook {id} and its queued jobs?"))?;
            client.send(Ask::delete(WEBHOOKS).query("id", id)).await?;
            if out.json {
                return Ok(out.data(&json!({"deleted": [id]}))?);
            }
            out.note(&format!("The webhook {id} is deleted."));
            Ok(())
        }
    }
}

/// `NAME: VALUE`, or `NAME: @FILE` for a value that other users of the machine must not see among
/// the processes.
fn own_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = header(text).map_err(|form| format!("{form}, or NAME: @FILE"))?;
    let Some(file) = value.strip_prefix('@') else { return Ok((name, value)) };
    let value = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    Ok((name, value.trim().to_owned()))
}

/// What the owner of a webhook should know of it.
fn warn(out: &Output, answer: &Answer) -> Done {
    for warning in answer.json()?["meta"]["warnings"].as_array().into_iter().flatten() {
        out.note(&format!("warning: {}: {}", text(&warning["field"]), text(&warning["message"])));
    }
    Ok(())
}

/// A record with a secret; `-q` prints the secret alone.
fn secret(out: &Output, body: &str) -> Done {
    if out.json || !out.quiet {
        print(out, body)?;
        out.note("The secret is shown this once. Receivers check deliveries with it.");
        return Ok(());
    }
    let one: Json = serde_json::from_str(body).map_err(unexpected)?;
    Ok(out.line(one["data"]["secret"].as_str().unwrap_or_default())?)
}
