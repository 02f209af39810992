//! The REST API of the CMS as a [tower service](Api), a minimal [hyper listener](Server), and the
//! [client] that the command line and the terminal interface use.
//!
//! ```text
//! server    accepts connections, limits headers and time; one connection: `connection`
//! gate      the one order of every request
//! routes    every endpoint, one line each
//! call      a request as handlers see it, and who made it
//! handlers  one file for each resource
//! reply     what a handler answers; the one table from error code to status
//! testing   requests without a socket, for tests of a program (feature `testing`)
//! ```

mod api;
mod body;
mod budget;
mod call;
mod caller;
pub mod client;
mod connection;
mod connection_limits;
mod demand;
mod describe;
mod gate;
mod handlers;
mod idempotency;
mod idle_reaper;
mod kept;
mod lingering_close;
mod metrics;
mod mount;
mod openapi;
mod reauthorizer;
mod refusals;
mod replies;
mod reply;
mod reply_budget;
mod request;
mod request_id;
mod routes;
mod server;
mod streams;
mod success;
#[cfg(feature = "testing")]
pub mod testing;
pub mod wire;

pub use api::{Api, ApiBuilder};
pub use body::{Body, Unparsed, Upload};
pub use call::{FrontendLogin, LimitKey, Peer};
pub use cms_core::{Secret, accounts::AppUser, plain};
pub use reply::status_of;
pub use server::{Server, Stop};
