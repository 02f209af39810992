//! How a run ended.

/// Characters of an error that are kept.
const MOST_ERROR: usize = 2_000;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Failed(String),
    /// The service ended.
    Stopped,
    /// Another process may run the task by now: nothing is written.
    Lost,
}

impl Outcome {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
            Self::Lost => "lost",
        }
    }

    pub(super) fn error(&self) -> Option<String> {
        match self {
            Self::Failed(why) => Some(why.replace('\0', " ").chars().take(MOST_ERROR).collect()),
            Self::Stopped => Some("the service ended; the task is due again".to_owned()),
            Self::Done | Self::Lost => None,
        }
    }
}
