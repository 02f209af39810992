//! What was made and what was there.

/// What `cms init` made, and what it kept.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) made: Vec<String>,
    pub(crate) kept: Vec<String>,
}
