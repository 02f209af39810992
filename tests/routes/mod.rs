//! Tests of one endpoint each; the folder mirrors the URL below `/api` and `/api/backend`.

/// What is done to records beside reading and writing them.
mod actions;
/// The audit log, a page of some tables at a time.
mod audit;
/// Logging in.
mod auth;
/// Settings and clears of the reply cache.
mod cache;
/// The page of the API.
mod docs;
/// Funnels as their authors draw them.
mod formfunnel;
/// Forms as items, their submissions listed, exported, removed.
mod forms;
/// `/healthz` and `/readyz`.
mod health;
/// What visitors of funnels sent, for the staff.
pub(crate) mod inbox;
/// Records of content tables.
mod item;
/// API keys.
mod keys;
/// What each bucket has left.
mod limits;
/// Lists of the service's own rows, chosen and sorted.
mod lists;
/// Mails: their log, a test, the providers.
mod mail;
/// Uploaded files: uploaded, listed, changed, served, removed.
mod media;
/// Menus, as trees.
mod menu;
/// What `/metrics` tells.
mod metrics;
/// `/api/openapi.json`: what it describes, and for whom.
mod openapi;
/// Origins are administered.
mod origins;
/// Drafts of pages, what is published of them.
pub(crate) mod pagebuilder;
/// What visitors read.
mod pages;
/// Paths for typed clients, beside `?action=` and `?id=`.
mod paths;
/// Permission keys that groups can hold.
mod permissions;
/// Plugins, their buttons and what these show.
mod plugins;
/// Old addresses and where they lead.
mod redirects;
/// Public settings.
mod settings;
/// `/sitemap.xml`.
mod sitemap;
/// Events as they happen.
mod stream;
/// Content tables, as far as the caller may read them.
mod tables;
/// Tasks of plugins, asked for and listed.
mod tasks;
/// What the build of a theme reads.
mod theme;
/// Users, their groups and their sessions.
mod users;
/// What visitors do in funnels.
mod visits;
/// Subscriptions, their events and their queue.
mod webhooks;
