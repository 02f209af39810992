//! The API from outside, on both engines. One binary, one link; each module is one subject.
//!
//! SQLite in a temporary folder by default. With `CMS_TEST_DB=postgres://...` every test gets a schema of its own there.

mod support;

/// Values in and out: each type, both engines, the same bytes.
mod json;
/// Two databases made by others: adopted, read and written on both engines.
mod third_party;
