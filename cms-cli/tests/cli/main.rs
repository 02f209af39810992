//! The `cms` binary from outside, as a shell sees it.

mod demo;
mod doctor;
mod events;
mod items;
mod keys;
mod leaves;
mod login;
mod origins;
mod receivers;
mod refusals;
mod remote;
mod setup;
mod shown;
mod support;
mod tui;
mod untouched;
mod users;
mod walk;
mod webhooks;
