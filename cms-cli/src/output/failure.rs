//! Why a command failed, what to type next, and its exit code. Scripts rely on these numbers, so
//! their meaning never changes.

use std::{fmt, io, process::ExitCode};

use cms_core::{
    Code,
    settings::SettingsError,
    update::{UpdateError, UpdateFault},
};
use cms_http::client::ClientError;
use serde_json::{Value as Json, json};

/// Result of a command.
pub(crate) type Done<T = ()> = Result<T, Failure>;

/// A command that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// One sentence; empty when the command has printed everything already.
    pub(crate) what: String,
    /// What to type next.
    pub(crate) hint: Option<String>,
    /// The problem document of the API, unchanged.
    document: Option<Json>,
    /// Further members of the document, such as the line of a file.
    facts: Vec<(&'static str, Json)>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), hint: None, document: None, facts: Vec::new() }
    }

    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Ends with this code and prints nothing more.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a member to the document of `--json`.
    pub(crate) fn fact(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// A file that could not be read or written.
    pub(crate) fn file(path: &std::path::Path, error: &io::Error) -> Self {
        Self::new(Exit::Failed, format!("{}: {error}", path.display()))
    }

    /// A reply that does not come from a CMS.
    pub(crate) fn unexpected(why: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, format!("the reply does not come from a CMS: {why}"))
    }

    /// The document that `--json` prints: that of the API, or one of the same form.
    pub(crate) fn document(&self) -> Json {
        let made = || {
            let code = self.exit.name();
            json!({
                "type": format!("urn:cms:cli:{code}"),
                "title": code.replace('_', " "),
                "detail": self.what,
                "error": code,
            })
        };
        let mut document = self.document.clone().unwrap_or_else(made);
        document["exit"] = (self.exit as u8).into();
        for (name, value) in &self.facts {
            document[*name] = value.clone();
        }
        if let Some(hint) = &self.hint {
            document["hint"] = hint.as_str().into();
        }
        document
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Problem { status, code, detail, document, .. } => {
                let mut what = sentences(&detail, &document);
                if status.is_server_error() {
                    what += &fault(&document);
                }
                let exit = Exit::of(status.as_u16(), &code);
                let failure = Self { document: Some(document), ..Self::new(exit, what) };
                match code.as_str() {
                    "api_key_missing" => failure
                        .hint("cms login, or --key-file FILE, or CMS_API_KEY in the environment"),
                    "login_required" => failure.hint("cms login, with the same --url or --context"),
                    "api_key_invalid" | "api_key_disabled" | "api_key_expired" => {
                        failure.hint("cms keys list, on the server")
                    }
                    "api_key_forbidden" => failure.hint(
                        "cms keys rights ID --grant 'METHOD PATH', by somebody with that right",
                    ),
                    "unavailable" => failure.hint("cms doctor"),
                    _ => failure,
                }
            }
            ClientError::Unreachable(what) => Self::new(Exit::Unreachable, what)
                .hint("check --url, and that `cms serve` runs there"),
            other => Self::new(Exit::Failed, other.to_string()),
        }
    }
}

/// The detail, and one line for each wrong field.
fn sentences(detail: &str, document: &Json) -> String {
    let fields = document["errors"].as_array().into_iter().flatten();
    let lines = fields.map(|f| format!("\n  {}: {}", text(&f["field"]), text(&f["message"])));
    format!("{detail}{}", lines.collect::<String>())
}

/// The cause, which only a site in this process tells, and the id of the log entry.
fn fault(document: &Json) -> String {
    let cause = document["cause"].as_str().map(|cause| format!(" ({cause})"));
    let id = document["request_id"].as_str().map(|id| format!("\n  request {id}"));
    cause.unwrap_or_default() + &id.unwrap_or_default()
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}

impl From<cms_core::Error> for Failure {
    fn from(error: cms_core::Error) -> Self {
        let (code, status) = (error.code(), cms_http::status_of(error.code()).as_u16());
        let mut document = json!({
            "type": format!("urn:cms:error:{code}"),
            "title": code.as_str().replace('_', " "),
            "status": status,
            "detail": error.detail(),
            "error": code.as_str(),
        });
        if !error.fields().is_empty() {
            document["errors"] = json!(error.fields());
        }
        let mut what = sentences(error.detail(), &document);
        // On the operator's own machine the cause may be shown. Drivers never print the password.
        if let Some(cause) = std::error::Error::source(&error) {
            what = format!("{what} ({cause})");
            document["cause"] = cause.to_string().into();
        }
        let exit =
            if error.is_outdated() { Exit::Refused } else { Exit::of(status, code.as_str()) };
        let failure = Self { document: Some(document), ..Self::new(exit, what) };
        match code {
            _ if error.is_damaged() => failure.hint("restore the database from a backup"),
            Code::Unavailable if exit == Exit::Unreachable => failure.hint("cms doctor"),
            _ => failure,
        }
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        if error.is_of_flag() {
            return Self::usage(error.to_string());
        }
        let hint = match error {
            SettingsError::Unreadable { .. } => "cms config validate, when the file can be read",
            _ => "correct the setting, then cms config validate",
        };
        Self::new(Exit::Failed, error.to_string()).hint(hint)
    }
}

impl From<UpdateError> for Failure {
    fn from(error: UpdateError) -> Self {
        let (exit, hint) = match error.fault() {
            UpdateFault::Refused => (Exit::Refused, "tell those who make the releases"),
            UpdateFault::Invalid => (Exit::Failed, "tell those who make the releases"),
            UpdateFault::Unreachable => (Exit::Unreachable, "try again; --timeout waits longer"),
            UpdateFault::NoRight => (Exit::NoRight, "cms config show --origin"),
            UpdateFault::NotFound => (Exit::NotFound, "check update_base_url"),
            UpdateFault::Local => (Exit::Failed, "make room, then the same again"),
        };
        Self::new(exit, error.to_string()).hint(hint)
    }
}

impl From<io::Error> for Failure {
    /// Errors of standard output. A closed pipe is not a failure: its reader has read enough.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::silent(Exit::Ok),
            _ => Self::new(Exit::Failed, error.to_string()),
        }
    }
}

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
    /// Each with what it means.
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
    pub(crate) const fn name(self) -> &'static str {
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
    fn a_wrong_setting_is_named_with_its_reason() {
        let failure =
            Failure::from(cms_core::Error::invalid_field("media.bucket", "unknown", "why"));
        assert_eq!(failure.what, "Please correct: media.bucket.\n  media.bucket: why");
        assert_eq!(failure.document()["errors"][0]["message"], "why");
    }

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
