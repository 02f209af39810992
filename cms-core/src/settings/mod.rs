//! Settings: built-in defaults ← `cms.toml` ← `cms.local.toml` ← environment ← flags.
//!
//! `settings.default.toml` is the only list of keys and defaults. To add a setting, add a line
//! with a comment there and a field in [`Settings`] or one of its tables. If the type does not
//! express a rule, add the rule in `validate.rs`. If the setting is secret, add a line in
//! [`SECRET_KEYS`]. Then generate `docs/settings.md`:
//! `CMS_WRITE_DOCS=1 cargo test -p cms-tests all_keys`. Tests find omissions.

mod cidr;
mod database;
mod defaults;
mod env;
mod error;
mod file;
mod forms;
mod layers;
mod origin;

mod tables;
mod validate;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use crate::ground::Secret;
pub use cidr::{Cidr, NotACidr};
pub use database::Database;
pub use defaults::{starter_file, starter_local_file};
pub use env::{environment, variable};
pub use error::SettingsError;
pub(crate) use forms::{is_bucket, is_key_path};
pub use layers::Loaded;
pub use origin::{Setting, ValueOrigin, ValueOrigins};
pub use tables::{
    Backups, CacheStore, Commits, Confine, Dirs, Docs, Http, LimiterSettings, LimiterStore,
    MAIL_KINDS, MEDIA_TYPES, MailProvider, MailSettings, MediaSettings, ReplyCacheSettings,
    Retention, ScriptSettings, SessionSettings, Shutdown, SmtpTls, Synchronous, Update,
    WebhookSettings,
};

/// Keys that belong in `cms.local.toml` and whose values are masked wherever they are shown.
pub const SECRET_KEYS: [&str; 12] = [
    "database_url", "db_pw", "redis_url", "mail.smtp_url", "mail.transactional.token",
    "mail.newsletter.token", "media.access_key", "media.secret_key", "update_password",
    "password_salt", "encryption_key", "old_encryption_keys",
];

/// All settings of a site. Load them from files with [`Settings::load`], or build them in code:
///
/// ```
/// use cms_core::settings::Settings;
/// let mut settings = Settings::default();
/// settings.listen = "127.0.0.1:0".into();
/// assert_eq!(settings.http.body_limit_bytes, 1_048_576);
/// settings.validate()?;
/// # Ok::<(), cms_core::settings::SettingsError>(())
/// ```
///
/// The default is `settings.default.toml`. The debug output shows no secret. Deserializing needs
/// every key: it is the last step of [`Settings::load`], not a replacement for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// Address of the site in links and mails, without a trailing slash. Default: `https://` and
    /// the request's host.
    #[serde(deserialize_with = "unless_empty")]
    pub site_url: Option<String>,
    /// Address of the service for themes and clients, without a trailing slash. A path in it is
    /// one that a proxy removes, or the base path of an embedding program. Default:
    /// [`Settings::site_url`].
    #[serde(deserialize_with = "unless_empty")]
    pub api_url: Option<String>,
    /// Name of the product as it is displayed, 1 to 64 bytes.
    pub product: String,
    /// Languages of the content, at least one; the first is the default.
    pub languages: Vec<String>,
    /// IANA time zone in which keys expire at midnight.
    pub timezone: String,
    /// First part of API keys: 2 to 16 lower-case letters and digits, a letter first.
    pub key_prefix: String,
    /// `host:port` to listen on; port 0 takes a free one.
    pub listen: String,
    /// Host names that the service answers for; empty means any.
    pub allowed_hosts: Vec<String>,
    /// Networks of trusted proxies. Their [`Settings::proxy_header`], `X-Request-Id` and
    /// `traceparent` are believed.
    pub trusted_proxies: Vec<Cidr>,
    /// The one header that carries the client's address, as a bare address; not `Forwarded`.
    pub proxy_header: String,
    /// Networks that may read `/metrics`, besides loopback.
    pub metrics_allow: Vec<Cidr>,
    /// Milliseconds after which a list of records is logged as slow; 0: never.
    pub slow_ms: u64,
    /// Whether opening the database applies pending migrations.
    pub migrate: bool,
    /// Folders.
    pub dirs: Dirs,
    /// Limits of every request.
    pub http: Http,
    /// The page that shows the REST API.
    pub docs: Docs,
    /// How changes are committed, and how long one may take.
    pub database: Commits,
    /// The end of the process.
    pub shutdown: Shutdown,
    /// The rate limiter.
    pub limiter: LimiterSettings,
    /// The cache of replies.
    pub cache: ReplyCacheSettings,
    /// Delivery of webhooks.
    pub webhooks: WebhookSettings,
    /// Mail.
    pub mail: MailSettings,
    /// Uploads.
    pub media: MediaSettings,
    /// Scripts of plugins.
    pub scripts: ScriptSettings,
    /// Logins to the backend.
    pub session: SessionSettings,
    /// How long data is kept.
    pub retention: Retention,
    /// Backups.
    pub backup: Backups,
    /// Updates of the program.
    pub update: Update,
    /// `sqlite://path` or `postgres://...`. Excludes the four `db_` keys. See
    /// [`Settings::database`].
    #[serde(deserialize_with = "unless_empty")]
    pub database_url: Option<Secret>,
    /// PostgreSQL host, `host:port` or the folder of a Unix socket.
    #[serde(deserialize_with = "unless_empty")]
    pub db_host: Option<String>,
    /// PostgreSQL user.
    #[serde(deserialize_with = "unless_empty")]
    pub db_user: Option<String>,
    /// PostgreSQL password, if it needs one.
    #[serde(deserialize_with = "unless_empty")]
    pub db_pw: Option<Secret>,
    /// Name of the PostgreSQL database.
    #[serde(deserialize_with = "unless_empty")]
    pub db_db: Option<String>,
    /// `redis://` or `rediss://` address for the stores that are set to `redis`.
    #[serde(deserialize_with = "unless_empty")]
    pub redis_url: Option<Secret>,
    /// Update server, http(s): see [`update`](crate::update).
    #[serde(deserialize_with = "unless_empty")]
    pub update_base_url: Option<String>,
    /// User at the update server.
    #[serde(deserialize_with = "unless_empty")]
    pub update_user: Option<String>,
    /// Password at the update server.
    #[serde(deserialize_with = "unless_empty")]
    pub update_password: Option<Secret>,
    /// Key for password hashes: after a change every login fails.
    #[serde(deserialize_with = "unless_empty")]
    pub password_salt: Option<Secret>,
    /// Base64 of 32 bytes: the key for secrets that must be read back.
    #[serde(deserialize_with = "unless_empty")]
    pub encryption_key: Option<Secret>,
    /// Earlier encryption keys; they still decrypt.
    pub old_encryption_keys: Vec<Secret>,
    /// The folder from which they were read; `None` for settings built in code.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// The `CMS_` variables from which they were read, so that checks read the folder with the
    /// same ones.
    #[serde(skip)]
    pub variables: Vec<(String, Secret)>,
}

impl Settings {
    /// Whether the service answers for this `host` or `host:port`.
    ///
    /// ```
    /// let mut settings = cms_core::settings::Settings::default();
    /// assert!(settings.answers_for("any.example"));
    /// settings.allowed_hosts = vec!["example.org".to_owned()];
    /// assert!(settings.answers_for("Example.org:8080") && !settings.answers_for("any.example"));
    /// ```
    #[must_use]
    pub fn answers_for(&self, host: &str) -> bool {
        let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
        let bare = host.rsplit_once(':').filter(|(_, port)| is_port(port));
        let bare = bare.map_or(host, |(name, _)| name);
        let mut allowed = self.allowed_hosts.iter();
        let is_known =
            |known: &String| [bare, host].iter().any(|one| known.eq_ignore_ascii_case(one));
        self.allowed_hosts.is_empty() || allowed.any(is_known)
    }

    /// Reads the settings of the site in the folder `dir`: `cms.toml` and `cms.local.toml` if they
    /// exist, then `env` (usually [`environment()`]), then `flags`, each a dotted key and a text.
    /// Relative paths are joined to `dir`. An empty text unsets a key.
    ///
    /// ```
    /// use cms_core::settings::{ValueOrigin, Settings};
    /// let env = [("CMS_WEBHOOKS__ALLOW_HTTP".to_owned(), "true".to_owned())];
    /// let flags = [("listen", "127.0.0.1:0".to_owned())];
    /// let loaded = Settings::load("/no/such/site".as_ref(), env.into_iter(), &flags)?;
    /// assert!(loaded.settings.webhooks.allow_http);
    /// let origin = loaded.origins.get("listen").map(|setting| setting.origin.to_string());
    /// assert_eq!(origin.as_deref(), Some("--listen"));
    /// # Ok::<(), cms_core::settings::SettingsError>(())
    /// ```
    ///
    /// # Errors
    /// The first fault with its origin: an unreadable or invalid file, an unknown key of a file
    /// or flag, or a value of the wrong type, form or range. Unknown `CMS_` variables only
    /// become [`Loaded::warnings`].
    pub fn load(
        dir: &Path,
        env: impl Iterator<Item = (String, String)>,
        flags: &[(&str, String)],
    ) -> Result<Loaded, SettingsError> {
        let mut layers = layers::Layers::new();
        layers.file(dir, "cms.toml")?;
        layers.file(dir, "cms.local.toml")?;
        let variables: Vec<_> = env.filter(|(name, _)| name.starts_with("CMS_")).collect();
        layers.variables(&variables)?;
        layers.flags(flags)?;
        let mut loaded = layers.finish(dir)?;
        let kept = variables.into_iter().map(|(name, value)| (name, Secret::from(value)));
        loaded.settings.variables = kept.collect();
        Ok(loaded)
    }
}

/// TOML has no null, so an empty text means "not set" in files and in variables.
fn unless_empty<'de, D: Deserializer<'de>, T: From<String>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok((!text.is_empty()).then(|| text.into()))
}

#[cfg(test)]
mod tests;
