//! Events: what happened, recorded in the change that made it happen.

mod filter;

pub(crate) use filter::{filter, is_removed};
