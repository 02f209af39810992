//! Mails: queued with their cause, sent once through a chain of providers.

mod abuse;
mod chain;
mod debian;
mod leases;
mod outage;
mod processes;
