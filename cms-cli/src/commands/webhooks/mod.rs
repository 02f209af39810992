//! `cms webhooks`: subscriptions, their deliveries, and help for writing a receiver

mod deliveries;
mod explain;
mod listen;
mod subscriptions;
mod verify;

use clap::Subcommand;

use self::{
    deliveries::DeliveriesCommand, explain::ExplainArgs, listen::ListenArgs,
    subscriptions::SubscriptionsCommand, verify::VerifyArgs,
};
use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt, site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    #[command(flatten)]
    Subscriptions(SubscriptionsCommand),
    /// Attempts to deliver
    #[command(subcommand)]
    Deliveries(DeliveriesCommand),
    /// Show who would get an event, and with which content; sends nothing
    Explain(ExplainArgs),
    /// Receive, check and print deliveries on this machine; needs no site
    Listen(ListenArgs),
    /// Check the signatures of a saved delivery; needs no site
    Verify(VerifyArgs),
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: WebhooksCommand) -> Done {
    match command {
        WebhooksCommand::Subscriptions(command) => {
            site::with(flags, out, async |site| {
                subscriptions::run(flags, out, &site.client, command).await
            })
            .await
        }
        WebhooksCommand::Deliveries(command) => {
            site::with(flags, out, async |site| deliveries::run(out, &site.client, command).await)
                .await
        }
        WebhooksCommand::Explain(args) => {
            site::with(flags, out, async |site| explain::run(out, &site.client, args).await).await
        }
        WebhooksCommand::Listen(args) => listen::run(out, args).await,
        WebhooksCommand::Verify(args) => {
            prompt::interruptible(async { verify::run(flags, out, &args) }).await
        }
    }
}
