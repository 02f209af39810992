//! `cms webhooks list`, `create` and the like: subscriptions, through `/api/backend/webhooks`

use clap::{Arg, Args, Subcommand};
use cms_core::webhooks::{NewSubscription, SubscriptionPatch};
use cms_http::{
    client::Client,
    wire::{
        NoBody, Notes,
        keys::Grace,
        parameters::NoQuery,
        webhooks::{
            Activate, Activation, Create, Delete, Held, Ping, Rotate, ShownSubscription, Update,
        },
    },
};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{self, Chosen, WEBHOOKS, by_id},
};

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
    #[command(mut_arg("name", required), mut_arg("hook_url", required))]
    #[command(mut_arg("events", required), mut_arg("max_retries", |arg| arg.default_value("5")))]
    Create {
        #[command(flatten)]
        members: Members,
        /// Create it switched off: its jobs are held until it is activated
        #[arg(long)]
        inactive: bool,
    },
    /// Change a subscription
    #[command(after_help = "Events that are given replace all events, headers all headers.")]
    Edit {
        /// Id or name of the subscription
        webhook: String,
        #[command(flatten)]
        members: Members,
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

/// Members that people set.
#[derive(Args, Debug)]
pub(crate) struct Members {
    /// Name for people
    #[arg(long)]
    name: Option<String>,
    /// Address that deliveries go to: public, with https
    #[arg(long = "url", id = "hook_url", value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    _service: Service,
    /// An event (cms events list), a pattern such as item.*, or * for all; may be repeated
    #[arg(long = "event", value_name = "EVENT")]
    events: Vec<String>,
    /// Header of every delivery, NAME: VALUE or NAME: @FILE; may be repeated
    #[arg(long = "header", value_name = "HEADER", value_parser = own_header)]
    headers: Vec<(String, String)>,
    /// How often a failed delivery is tried again
    #[arg(long, value_name = "N")]
    max_retries: Option<i64>,
}

fn required(arg: Arg) -> Arg {
    arg.required(true)
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
    let rows = WEBHOOKS.at(flags, out, client);
    match command {
        SubscriptionsCommand::List(chosen) => rows.list(&chosen).await,
        SubscriptionsCommand::Show(Named { webhook }) => rows.show(&webhook).await,
        SubscriptionsCommand::Create { members, inactive } => {
            let Members { name, url, events, headers, max_retries, .. } = members;
            let (name, url) = (name.unwrap_or_default(), url.unwrap_or_default());
            let mut new = NewSubscription::new(name, url, events);
            new.custom_headers = headers.into_iter().collect();
            new.max_retries = max_retries.unwrap_or(new.max_retries);
            new.active = !inactive;
            let (answer, made) = reply::call_once::<Create>(client, &NoQuery {}, &new).await?;
            let warnings = made.as_ref().ok().and_then(|made| made.meta.clone());
            show_secret(out, &answer.body, made.map(|made| made.data))?;
            show_notes(out, warnings.as_ref());
            Ok(())
        }
        SubscriptionsCommand::Edit { webhook, members } => {
            let Members { name, url, events, headers, max_retries, .. } = members;
            let mut patch = SubscriptionPatch::default();
            (patch.name, patch.url, patch.max_retries) = (name, url, max_retries);
            patch.events = (!events.is_empty()).then_some(events);
            patch.custom_headers = (!headers.is_empty()).then(|| headers.into_iter().collect());
            let query = by_id(rows.id(&webhook).await?);
            let (answer, changed) = reply::call::<Update>(client, &query, &patch).await?;
            reply::show(out, &answer.body, &changed.data)?;
            show_notes(out, changed.meta.as_ref());
            Ok(())
        }
        SubscriptionsCommand::Ping(Named { webhook }) => {
            let query = by_id(rows.id(&webhook).await?);
            let (answer, pinged) = reply::call::<Ping>(client, &query, &NoBody).await?;
            reply::show(out, &answer.body, &pinged.data)?;
            let delivered = pinged.data.status == "delivered";
            if delivered { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
        }
        SubscriptionsCommand::Activate { several: Several { webhooks }, drop_held } => {
            let ids = WEBHOOKS.ids(client, &input::named(webhooks)?).await?;
            let body = Activation { held: if drop_held { Held::Drop } else { Held::Replay } };
            let columns = (WEBHOOKS.columns)();
            reply::change::<Activate>(out, client, &ids, &body, (&columns, reply::plain)).await
        }
        SubscriptionsCommand::Pause(Several { webhooks }) => {
            rows.switch::<Update>(webhooks, false).await
        }
        SubscriptionsCommand::RotateSecret { webhook, grace } => {
            let (id, webhook) = rows.find(&webhook).await?;
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
            rows.delete::<Delete>(webhooks, "? Their jobs go with them.").await
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
    let (id, secret) = match &made {
        Ok(made) => (Json::from(made.record.id), &made.secret),
        Err((id, secret)) => (id.clone(), secret),
    };
    let shown = match &made {
        _ if out.quiet && !out.json => out.line(secret).map_err(Failure::from),
        Ok(made) => reply::show(out, body, made),
        Err(_) => reply::show(out, body, &json!({"id": id, "secret": secret})),
    };
    let shown = shown.inspect(|()| {
        out.note("The secret is shown this once. The receiver checks deliveries with it.");
    });
    let again = format!("cms webhooks rotate-secret {id}");
    reply::given(shown, &format!("the new secret of the subscription {id}"), &again)
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
