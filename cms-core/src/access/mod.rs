//! Rights as data: what exists to call, and what a key or a user may call. Pure: no database, no
//! request types.
//!
//! ```text
//! endpoints    every endpoint that an API has declared: its methods, and who may call it
//! key_right    rows of a key: endpoint, query, methods; what a row binds besides
//! bounds       what a call may learn and change at most
//! permissions  permission keys of users, or everything
//! owner        whose a table is, and what buttons let users write there
//! rules        whether a user's permissions open an endpoint
//! ```

mod bounds;
mod endpoints;
mod key_right;
mod owner;
mod permissions;
mod rules;

pub use bounds::Bounds;
pub use endpoints::{Access, Endpoint, Endpoints, spelled};
pub use key_right::{KeyCall, Right, holds};
pub(crate) use key_right::{changed_rights, problems, unknown_methods};
pub use owner::{Owner, RecordAct, Writer};
pub use permissions::{AREAS, CORE, HeldPermissions, Permissions, keys_of};
pub(crate) use rules::allows_columns;
pub use rules::{allows, rows};
