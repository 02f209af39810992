//! The tables of settings, one for each prefix before a dot. Defaults are in
//! `settings.default.toml`.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Cidr, unless_empty};
use crate::ground::Secret;

macro_rules! defaults {
    ($($Table:ident = $key:ident),*) => {
        $(impl Default for $Table {
            fn default() -> Self {
                super::Settings::default().$key
            }
        })*
    };
}

defaults!(
    Commits = database,
    Dirs = dirs,
    Http = http,
    Docs = docs,
    LimiterSettings = limiter,
    ReplyCacheSettings = cache,
    WebhookSettings = webhooks,
    MailSettings = mail,
    MediaSettings = media,
    ScriptSettings = scripts,
    SessionSettings = session,
    Shutdown = shutdown,
    Retention = retention,
    Backups = backup,
    Update = update
);

/// When SQLite reports a commit (sqlite.org/pragma.html, `synchronous`). PostgreSQL has its
/// own setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Synchronous {
    /// Once the commit is on the disk.
    Full,
    /// Once the operating system has the commit: a power cut can undo the last commits, a crash of
    /// the process cannot.
    Normal,
}

/// How changes are committed, how long one may take, and how many run at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Commits {
    /// When SQLite reports a commit.
    pub synchronous: Synchronous,
    /// Seconds after which PostgreSQL ends an idle transaction, for example of a hung process,
    /// 1 to 3600.
    pub idle_in_transaction_s: u64,
    /// Most connections of the pool to PostgreSQL, 2 to 100.
    pub max_connections: u64,
}

/// The end of the process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Shutdown {
    /// Seconds for which requests are still served after SIGTERM, while `/readyz` is 503;
    /// 0 to 3600.
    pub drain_s: u64,
}

/// Folders. [`Settings::load`](super::Settings::load) joins relative ones to the site's folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Dirs {
    /// Database file and working files.
    pub data: PathBuf,
    /// One folder per plugin.
    pub plugins: PathBuf,
    /// Uploaded files.
    pub media: PathBuf,
}

/// Limits of every request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Http {
    /// Largest body in bytes, 1 to 1 GiB; uploads have [`MediaSettings::max_bytes`].
    pub body_limit_bytes: usize,
    /// Largest page of records in bytes, 1 to 512 MiB; a longer page ends early.
    pub page_limit_bytes: u64,
    /// Most bytes of large replies that wait for their readers, 1 MiB to 1 TiB.
    pub unread_limit_bytes: u64,
    /// Most bytes for the bodies of requests under way, including parsed bodies, 1 MiB to 1 TiB.
    pub parsed_limit_bytes: u64,
    /// Largest block of headers in bytes, 8 KiB to 1 MiB.
    pub header_limit_bytes: usize,
    /// Seconds within which a request must arrive, 1 to 3600.
    pub request_timeout_s: u64,
    /// Most connections at the same time, 1 to 1 000 000.
    pub max_connections: usize,
    /// Most connections of one IPv4 address or IPv6 /64 at the same time, 1 to 1 000 000. Never
    /// more than half of all connections; trusted proxies are exempt.
    pub max_connections_per_network: usize,
    /// Most open event streams at the same time, 1 to 100 000.
    pub max_streams: usize,
}

/// The page that shows the REST API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Docs {
    /// Whether `/api/docs` is served; `None`: only for callers on this machine.
    #[serde(deserialize_with = "unless_loopback")]
    pub enabled: Option<bool>,
}

/// Reads `true` and `false`, also as text; `None` for `loopback`.
fn unless_loopback<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Flag(bool),
        Text(String),
    }
    match Given::deserialize(deserializer)? {
        Given::Flag(flag) => Ok(Some(flag)),
        Given::Text(text) => match text.as_str() {
            "loopback" | "" => Ok(None),
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            other => Err(serde::de::Error::custom(format!(
                "{other:?} is none of true, false and \"loopback\""
            ))),
        },
    }
}

impl WebhookSettings {
    /// Maximum number of attempts under way, quick and slow together: four for each slot.
    #[must_use]
    pub fn most_attempts(&self) -> usize {
        4 * self.concurrency
    }
}

/// Store of the limiter's buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LimiterStore {
    /// In each process.
    Memory,
    /// In Redis, shared by all processes.
    Redis,
    /// Nowhere: every request is allowed.
    Off,
}

/// The rate limiter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LimiterSettings {
    /// Store of its buckets.
    pub store: LimiterStore,
}

/// Store of cached replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheStore {
    /// In each process.
    Memory,
    /// In each process, and in Redis for all processes.
    Redis,
}

/// The cache of replies to anonymous visitors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReplyCacheSettings {
    /// Whether replies are cached at all.
    pub enabled: bool,
    /// How long a reply is kept, in seconds, 1 to 31 536 000 (a year).
    pub ttl_s: u64,
    /// Prefixes of paths that are never cached; each starts with `/`.
    pub exclude: Vec<String>,
    /// Store of the replies.
    pub store: CacheStore,
    /// Most memory of each process in bytes, 1 to 1 TiB.
    pub max_bytes: u64,
}

/// Delivery of webhooks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WebhookSettings {
    /// Non-public networks that webhooks may reach.
    pub allow_cidrs: Vec<Cidr>,
    /// Whether webhooks may use `http://`.
    pub allow_http: bool,
    /// Longest attempt in seconds, 1 to 25, so that it ends within the lease of 30 s.
    pub timeout_s: u64,
    /// Attempts at the same time, 1 to 1024. Attempts slower than half a second do not count, but
    /// all attempts together are limited to four times this number.
    pub concurrency: usize,
}

/// Mail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MailSettings {
    /// Sender of every mail: `shop@example.org` or `Shop <shop@example.org>`.
    #[serde(deserialize_with = "unless_empty")]
    pub from: Option<String>,
    /// Most automatic replies to one address a day, 0 to 1000.
    pub auto_reply_per_day: u64,
    /// Address in mails about submissions of funnels, with `{id}` in place of the id. Default: the
    /// submission in the API.
    #[serde(deserialize_with = "unless_empty")]
    pub submission_url: Option<String>,
    /// Providers in the order in which they are tried; empty means all that are configured.
    pub chain: Vec<String>,
    /// Longest attempt of one provider in seconds, 1 to 30.
    pub timeout_s: u64,
    /// A provider for single mails, over HTTP.
    pub transactional: MailProvider,
    /// A provider for newsletters, over HTTP.
    pub newsletter: MailProvider,
    /// Mail server: `smtp://user:password@host:587` or `smtps://...`.
    #[serde(deserialize_with = "unless_empty")]
    pub smtp_url: Option<Secret>,
    /// Whether an `smtp://` server must speak TLS.
    pub smtp_tls: SmtpTls,
    /// PEM file of more certificates that are trusted for the mail server.
    #[serde(deserialize_with = "unless_empty")]
    pub smtp_ca_file: Option<PathBuf>,
}

/// A mail provider with an HTTP API.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MailProvider {
    /// Its make, one of [`MAIL_KINDS`]; `None`: it is not configured.
    #[serde(deserialize_with = "unless_empty")]
    pub kind: Option<String>,
    /// Its address; not needed for makes with a public one.
    #[serde(deserialize_with = "unless_empty")]
    pub url: Option<String>,
    /// The token with which the service authenticates there.
    #[serde(deserialize_with = "unless_empty")]
    pub token: Option<Secret>,
}

/// The makes of mail providers over HTTP.
pub const MAIL_KINDS: [&str; 3] = ["postmark", "brevo", "json"];

/// TLS with an `smtp://` server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmtpTls {
    /// Required, except on this machine.
    Auto,
    /// Always required.
    Required,
    /// Never used.
    Off,
}

impl MailSettings {
    /// The names of the providers, each with whether it is configured, in the default order
    /// of trying.
    #[must_use]
    pub fn providers(&self) -> [(&'static str, bool); 3] {
        [
            ("transactional", self.transactional.kind.is_some()),
            ("newsletter", self.newsletter.kind.is_some()),
            ("smtp", self.smtp_url.is_some()),
        ]
    }
}

/// Uploads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MediaSettings {
    /// Largest file in bytes, 1 to 1 TiB.
    pub max_bytes: u64,
    /// Accepted types, as the bytes of a file show them, each one of [`MEDIA_TYPES`]. Empty means
    /// the default types: pictures, sound, film and PDF.
    pub types: Vec<String>,
    /// Most pixels of a picture, 1 to 1 000 000 000.
    pub max_pixels: u64,
    /// Name of the bucket of an S3-compatible store that holds the files; `None`: they lie in
    /// `dirs.media`. Needs the feature `s3`.
    #[serde(deserialize_with = "unless_empty")]
    pub bucket: Option<String>,
    /// Address of the store; `None`: Amazon's address for the region.
    #[serde(deserialize_with = "unless_empty")]
    pub endpoint: Option<String>,
    /// Whether addresses name the bucket in their path instead of before the host.
    pub path_style: bool,
    /// Region of the bucket.
    pub region: String,
    /// Prefix of the names of files in the bucket, such as `site/media`.
    #[serde(deserialize_with = "unless_empty")]
    pub prefix: Option<String>,
    /// Id of the access key.
    #[serde(deserialize_with = "unless_empty")]
    pub access_key: Option<Secret>,
    /// The access key's secret.
    #[serde(deserialize_with = "unless_empty")]
    pub secret_key: Option<Secret>,
}

/// The types of files that can be recognised by their bytes.
pub const MEDIA_TYPES: [&str; 23] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/svg+xml",
    "image/heic",
    "image/tiff",
    "application/pdf",
    "video/mp4",
    "video/webm",
    "video/quicktime",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "text/plain",
    "text/html",
    "application/zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
];

/// Scripts of plugins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ScriptSettings {
    /// Program that runs them: a name in `PATH`, or a path.
    pub interpreter: String,
    /// Longest run in seconds, also of handlers in Rust, 1 to 3600.
    pub timeout_s: u64,
    /// Most runs at the same time, 1 to 256.
    pub max_running: usize,
    /// Most output of one run in bytes, 1 to 1 GiB.
    pub max_output_bytes: usize,
    /// Whether a script can access only its plugin's folder.
    pub confine: Confine,
    /// Further paths that confined scripts may read.
    pub read: Vec<PathBuf>,
    /// Most bytes of address space of each process; 0: no limit.
    pub max_memory_bytes: u64,
    /// Most processes and threads in addition to those that the user has; 0: no limit.
    pub max_processes: u64,
}

/// How strictly the kernel confines scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Confine {
    /// Confined as far as the kernel supports it.
    Auto,
    /// Not confined.
    Off,
    /// Confined; if the kernel cannot, scripts do not run.
    Require,
}

/// Logins to the backend.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionSettings {
    /// Seconds without a request that end a session, 1 to [`SessionSettings::absolute_s`].
    pub idle_s: u64,
    /// Longest session in seconds, 1 to 31 536 000 (a year).
    pub absolute_s: u64,
}

/// How long stored rows are kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Retention {
    /// Days of the audit log, 1 to 36 500 like all days here.
    pub audit_days: u64,
    /// Days of events.
    pub events_days: u64,
    /// Days of the log of webhook deliveries.
    pub deliveries_days: u64,
    /// Hours of delivered jobs in the webhook queue, 1 to 8760 like all hours here.
    pub queue_h: u64,
    /// Hours of replies stored under an idempotency key.
    pub idempotency_h: u64,
    /// Days of mails and the log of their attempts.
    pub mails_days: u64,
    /// Days of the history of tasks.
    pub task_runs_days: u64,
    /// Days of submissions of funnels, unless a funnel sets its own number.
    pub submissions_days: u64,
    /// Revisions of a page, 1 to 10 000.
    pub page_revisions: u64,
    /// Versions of a funnel, 10 to 10 000.
    pub funnel_versions: u64,
}

/// Backups: where the service puts automatic ones, and who can read any backup.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Backups {
    /// A folder, or `s3://BUCKET/NAMES` in the store of [`MediaSettings::endpoint`]. `None`: the
    /// service makes no automatic backups.
    #[serde(deserialize_with = "unless_empty")]
    pub to: Option<String>,
    /// Hours between two backups, 1 to 8760.
    pub every_h: u64,
    /// Number of backups that are kept, 1 to 10 000.
    pub keep: u64,
    /// Whether each backup is restored beside the site, as a test.
    pub verify: bool,
    /// Public keys of age, 16 at most. Empty: backups are not encrypted.
    pub recipients: Vec<String>,
}

/// Updates of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Update {
    /// The keys that may sign releases, at most two, each base64 of the 32 bytes of an ed25519 key.
    pub public_key: Vec<String>,
}
