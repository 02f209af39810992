//! Why a worker ended.

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nothing is due and nothing is under way.
    Drained,
    /// The caller asked it to stop.
    Stopped,
}
