//! How a command ends. Scripts rely on these numbers, so their meaning never changes.

use std::process::ExitCode;

/// The exit codes, documented by `cms help exit-codes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    Failed = 1,
    Usage = 2,
    Cancelled = 3,
    NoRight = 4,
    NotFound = 5,
    Refused = 6,
    Unreachable = 7,
    Partly = 8,
    RateLimited = 9,
    Interrupted = 130,
}

impl Exit {
    pub(crate) const ALL: [(Exit, &'static str); 11] = [
        (Exit::Ok, "done"),
        (Exit::Failed, "failed, or a check found errors"),
        (Exit::Usage, "the command line is wrong, or a question could not be asked"),
        (Exit::Cancelled, "cancelled at a question"),
        (Exit::NoRight, "not logged in, or no right to do this"),
        (Exit::NotFound, "not found"),
        (Exit::Refused, "refused in the present state"),
        (Exit::Unreachable, "server or database cannot be reached"),
        (Exit::Partly, "done in part; the message tells how far"),
        (Exit::RateLimited, "too many requests"),
        (Exit::Interrupted, "ended by Ctrl-C"),
    ];

    /// Its name in documents of errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Cancelled => "cancelled",
            Self::NoRight => "no_right",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Partly => "partly",
            Self::RateLimited => "rate_limited",
            Self::Interrupted => "interrupted",
        }
    }

    /// The exit code for a refusal of the API.
    pub(crate) fn of(status: u16, code: &str) -> Self {
        match (status, code) {
            (401 | 403, _) => Self::NoRight,
            (404, _) => Self::NotFound,
            (409 | 410 | 412 | 428, _) | (422, "not_publishable" | "incomplete") => Self::Refused,
            (429, _) => Self::RateLimited,
            (503, _) => Self::Unreachable,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_its_number() {
        let table = [
            (401, "api_key_missing", 4),
            (403, "permission_denied", 4),
            (404, "unknown_table", 5),
            (409, "conflict", 6),
            (412, "stale", 6),
            (428, "precondition_required", 6),
            (422, "validation_failed", 1),
            (422, "not_publishable", 6),
            (422, "unknown_event", 1),
            (429, "rate_limited", 9),
            (500, "internal_error", 1),
            (503, "unavailable", 7),
        ];
        for (status, code, number) in table {
            assert_eq!(Exit::of(status, code) as u8, number, "{status} {code}");
        }
    }
}
