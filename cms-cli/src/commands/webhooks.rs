//! `cms webhooks`: subscriptions, what was delivered to them, and what helps to write a receiver

mod deliveries;
mod explain;
mod listen;
mod secrets;
mod signature;
mod subscriptions;
mod verify;

use clap::Subcommand;
use cms_http::client::Ask;

use self::{
    deliveries::DeliveriesCommand, explain::ExplainArgs, listen::ListenArgs,
    subscriptions::SubscriptionsCommand, verify::VerifyArgs,
};
use crate::{
    args::Global,
    commands::with_site,
    failure::Done,
    output::Output,
    paging::unexpected,
    prompt,
    record::{One, Record},
    site::Site,
    table,
};

pub(crate) const WEBHOOKS: &str = "/api/backend/webhooks";

#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    #[command(flatten)]
    Subscriptions(SubscriptionsCommand),
    /// What was sent
    #[command(subcommand)]
    Deliveries(DeliveriesCommand),
    /// Who would be told of an event, and what: nothing is sent
    Explain(ExplainArgs),
    /// Receive deliveries on this machine, check and print them; needs no site
    Listen(ListenArgs),
    /// Check the signatures of a delivery that was kept; needs no site
    Verify(VerifyArgs),
}

pub(crate) async fn run(global: &Global, out: &Output, command: WebhooksCommand) -> Done {
    match command {
        WebhooksCommand::Subscriptions(command) => {
            with_site(global, out, async |site| {
                subscriptions::run(global, out, site, command).await
            })
            .await
        }
        WebhooksCommand::Deliveries(command) => {
            with_site(global, out, async |site| deliveries::run(out, site, command).await).await
        }
        WebhooksCommand::Explain(args) => {
            with_site(global, out, async |site| explain::run(out, site, args).await).await
        }
        WebhooksCommand::Listen(args) => listen::run(out, args).await,
        WebhooksCommand::Verify(args) => {
            prompt::interruptible(async { verify::run(global, out, &args) }).await
        }
    }
}

/// Reads `NAME: VALUE`.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Sends, and prints the record that comes back.
pub(crate) async fn record(out: &Output, site: &Site, ask: Ask) -> Done {
    print(out, &site.client.send(ask).await?.body)
}

fn print(out: &Output, body: &str) -> Done {
    if out.json {
        return Ok(out.line(body)?);
    }
    let one: One = serde_json::from_str(body).map_err(unexpected)?;
    Ok(table::record(out, &one.data, Record::shown)?)
}
