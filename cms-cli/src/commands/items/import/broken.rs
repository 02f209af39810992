//! Rows that cannot be sent

/// A row that cannot be sent.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) line: u64,
    pub(super) why: String,
}
