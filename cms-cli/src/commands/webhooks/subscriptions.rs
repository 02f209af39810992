//! `cms webhooks list`, `create` and the like: subscriptions, through `/api/backend/webhooks`

use clap::{Args, Subcommand};
use cms_core::webhooks::{NewSubscription, SubscriptionPatch};
use cms_http::{
    client::Client,
    wire::{
        NoBody, Notes,
        keys::Grace,
        parameters::NoQuery,
        webhooks::{
            Activate, Activation, Create, Delete, Held, Ping, Read, Rotate, ShownSubscription,
            Update,
        },
    },
};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{self, Chosen, by_id, named},
};

/// The columns of a list.
const COLUMNS: [&str; 7] =
    ["id", "name", "url", "events", "active", "failure_count", "disabled_reason"];

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionsCommand {
    /// List all subscriptions
    List(Chosen),
    /// Show a subscription
    Show(Named),
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
        #[arg(long = "header", value_name = "HEADER", value_parser = own_header)]
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
        #[arg(long = "header", value_name = "HEADER", value_parser = own_header)]
        headers: Vec<(String, String)>,
        /// How often a failed delivery is tried again
        #[arg(long, value_name = "N")]
        max_retries: Option<i64>,
    },
    /// Send a test event at once; exit code 0 when it is delivered
    Ping(Named),
    /// Switch subscriptions on; their held jobs are sent now
    Activate {
        #[command(flatten)]
        several: Several,
        /// Drop the held jobs
        #[arg(long)]
        drop_held: bool,
    },
    /// Switch subscriptions off; their jobs are held until they are activated
    Pause(Several),
    /// Give a subscription a new secret, shown once
    RotateSecret {
        /// Id or name of the subscription
        webhook: String,
        /// How long the old secret signs too, such as 30s, 10m, 2h or 7d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = input::seconds)]
        grace: i64,
    },
    /// Delete subscriptions for good, with their jobs; past deliveries stay for a time
    Delete(Several),
}

/// A subscription.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Id or name of the subscription
    webhook: String,
}

/// Subscriptions.
#[derive(Args, Debug)]
pub(crate) struct Several {
    /// Ids or names of the subscriptions; - takes them from standard input
    #[arg(required = true, value_name = "WEBHOOKS")]
    webhooks: Vec<String>,
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
        SubscriptionsCommand::List(chosen) => {
            let (shown, query) = ((&COLUMNS[..], reply::plain as _), reply::list_query);
            reply::chosen::<Read>(out, client, &chosen, shown, query).await
        }
        SubscriptionsCommand::Show(Named { webhook }) => {
            let one = reply::one(named::webhook(client, &webhook).await?);
            reply::record::<Read>(out, client, &one, &NoBody).await
        }
        SubscriptionsCommand::Create {
            name, url, events, headers, max_retries, inactive, ..
        } => {
            let mut new = NewSubscription::new(name, url, events);
            new.custom_headers = headers.into_iter().collect();
            (new.max_retries, new.active) = (max_retries, !inactive);
            let (answer, made) = reply::call_once::<Create>(client, &NoQuery {}, &new).await?;
            let warnings = made.as_ref().ok().and_then(|made| made.meta.clone());
            show_secret(out, &answer.body, made.map(|made| made.data))?;
            show_notes(out, warnings.as_ref());
            Ok(())
        }
        SubscriptionsCommand::Edit { webhook, name, url, events, headers, max_retries, .. } => {
            let id = named::webhook(client, &webhook).await?;
            let mut patch = SubscriptionPatch::default();
            (patch.name, patch.url, patch.max_retries) = (name, url, max_retries);
            patch.events = (!events.is_empty()).then_some(events);
            patch.custom_headers = (!headers.is_empty()).then(|| headers.into_iter().collect());
            let (answer, changed) = reply::call::<Update>(client, &by_id(id), &patch).await?;
            reply::show(out, &answer.body, &changed.data)?;
            show_notes(out, changed.meta.as_ref());
            Ok(())
        }
        SubscriptionsCommand::Ping(Named { webhook }) => {
            let id = named::webhook(client, &webhook).await?;
            let (answer, pinged) = reply::call::<Ping>(client, &by_id(id), &NoBody).await?;
            reply::show(out, &answer.body, &pinged.data)?;
            let delivered = pinged.data.status == "delivered";
            if delivered { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
        }
        SubscriptionsCommand::Activate { several: Several { webhooks }, drop_held } => {
            let ids = named::webhooks(client, &input::named(webhooks)?).await?;
            let held = if drop_held { Held::Drop } else { Held::Replay };
            let body = Activation { held };
            reply::change::<Activate>(out, client, &ids, &body, (&COLUMNS, reply::plain)).await
        }
        SubscriptionsCommand::Pause(Several { webhooks }) => {
            let ids = named::webhooks(client, &input::named(webhooks)?).await?;
            let mut patch = SubscriptionPatch::default();
            patch.active = Some(false);
            reply::change::<Update>(out, client, &ids, &patch, (&COLUMNS, reply::plain)).await
        }
        SubscriptionsCommand::RotateSecret { webhook, grace } => {
            let id = named::webhook(client, &webhook).await?;
            prompt::confirm(
                flags,
                &format!(
                    "Give the subscription {webhook} a new secret? The receiver needs it before \
                     the old one ends."
                ),
            )?;
            let grace = Grace { grace_s: grace };
            let (answer, made) = reply::call_once::<Rotate>(client, &by_id(id), &grace).await?;
            show_secret(out, &answer.body, made.map(|made| made.data))
        }
        SubscriptionsCommand::Delete(Several { webhooks }) => {
            let webhooks = input::named(webhooks)?;
            let ids = named::webhooks(client, &webhooks).await?;
            let what = ("subscription", " with all jobs?");
            reply::delete::<Delete>(flags, out, client, (&ids, &webhooks), what).await
        }
    }
}

/// Prints the warnings about a subscription.
fn show_notes(out: &Output, notes: Option<&Notes>) {
    for warning in notes.into_iter().flat_map(|notes| &notes.warnings) {
        out.note(&format!("warning: {}: {}", warning.field, warning.message));
    }
}

/// Prints a subscription with its secret; with `-q` only the secret. Callers who may not see the
/// subscription get its id and the secret.
fn show_secret(out: &Output, body: &str, made: Result<ShownSubscription, (Json, String)>) -> Done {
    let id = match &made {
        Ok(made) => Json::from(made.record.id),
        Err((id, _)) => id.clone(),
    };
    let secret = format!("the new secret of the subscription {id}");
    let again = format!("cms webhooks subscriptions rotate-secret {id}");
    reply::given(print_secret(out, body, made), &secret, &again)
}

fn print_secret(out: &Output, body: &str, made: Result<ShownSubscription, (Json, String)>) -> Done {
    if out.json || !out.quiet {
        match &made {
            Ok(made) => reply::show(out, body, made)?,
            Err((id, secret)) => reply::show(out, body, &json!({"id": id, "secret": secret}))?,
        }
        out.note("The secret is shown this once. The receiver checks deliveries with it.");
        return Ok(());
    }
    Ok(out.line(&made.map_or_else(|(_, secret)| secret, |made| made.secret))?)
}

/// Reads `NAME: VALUE`.
pub(super) fn header_line(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Reads `NAME: VALUE`, or `NAME: @FILE`. Other users of the machine can see the command line, but
/// not the file.
fn own_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = header_line(text).map_err(|form| format!("{form}, or NAME: @FILE"))?;
    let Some(file) = value.strip_prefix('@') else { return Ok((name, value)) };
    let value = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    Ok((name, value.trim().to_owned()))
}
