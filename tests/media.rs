//! Uploaded files: what is hostile, what breaks off, what a crash leaves.

/// Paths and names that would lead out of the folder.
mod attacks;
/// A real browser opens hostile files.
mod browser;
/// Files in a bucket; only with CMS_TEST_S3 and the feature s3 of cms-core.
mod bucket;
/// Ended between two steps.
mod crash;
/// A full disk; large files take no memory.
pub(crate) mod full;
/// Files that would call somebody.
mod hostile;
/// A real server killed in the middle.
mod killed;
/// Uploads that are refused.
mod situations;
/// What shows a file keeps it.
mod uses;
