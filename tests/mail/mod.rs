//! Mails: queued with their cause, sent once through a chain of providers.

/// Addresses, headers and values that try to be more than they are; who gets automatic replies.
mod abuse;
/// Who is tried, in which order, and what each answer leads to.
mod chain;
/// A mail server as people run it, with TLS.
mod debian;
/// Mails whose postman died, and mails that nobody ever sent.
mod leases;
/// A provider that is away for an hour.
mod outage;
/// A process that is killed while it sends.
mod processes;
