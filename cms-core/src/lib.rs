//! An embeddable content-management service.
//!
//! ```text
//! settings   what a site is configured with, and where each value came from
//! db         one SQL text for SQLite and PostgreSQL; every write is a [`Change`]
//! access     rights as data: endpoints, rows of keys, permissions of users
//! keys       API keys: who may call what
//! accounts   backend users, their groups, logins and sessions
//! items      rows of content tables, as JSON made by the database
//! pages      what visitors read: pages, menus, public settings, sitemap
//! plugins    what extends a site
//! events     what happened, recorded by the change that made it happen
//! webhooks   who is told of events: queued with the change, signed, retried, never lost
//! ```
//!
//! Start with [`Cms::open`]. The REST API over it is `cms-http`.

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("cms-core needs a database: enable the feature `sqlite`, `postgres` or both");

pub mod access;
pub mod accounts;
mod audit;
mod clock;
mod cms;
pub mod crypto;
pub mod db;
mod error;
mod events;
mod idempotency;
pub mod items;
pub mod keys;
mod page;
pub mod pages;
pub mod plugins;
mod random;
mod retention;
pub mod settings;
pub mod traffic;
pub mod webhooks;

pub use audit::{AuditActor, AuditRow};
pub use clock::{Clock, Millis, parse_rfc3339, rfc3339};
pub use cms::{Builder, Cms, PluginState};
pub use db::{Actor, AuditEntry, Change, Emitted};
pub use error::{Code, Error, FieldError, Result};
pub use idempotency::{Remember, Remembered};
pub use page::{DEFAULT_LIMIT, MAX_LIMIT, Page};
pub use random::Random;

/// The version of the system: plugins, the update server and the webhook User-Agent see it.
pub const VERSION: &str = "3.0.0";
