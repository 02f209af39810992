//! An embeddable content-management service.
//!
//! ```text
//! settings   configuration in layers, each value with its origin
//! db         one SQL text for SQLite and PostgreSQL
//! events     what an embedding program tells: orders, registrations, deployments
//! access     rights as data: endpoints, rights of keys, permissions of users
//! fields     field types: what forms and funnels ask people for
//! conditions rules over answers: evaluated, explained, checked
//! content    content tables: declared, installed, their values checked
//! items      records of content tables, as JSON written by the database
//! keys       API keys
//! accounts   backend users, their groups, logins and sessions
//! traffic    limiter, origins, rules of the response cache
//! plugins    manifests and what they declare
//! scripts    scripts of plugins: handlers, or files that an interpreter runs
//! tasks      tasks of plugins and of the service, each once in its interval, and their history
//! pages      pages, menus, public settings and sitemap, as visitors read them
//! media      files that editors upload, stored by content, served
//! mail       mails, queued and sent through a chain of providers
//! forms      what visitors submit: judged, stored, listed
//! funnels    forms of several steps: drawn, checked, published
//! webhooks   subscriptions to events, their deliveries and history
//! erasure    everything that is held under an address of mail: found, and removed
//! theme      what the build of a front end reads: variables, and class names to keep
//! backup     a site in one file, written while it is in use, and brought back
//! update     what an update server offers, judged before anything of it is used
//! testing    a site for each test of a program (feature `testing`)
//! ```
//!
//! Start with [`Cms::open`]; every write is a [`Change`]. The REST API over it is `cms-http`.
//!
//! Calls that read or write the database return `unavailable` when it cannot be reached. Lists
//! return `bad_query` for a cursor of another list. `# Errors` of a call lists its other errors.
//!
//! Modules stand on floors and import only from floors below: `ground`, `settings`, `db`, `events`,
//! `change`, `base`, `access`, `outbound`, `jobs`, `fields`, `conditions`, `content`, `items`, then
//! the rooms `audit`, `keys`, `accounts`, `traffic`, `plugins`, `scripts`, `pages`, `media`,
//! `tasks`, `mail`, `forms`, `funnels`, `webhooks`, `erasure`, `theme`, `backup`, `update`, `site`,
//! and `testing` on top. A test checks the imports.

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("cms-core needs a database: enable the feature `sqlite`, `postgres` or both");

pub mod access;
pub mod accounts;
mod audit;
pub mod backup;
mod base;
mod change;
pub mod conditions;
pub mod content;
pub mod db;
pub mod erasure;
pub mod events;
pub mod fields;
pub mod forms;
pub mod funnels;
mod ground;
pub mod items;
mod jobs;
pub mod keys;
pub mod mail;
pub mod media;
mod outbound;
pub mod pages;
pub mod plugins;
pub mod scripts;
pub mod settings;
mod site;
pub mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
pub mod theme;
pub mod traffic;
pub mod update;
pub mod webhooks;

pub use audit::{ActorName, AuditActor, AuditFilter, AuditLog, AuditRow};
pub use change::{Actor, AuditEntry, Change, Emitted, Outcome};
pub use ground::Cursors;
pub use ground::{
    Address, Clock, Code, DEFAULT_LIMIT, Descriptors, Direction, Error, FieldError, MAX_LIMIT,
    Millis, Page, Paging, Random, Result, Secret, Vault, crypto, parse_rfc3339, plain, rfc3339,
};
pub use jobs::{Outcomes, Until};
pub use media::reach_bucket;
pub use site::{
    Background, Builder, CHECKS, Check, Cms, Door, Finding, Level, OwnTables, Place,
    PluginDifference, SealedValues, Work, examine, worst,
};
/// The driver, in the version of the pools that [`Db::sqlite` and `Db::postgres`](db::Db) return.
pub use sqlx;

/// The version of the system: plugins, the update server and the webhook User-Agent see it.
pub const VERSION: &str = "3.0.0";
