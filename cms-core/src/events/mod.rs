//! What happened, recorded by the change that made it happen.

mod filter;

pub(crate) use filter::{filter, is_removed};

/// Whether an event may be called so. Names of adopted tables are in names of events, so much is allowed.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=300).contains(&name.len()) && !name.chars().any(char::is_control)
}
