//! Uploaded files: what is hostile, what breaks off, what a crash leaves.

/// Paths and names that would lead out of the folder.
mod attacks;
/// Killed between two steps.
mod crash;
/// Large files take no memory.
mod memory;
/// Uploads that are refused.
mod situations;
