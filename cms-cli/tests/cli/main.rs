//! The `cms` binary from outside, as a shell sees it.

mod demo;
mod items;
mod keys;
mod refusals;
mod remote;
mod setup;
mod support;
mod walk;
