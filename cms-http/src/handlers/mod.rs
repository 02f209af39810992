//! One file for each resource: reads its parameters, calls `cms-core`, shapes the reply.

pub(crate) mod audit;
pub(crate) mod auth;
mod by_name;
pub(crate) mod cache;
pub(crate) mod checklist;
pub(crate) mod endpoints;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod item;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod openapi;
pub(crate) mod origins;
pub(crate) mod pages;
pub(crate) mod permissions;
pub(crate) mod plugin_changes;
pub(crate) mod plugins;
pub(crate) mod script;
pub(crate) mod stream;
pub(crate) mod tables;
pub(crate) mod tasks;
pub(crate) mod user_groups;
pub(crate) mod users;
pub(crate) mod webhooks;
