//! Errors: one stable code each. Codes know no HTTP status: `cms-http` maps them.

use std::{any::Any, error, fmt, sync::Arc};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The detail of a fault, for callers whose request has an entry in the log.
const FAULT: &str = "The service failed; the log has the cause under this request id.";
/// Maximum number of wrong fields that `Display` names.
const SHOWN_FIELDS: usize = 5;
/// How to make a database, or bring it up to date.
pub(crate) const MIGRATE: &str =
    "run `cms migrate up`; in a program of yours, open with `migrate = true`";

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// The stable, machine-readable reason of an [`Error`]; never reworded once published.
        ///
        /// To add one: a line here, its status in `cms-http/src/reply/mod.rs`, a row in
        /// `docs/errors.md` (a test compares the three).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[$doc])* $name),* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The code as it appears in the `error` field of a problem document.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }
        }
    };
}

codes! {
    /// The body is not the expected JSON.
    BadJson = "bad_json",
    /// A query parameter, path or header is malformed.
    BadQuery = "bad_query",
    /// The database has no such column, or refuses the value.
    DatabaseError = "database_error",
    /// A protected endpoint was called without a key.
    ApiKeyMissing = "api_key_missing",
    /// The key is mistyped, deleted or replaced by a rotation.
    ApiKeyInvalid = "api_key_invalid",
    /// The key exists but is switched off.
    ApiKeyDisabled = "api_key_disabled",
    /// The key's day of expiry has begun.
    ApiKeyExpired = "api_key_expired",
    /// The key is valid but has no right for this call.
    ApiKeyForbidden = "api_key_forbidden",
    /// The endpoint needs a login, or a key with a right for it.
    LoginRequired = "login_required",
    /// The name or password is wrong, or the user is switched off.
    InvalidCredentials = "invalid_credentials",
    /// The one-time or recovery code is wrong or was used before.
    InvalidCode = "invalid_code",
    /// The login is too old, is complete, or had too many wrong codes.
    PendingExpired = "pending_expired",
    /// The calling page's origin is not registered.
    OriginNotAllowed = "origin_not_allowed",
    /// The caller is known but may not do this.
    PermissionDenied = "permission_denied",
    /// A session cookie may change data only from a registered origin.
    Csrf = "csrf",
    /// The thing asked for does not exist.
    NotFound = "not_found",
    /// There is no content table of that name.
    UnknownTable = "unknown_table",
    /// No such funnel is published.
    FunnelNotAvailable = "funnel_not_available",
    /// The endpoint does not have this method.
    MethodNotAllowed = "method_not_allowed",
    /// The request did not arrive in time.
    Timeout = "timeout",
    /// The write conflicts with an existing row, or the row is still referred to.
    Conflict = "conflict",
    /// The same request is being worked on at this moment, and did not end in time.
    InProgress = "in_progress",
    /// The filter matches a different number of rows than the caller expected.
    CountMoved = "count_moved",
    /// The funnel was saved since its author saw it.
    RevConflict = "rev_conflict",
    /// The node is not a step that the visit has reached.
    NotOnPath = "not_on_path",
    /// The visit is completed; its answers no longer change.
    AlreadyCompleted = "already_completed",
    /// The idempotency key was used for another request.
    IdempotencyMismatch = "idempotency_mismatch",
    /// The first reply carried a secret and cannot be repeated.
    IdempotencySpent = "idempotency_spent",
    /// The visit has expired, or its session was changed too often.
    SessionExpired = "session_expired",
    /// `If-Match` names an old state of the record.
    Stale = "stale",
    /// The body is larger than allowed.
    PayloadTooLarge = "payload_too_large",
    /// The body is not declared as JSON.
    UnsupportedMediaType = "unsupported_media_type",
    /// The file ends before the part that `Range` asks for.
    RangeNotSatisfiable = "range_not_satisfiable",
    /// The service does not answer for this `Host`.
    UnknownHost = "unknown_host",
    /// Fields are missing or wrong; `errors` lists them.
    ValidationFailed = "validation_failed",
    /// The funnel would strand its visitors; `errors` says where.
    NotPublishable = "not_publishable",
    /// The visit cannot be completed yet; `node_id` says where to go on, `errors` what is missing.
    Incomplete = "incomplete",
    /// The path of a script breaks its rule, or leads to no file in the plugin's folder.
    ScriptPath = "script_path",
    /// A script could not run, took too long or answered no JSON; the log has what it wrote.
    ScriptFailed = "script_failed",
    /// No plugin raises an event of this name.
    UnknownEvent = "unknown_event",
    /// The table requires `If-Match` for changes.
    PreconditionRequired = "precondition_required",
    /// The caller sent too many requests; `Retry-After` says how many seconds to wait.
    RateLimited = "rate_limited",
    /// This address had too many wrong logins.
    LoginLocked = "login_locked",
    /// The head of the request is larger than allowed.
    HeadersTooLarge = "headers_too_large",
    /// The service failed; the log has the cause.
    Internal = "internal_error",
    /// The database cannot be reached, or is full or busy.
    Unavailable = "unavailable",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One wrong field of a request.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct FieldError {
    /// Name of the field, with indexes for nested ones: `rights[0].methods`.
    pub field: String,
    /// `required`, `type`, `range`, `unknown`, `format`.
    pub code: &'static str,
    /// What is expected, as a sentence.
    pub message: String,
}

impl FieldError {
    /// A wrong field.
    pub fn new(field: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { field: field.into(), code, message: message.into() }
    }
}

/// A refusal or a fault: a [`Code`], a sentence that says how to fix it, and the cause for the log.
///
/// ```
/// use cms_core::{Code, Error};
/// let error = Error::new(Code::NotFound, "There is no blog with id 7.");
/// assert_eq!(error.code().as_str(), "not_found");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    detail: String,
    fields: Vec<FieldError>,
    /// The nodes of a funnel that the wrong fields belong to, in their order.
    nodes: Vec<Option<i64>>,
    retry_after_s: Option<u64>,
    node: Option<i64>,
    matched: Option<u64>,
    /// Shared, because all callers that wait for one reply get its failure with the cause.
    cause: Option<Arc<dyn error::Error + Send + Sync>>,
}

impl Error {
    /// An error that a caller may read.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            detail: detail.into(),
            fields: Vec::new(),
            nodes: Vec::new(),
            retry_after_s: None,
            node: None,
            matched: None,
            cause: None,
        }))
    }

    /// A fault of the service. The caller learns nothing; the log gets `cause`.
    pub fn internal(cause: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        Self::new(Code::Internal, FAULT).caused_by(cause)
    }

    /// As [`Error::internal`], for code that panicked in `doing` something.
    pub fn of_panic(doing: &str, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let said = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        Self::internal(format!("{doing} panicked: {said}"))
    }

    /// `validation_failed` with the fields that are wrong.
    pub fn invalid(fields: Vec<FieldError>) -> Self {
        let names = fields.iter().map(|f| f.field.as_str()).collect::<Vec<_>>().join(", ");
        let mut error = Self::new(Code::ValidationFailed, format!("Please correct: {names}."));
        error.0.fields = fields;
        error
    }

    /// `validation_failed` for a single field.
    pub fn invalid_field(
        field: impl Into<String>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::invalid(vec![FieldError::new(field, code, message)])
    }

    /// Adds the wrong fields.
    #[must_use]
    pub fn with_fields(mut self, fields: Vec<FieldError>) -> Self {
        self.0.fields = fields;
        self
    }

    /// Adds the nodes of a funnel that the wrong fields belong to, in the order of the fields.
    #[must_use]
    pub fn in_nodes(mut self, nodes: Vec<Option<i64>>) -> Self {
        self.0.nodes = nodes;
        self
    }

    /// The wrong fields, each with the node of a funnel that it belongs to.
    pub fn placed_fields(&self) -> impl Iterator<Item = (&FieldError, Option<i64>)> {
        let nodes = self.0.nodes.iter().copied().chain(std::iter::repeat(None));
        self.0.fields.iter().zip(nodes)
    }

    /// Adds the node of a funnel that the error is about.
    #[must_use]
    pub fn at_node(mut self, id: Option<i64>) -> Self {
        self.0.node = id;
        self
    }

    /// The node of a funnel that the error is about.
    #[must_use]
    pub fn node(&self) -> Option<i64> {
        self.0.node
    }

    /// Adds how many rows the filter matches.
    #[must_use]
    pub fn matching(mut self, rows: u64) -> Self {
        self.0.matched = Some(rows);
        self
    }

    /// How many rows the filter matches, when the number differs from the expected one.
    #[must_use]
    pub fn matched(&self) -> Option<u64> {
        self.0.matched
    }

    /// Adds the cause, which only the log sees.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        let cause: Box<dyn error::Error + Send + Sync> = cause.into();
        self.0.cause = Some(Arc::from(cause));
        self
    }

    /// Adds how many seconds to wait before trying again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after_s = Some(seconds);
        self
    }

    /// Seconds to wait before trying again, when known.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u64> {
        self.0.retry_after_s
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What happened and how to fix it; safe to show to the caller.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The wrong fields, if any.
    #[must_use]
    pub fn fields(&self) -> &[FieldError] {
        &self.0.fields
    }

    /// What happened and why, for people who may see causes: the detail, the wrong fields and the
    /// cause. For `internal_error` only the cause.
    pub(crate) fn with_cause(&self) -> String {
        let fields =
            self.0.fields.iter().map(|wrong| format!(" {}: {}", wrong.field, wrong.message));
        let what = format!("{}{}", self.0.detail, fields.collect::<Vec<_>>().join(";"));
        match error::Error::source(self) {
            Some(cause) if self.0.code == Code::Internal => cause.to_string(),
            Some(cause) => format!("{what} ({cause})"),
            None => what,
        }
    }

    /// Whether the database refused a reference to a record that does not exist, or the deletion
    /// of a record that others refer to.
    pub(crate) fn is_broken_reference(&self) -> bool {
        matches!(self.database(), Some(sqlx::Error::Database(e)) if e.is_foreign_key_violation())
    }

    /// Whether the database's own error is behind this one, or behind its cause.
    pub(crate) fn is_by_database(&self) -> bool {
        let cause = self.0.cause.as_ref().and_then(|cause| cause.downcast_ref::<Self>());
        self.database().is_some() || cause.is_some_and(Self::is_by_database)
    }

    /// The database's own error behind this one.
    pub(crate) fn database(&self) -> Option<&sqlx::Error> {
        self.0.cause.as_ref()?.downcast_ref()
    }
}

/// Shows code, detail and the first wrong fields; never the cause, which can hold more than a
/// caller may see.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = match self.0.detail.as_str() {
            FAULT => "The service failed; the source of this error is the cause.",
            detail => detail,
        };
        write!(f, "{}: {detail}", self.0.code)?;
        let fields = &self.0.fields;
        for (place, FieldError { field, message, .. }) in fields.iter().enumerate() {
            match place {
                SHOWN_FIELDS => return write!(f, "; and {} more)", fields.len() - SHOWN_FIELDS),
                0 => write!(f, " ({field}: {message}")?,
                _ => write!(f, "; {field}: {message}")?,
            }
        }
        f.write_str(if fields.is_empty() { "" } else { ")" })
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        match &self.0.cause {
            Some(cause) => write!(f, " (cause: {cause})"),
            None => Ok(()),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| &**cause as &(dyn error::Error + 'static))
    }
}

/// What is missing or different, as the cause of an [`Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Outdated(String);

impl Error {
    /// `unavailable`, because `what` has to be applied to the database first.
    pub(crate) fn outdated(what: impl Into<String>) -> Self {
        let how = format!("The database is not up to date: {MIGRATE}.");
        Self::new(Code::Unavailable, how).caused_by(Outdated(what.into()))
    }

    /// `unavailable`, because the database has a schema that this version does not know.
    pub(crate) fn other_schema(why: impl Into<String>) -> Self {
        let how = "The database has another schema than this version of cms needs.";
        Self::new(Code::Unavailable, how).caused_by(Outdated(why.into()))
    }

    /// Whether the schema of the database is not the one that this version and its plugins need.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        std::error::Error::source(self).is_some_and(|cause| cause.is::<Outdated>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(count: usize) -> Error {
        let field = |i| FieldError {
            field: format!("rights[{i}]"),
            code: "unknown",
            message: "unknown endpoint".to_owned(),
        };
        Error::new(Code::ValidationFailed, "Please correct.")
            .with_fields((0..count).map(field).collect())
    }

    #[test]
    fn the_text_names_the_first_wrong_fields() {
        let begin = "validation_failed: Please correct.";
        let named = |i: usize| format!("rights[{i}]: unknown endpoint");
        assert_eq!(wrong(0).to_string(), begin);
        assert_eq!(wrong(1).to_string(), format!("{begin} ({})", named(0)));
        let both = format!("Please correct. {}; {}", named(0), named(1));
        assert_eq!(wrong(2).with_cause(), both);
        let five = [0, 1, 2, 3, 4].map(named).join("; ");
        assert_eq!(wrong(5).to_string(), format!("{begin} ({five})"));
        assert_eq!(wrong(8).to_string(), format!("{begin} ({five}; and 3 more)"));
    }

    #[test]
    fn the_text_of_a_fault_leads_to_its_cause_without_telling_it() {
        let fault = Error::internal("postgres://ana:secret@db");
        let text = fault.to_string();
        assert_eq!(
            text,
            "internal_error: The service failed; the source of this error is the cause."
        );
        let cause = error::Error::source(&fault).expect("a cause");
        assert_eq!(cause.to_string(), "postgres://ana:secret@db");
        assert_eq!(fault.detail(), FAULT);
    }
}
