//! Uploaded files: what is hostile, what breaks off, what a crash leaves.

/// Paths and names that would lead out of the folder.
mod attacks;
mod browser;
mod bucket;
/// Ended between two steps.
mod crash;
pub(crate) mod full;
mod hostile;
mod killed;
/// Uploads that are refused.
mod situations;
/// What shows a file keeps it.
mod uses;
