//! The `cms` binary from outside, as a shell sees it.

mod demo;
mod doctor;
mod editor;
mod events;
mod forms;
mod funnels;
mod inbox;
mod items;
mod keys;
mod leaves;
mod login;
mod mail;
mod origins;
mod plugins;
mod receivers;
mod refusals;
mod remote;
mod setup;
mod shown;
mod support;
mod tmux;
mod tui;
mod untouched;
mod users;
mod walk;
mod webhooks;
