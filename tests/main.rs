//! The API from outside, on both engines. One binary, one link; each module is one subject.
//!
//! SQLite in a temporary folder by default. With `CMS_TEST_DB=postgres://...` every test gets a
//! schema of its own there.

mod support;

/// Addresses: each place that is declared to hold one, with all of them.
mod addresses;
/// Codes and pictures of the second factor, judged by oathtool and zbarimg.
mod authenticator;
/// Backups: written under writes, damaged, hostile, restored, killed half-way.
mod backup;
/// Bodies, parameters and paths that are wrong: the documented error, nothing written.
mod bad_input;
/// Programs that use the library wrongly.
mod bad_use;
/// Filters that a right fixes: nothing leads past them.
mod bound_filters;
/// Pages of several origins in a real browser; only with CMS_TEST_BROWSER=1.
mod browser;
/// The cache of replies to anonymous visitors: what is kept, and for whom.
mod cache;
/// Conditions that combine with `and`, `or`, `not`: what they select, and past no right.
mod conditions;
/// A database copied to the other engine, while it is written to and after a kill.
mod copy;
/// README and docs run as printed.
mod documents;
/// Programs that embed a site: an axum application, and the core alone.
mod embedding;
/// Codes, statuses and their documentation.
mod errors;
/// Nobody gains rights.
mod escalation;
/// Descriptors and the log are exhausted: work goes on by itself, no receiver is switched off.
mod exhaustion;
/// Imports go down the floors of each crate, never up and never in a circle.
mod floors;
/// Forms: answers judged and stored, hostile ones, a page in a real browser.
mod forms;
/// Funnels: what holds for every graph.
mod funnels;
/// SQLite's shared commits: refused means not written.
mod group_commit;
/// Code of plugins that may refuse logins, uploads and submissions.
mod guards;
/// A change that stands still keeps nobody else from writing.
mod held_writes;
/// Columns and records that a right hides: no parameter tells of them.
mod hidden_columns;
/// Hooks of plugins: they judge, change and refuse writes, whatever door these came through.
mod hooks;
/// Indexes made while the site is in use: held up, failing, broken off, undeclared.
mod index_builds;
/// Keys at every door: each refusal has its code.
mod keys;
/// The limiter: whose bucket, how much, what the reply says.
mod limiter;
/// The real listener over sockets: slow, large and broken requests.
mod listener;
/// Changes that would wait for each other.
mod lock_orders;
/// A login from the password to the session; at real processes no secret is left anywhere.
mod login;
/// Mails: queued with their cause, sent once through a chain of providers.
mod mail;
/// The map and ARCHITECTURE name what is there.
mod map;
/// Uploaded files: hostile ones, hostile paths, crashes, memory.
mod media;
/// An API below a path of another server: paths, cookies, that server's users and counts.
mod mounting;
/// Origins: which pages may call, what browsers are told, how soon a change is in force.
mod origins;
/// SQL of the embedding program on connections that only read, and pools of them.
mod own_reads;
/// SQL of the embedding program, in the change of a record.
mod own_sql;
/// Tables of the program, made by steps of its own.
mod own_tables;
/// Pages as editors and visitors have them at the same time: what is read while it is published,
/// what an edit costs, what a kill leaves.
mod page_builder;
/// Buttons of plugins: seen, used, and what they let a user write.
mod plugin_buttons;
/// Plugins of a folder that change: differences, applying, the declaration before.
mod plugin_changes;
/// Endpoints that plugins declare.
mod plugin_endpoints;
/// The example plugins of the demo: a blog in JSON, a shop in Rust.
mod plugin_examples;
/// Manifests of plugins, one fault each.
mod plugin_faults;
/// Names of plugins: they belong to the first, and no rights move to a stranger's table.
mod plugin_names;
/// Plugins that use each other's tables; those of the program; processes that follow.
mod plugin_neighbours;
/// What plugins show of tables.
mod plugin_rows;
/// Plugins that declare tables: installed, extended, refused.
mod plugins;
/// Real processes: killed in the middle of writes, keys revoked from another process, secrets on
/// disk and in logs.
mod processes;
/// `/readyz`: whether a session can write.
mod readiness;
/// Records as values of Rust types, and queries that a program writes.
mod records;
/// The limiter in a real Redis: shared, stopped, hanging.
mod redis;
/// Refused logins and keys in the log, as programs read it.
mod refusals;
/// Repeated requests.
mod repetition;
/// Reads while tables rest cost no query, and never show an old value.
mod rest;
/// Every call that changes something × its caller revoked while it is under way.
mod revoked;
/// Every backend endpoint × who may call it.
mod rights_matrix;
/// What each endpoint does, alone.
mod routes;
/// Every statement prepares on this engine; both schemas are alike.
mod schema;
/// Sessions: how long, for whom, and what a cookie may do.
mod sessions;
/// Replies kept in a real Redis: for all processes, and without when it is away.
mod shared_replies;
/// How many statements a request costs.
mod statements;
/// Declared indexes, rules over columns and enums; plans of lists.
mod tables;
/// Tasks of plugins: each once in its interval, whatever happens to the processes.
mod tasks;
/// The kit for tests of programs.
mod test_kit;
/// Two databases made by others: adopted, read and written on both engines.
mod third_party;
/// Calls of the client by the types of an operation.
mod typed_client;
/// The removal of old rows, and who does it.
mod upkeep;
/// Visits of funnels: what holds across calls.
mod visits;
/// Faults of the delivery: workers stopped, racing; receivers dead, slow, down for a while; clocks
/// that jump.
mod webhook_faults;
/// The queue of webhooks beside a model of it.
mod webhook_model;
/// Webhooks: what is queued, what arrives, when it is tried again.
mod webhooks;
/// Widgets: built-in ones and those of plugins, registered, shown.
mod widgets;
