//! Rules that types cannot express: ranges, forms, and combinations of values.

use super::{
    CacheStore, LimiterStore, MEDIA_TYPES, Secret, Settings, SettingsError,
    forms::{
        are_languages, has_bucket, has_scheme, is_backup_place, is_bucket, is_chain, is_host,
        is_key, is_key_path, is_key_prefix, is_line, is_listen, is_mail_server, is_provider,
        is_public_key, is_recipient, is_safe_web, is_site, is_token, is_web, none_or,
    },
};

const YEAR_S: u64 = 31_536_000;
const CENTURY_D: u64 = 36_500;
const YEAR_H: u64 = 8_760;
const GIB: u64 = 1 << 30;

impl Settings {
    /// Checks all rules that need neither network nor database. [`Settings::load`] already
    /// does this.
    ///
    /// # Errors
    /// The first broken rule, with its key.
    pub fn validate(&self) -> Result<(), SettingsError> {
        for (key, holds, rule) in self.rules() {
            if !holds {
                return Err(SettingsError::invalid(key, rule));
            }
        }
        for (key, number, least, most) in self.ranges() {
            if number < least || number > most {
                return Err(SettingsError::invalid(
                    key,
                    format!("must be between {least} and {most}, not {number}"),
                ));
            }
        }
        self.database().map(|_| ())
    }

    /// Each key with whether its rule holds, and the rule's text.
    fn rules(&self) -> [(&'static str, bool, &'static str); 43] {
        let redis = self.redis_url.is_some();
        let need_redis = "must not be \"redis\" unless redis_url is set";
        let folder = "must name a folder";
        let make = "must be postmark, brevo, or json with its url";
        let safe = "must be an https address without user name; http on this machine only";
        let key = "must be base64 of 32 bytes; `cms init` makes one";
        let is_object = |to: &String| to.starts_with("s3://");
        let in_bucket =
            self.media.bucket.is_some() || self.backup.to.as_ref().is_some_and(is_object);
        let for_bucket = "must be set, in cms.local.toml or the environment, for a bucket: \
                          letters, digits and signs, nothing before or behind them";
        let signs = |key: &Option<Secret>| {
            let key = key.as_ref().map_or("", |key| key.expose());
            !in_bucket || !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
        };
        [
            (
                "site_url",
                none_or(&self.site_url, is_site),
                "must be an address without path or slash at the end, such as https://example.org",
            ),
            (
                "api_url",
                none_or(&self.api_url, |url| is_web(url) && !url.contains(['?', '#'])),
                "must be an address such as https://api.example.org, without a query",
            ),
            (
                "product",
                is_line(&self.product) && self.product.len() <= 64,
                "must be a name of 1 to 64 bytes on one line",
            ),
            (
                "languages",
                are_languages(&self.languages),
                "must be a list of one or more different codes, such as [\"en\", \"de-AT\"]",
            ),
            (
                "timezone",
                jiff::tz::TimeZone::get(&self.timezone).is_ok(),
                "must be an IANA time zone, such as UTC or Europe/Berlin",
            ),
            (
                "key_prefix",
                is_key_prefix(&self.key_prefix),
                "must be 2 to 16 lower-case letters and digits, beginning with a letter",
            ),
            (
                "listen",
                is_listen(&self.listen),
                "must be host:port, such as 127.0.0.1:8080 or [::]:80",
            ),
            (
                "allowed_hosts",
                self.allowed_hosts.iter().all(|h| is_host(h)),
                "must be hosts without scheme or path, such as example.org or [::1]:8080",
            ),
            (
                "proxy_header",
                is_token(&self.proxy_header),
                "must be the name of one header, such as X-Forwarded-For",
            ),
            (
                "proxy_header",
                !self.proxy_header.eq_ignore_ascii_case("Forwarded"),
                "must not be Forwarded, whose form is not understood: take a header with bare \
                 addresses, such as X-Forwarded-For",
            ),
            ("dirs.data", !self.dirs.data.as_os_str().is_empty(), folder),
            ("dirs.plugins", !self.dirs.plugins.as_os_str().is_empty(), folder),
            ("dirs.media", !self.dirs.media.as_os_str().is_empty(), folder),
            ("limiter.store", redis || self.limiter.store != LimiterStore::Redis, need_redis),
            ("cache.store", redis || self.cache.store != CacheStore::Redis, need_redis),
            (
                "cache.exclude",
                self.cache.exclude.iter().all(|p| p.starts_with('/')),
                "must be paths that begin with /",
            ),
            (
                "mail.from",
                none_or(&self.mail.from, |from| is_line(from) && from.contains('@')),
                "must be an address, such as shop@example.org",
            ),
            (
                "mail.submission_url",
                none_or(&self.mail.submission_url, |url| is_web(url) && url.contains("{id}")),
                "must be an http(s) address with {id} in it, such as \
                 https://admin.example.org/leads/{id}",
            ),
            (
                "mail.smtp_url",
                has_scheme(&self.mail.smtp_url, &["smtp", "smtps"]),
                "must begin with smtp:// or smtps://",
            ),
            (
                "mail.smtp_url",
                self.mail.smtp_url.as_ref().is_none_or(|url| is_mail_server(url.expose())),
                "must be smtp://host:port or smtps://user:password@host:port, with a port of at \
                 most 65535 and nothing behind it",
            ),
            ("mail.transactional.kind", is_provider(&self.mail.transactional), make),
            ("mail.transactional.url", none_or(&self.mail.transactional.url, is_safe_web), safe),
            ("mail.newsletter.kind", is_provider(&self.mail.newsletter), make),
            ("mail.newsletter.url", none_or(&self.mail.newsletter.url, is_safe_web), safe),
            (
                "mail.chain",
                is_chain(&self.mail.chain, &self.mail.providers()),
                "must name configured providers, each once: transactional, newsletter, smtp",
            ),
            (
                "media.types",
                self.media.types.iter().all(|one| MEDIA_TYPES.contains(&one.as_str())),
                "must be types of files that docs/media.md lists, such as image/png",
            ),
            (
                "media.bucket",
                none_or(&self.media.bucket, is_bucket),
                "must be a bucket's name: 3 to 63 lower-case letters, digits, dots and hyphens",
            ),
            (
                "media.endpoint",
                none_or(&self.media.endpoint, |address| {
                    is_web(address) && !address.contains(['?', '#'])
                }),
                "must be an http(s) address without user name, such as https://s3.example.net",
            ),
            (
                "media.region",
                is_token(&self.media.region),
                "must name a region, such as eu-central-1",
            ),
            (
                "media.prefix",
                none_or(&self.media.prefix, is_key_path),
                "must be names joined by /, such as site/media, of letters, digits, -, _ and dots",
            ),
            (
                "backup.to",
                none_or(&self.backup.to, has_bucket),
                "must name a bucket behind s3://: 3 to 63 lower-case letters, digits, dots and \
                 hyphens",
            ),
            (
                "backup.to",
                none_or(&self.backup.to, is_backup_place),
                "must be a folder, or s3://BUCKET/NAMES",
            ),
            ("media.access_key", signs(&self.media.access_key), for_bucket),
            ("media.secret_key", signs(&self.media.secret_key), for_bucket),
            (
                "scripts.interpreter",
                is_line(&self.scripts.interpreter),
                "must name a program, such as php",
            ),
            (
                "scripts.read",
                self.scripts.read.iter().all(|path| path.is_absolute()),
                "must be absolute paths, such as /opt/php",
            ),
            (
                "session.idle_s",
                self.session.idle_s <= self.session.absolute_s,
                "must not be more than session.absolute_s",
            ),
            (
                "backup.recipients",
                self.backup.recipients.len() <= 16
                    && self.backup.recipients.iter().all(|key| is_recipient(key)),
                "must be at most 16 public keys of age, such as age1...",
            ),
            (
                "update_base_url",
                none_or(&self.update_base_url, |url| is_web(url) && !url.contains(['?', '#'])),
                "must be an http(s) address without user name; that goes into update_user",
            ),
            (
                "update.public_key",
                self.update.public_key.len() <= 2
                    && self.update.public_key.iter().all(|key| is_public_key(key)),
                "must be one or two ed25519 keys, each base64 of 32 bytes; docs/updates.md shows \
                 how to make them",
            ),
            (
                "redis_url",
                has_scheme(&self.redis_url, &["redis", "rediss", "unix", "redis+unix"]),
                "must begin with redis://, rediss:// or unix://",
            ),
            ("encryption_key", self.encryption_key.as_ref().is_none_or(is_key), key),
            ("old_encryption_keys", self.old_encryption_keys.iter().all(is_key), key),
        ]
    }

    /// Each numeric key with its value, minimum and maximum.
    fn ranges(&self) -> [(&'static str, u64, u64, u64); 40] {
        let (http, scripts, keep) = (&self.http, &self.scripts, &self.retention);
        [
            ("http.body_limit_bytes", http.body_limit_bytes as u64, 1, GIB),
            ("slow_ms", self.slow_ms, 0, 3_600_000),
            ("http.page_limit_bytes", http.page_limit_bytes, 1, GIB / 2),
            ("http.unread_limit_bytes", http.unread_limit_bytes, 1 << 20, GIB << 10),
            ("http.parsed_limit_bytes", http.parsed_limit_bytes, 1 << 20, GIB << 10),
            ("http.header_limit_bytes", http.header_limit_bytes as u64, 8192, 1 << 20),
            ("http.request_timeout_s", http.request_timeout_s, 1, 3600),
            ("http.max_connections", http.max_connections as u64, 1, 1_000_000),
            (
                "http.max_connections_per_network",
                http.max_connections_per_network as u64,
                1,
                1_000_000,
            ),
            ("http.max_streams", http.max_streams as u64, 1, 100_000),
            ("database.idle_in_transaction_s", self.database.idle_in_transaction_s, 1, 3600),
            ("database.max_connections", self.database.max_connections, 2, 100),
            ("shutdown.drain_s", self.shutdown.drain_s, 0, 3600),
            ("cache.ttl_s", self.cache.ttl_s, 1, YEAR_S),
            ("cache.max_bytes", self.cache.max_bytes, 1, GIB << 10),
            ("webhooks.timeout_s", self.webhooks.timeout_s, 1, 25),
            ("webhooks.concurrency", self.webhooks.concurrency as u64, 1, 1024),
            ("mail.auto_reply_per_day", self.mail.auto_reply_per_day, 0, 1000),
            ("mail.timeout_s", self.mail.timeout_s, 1, 30),
            ("media.max_bytes", self.media.max_bytes, 1, GIB << 10),
            ("media.max_pixels", self.media.max_pixels, 1, 1_000_000_000),
            ("scripts.timeout_s", scripts.timeout_s, 1, 3600),
            ("scripts.max_running", scripts.max_running as u64, 1, 256),
            ("scripts.max_output_bytes", scripts.max_output_bytes as u64, 1, GIB),
            ("scripts.max_memory_bytes", scripts.max_memory_bytes, 0, GIB << 10),
            ("scripts.max_processes", scripts.max_processes, 0, 1_000_000),
            ("session.idle_s", self.session.idle_s, 1, YEAR_S),
            ("session.absolute_s", self.session.absolute_s, 1, YEAR_S),
            ("retention.audit_days", keep.audit_days, 1, CENTURY_D),
            ("retention.events_days", keep.events_days, 1, CENTURY_D),
            ("retention.deliveries_days", keep.deliveries_days, 1, CENTURY_D),
            ("retention.queue_h", keep.queue_h, 1, YEAR_H),
            ("retention.idempotency_h", keep.idempotency_h, 1, YEAR_H),
            ("retention.mails_days", keep.mails_days, 1, CENTURY_D),
            ("retention.task_runs_days", keep.task_runs_days, 1, CENTURY_D),
            ("retention.submissions_days", keep.submissions_days, 1, CENTURY_D),
            ("backup.every_h", self.backup.every_h, 1, YEAR_H),
            ("backup.keep", self.backup.keep, 1, 10_000),
            ("retention.page_revisions", keep.page_revisions, 1, 10_000),
            // A visit may begin with a version that was replaced at the same moment.
            ("retention.funnel_versions", keep.funnel_versions, 10, 10_000),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each key of the defaults file with the comment above it.
    fn comments() -> Vec<(&'static str, String)> {
        let (mut found, mut comment) = (Vec::new(), String::new());
        for line in include_str!("settings.default.toml").lines() {
            match (line.strip_prefix("# "), line.split_once(" = ")) {
                (Some(text), _) => comment = format!("{comment} {text}").trim().to_owned(),
                (None, Some((key, _))) => found.push((key, std::mem::take(&mut comment))),
                (None, None) => comment.clear(),
            }
        }
        found
    }

    #[test]
    fn every_key_is_explained_with_its_limits() {
        let comments = comments();
        let of = |key: &str| {
            let found = comments.iter().find(|(known, _)| *known == key);
            found.map_or("", |(_, comment)| comment)
        };
        for (key, comment) in &comments {
            assert!(!comment.is_empty(), "{key} has no comment");
        }
        for (key, _, least, most) in Settings::default().ranges() {
            let limits = format!("{least} to {most}");
            assert!(of(key).contains(&limits), "{key} takes {limits}: {}", of(key));
            for (end, unit) in [("_s", "seconds"), ("_h", "hours"), ("bytes", "bytes")] {
                assert!(!key.ends_with(end) || of(key).contains(unit), "{key} counts {unit}");
            }
        }
    }

    #[test]
    fn settings_made_by_code_are_validated_by_key() {
        type Spoil = fn(&mut Settings);
        let table: [(Spoil, &str); 20] = [
            (|s| s.timezone = "Mars/Base".into(), "`timezone` must be an IANA time zone"),
            (|s| s.limiter.store = LimiterStore::Redis, "`limiter.store` must not be \"redis\""),
            (|s| s.session.idle_s = 700_000, "`session.idle_s` must not be more"),
            (
                |s| s.webhooks.timeout_s = 26,
                "`webhooks.timeout_s` must be between 1 and 25, not 26",
            ),
            (
                |s| s.media.bucket = Some("My Files".into()),
                "`media.bucket` must be a bucket's name",
            ),
            (|s| s.media.bucket = Some("files".into()), "`media.access_key` must be set, in cms"),
            (|s| s.backup.to = Some("s3://saved".into()), "`media.access_key` must be set, in cms"),
            (|s| s.backup.to = Some("s3://saved/../x".into()), "`backup.to` must be a folder, or"),
            (|s| s.backup.to = Some("s3://b/x".into()), "`backup.to` must name a bucket behind"),
            (
                |s| s.mail.smtp_url = Some(Secret::new("smtp://u:p:w@h:99999")),
                "`mail.smtp_url` must be smtp://host:port",
            ),
            (
                |s| s.database_url = Some(Secret::new("postgres://u:p@h:port/db")),
                "`database_url` must be postgres://user:password@host:port/name",
            ),
            (
                |s| {
                    s.db_host = Some("h:99999".into());
                    (s.db_user, s.db_db) = (Some("u".into()), Some("d".into()));
                },
                "`db_host` must be a host, host:port",
            ),
            (
                |s| s.backup.recipients = vec!["ssh-ed25519 AAAA".into()],
                "`backup.recipients` must be at most 16 public keys",
            ),
            (
                |s| s.media.endpoint = Some("https://u:p@s3.example.net".into()),
                "`media.endpoint` must be an http(s) address without user name",
            ),
            (
                |s| {
                    s.media.bucket = Some("files".into());
                    s.media.access_key = Some(Secret::new("AKIA1\n"));
                },
                "`media.access_key` must be set, in cms",
            ),
            (
                |s| {
                    s.media.bucket = Some("files".into());
                    s.media.access_key = Some(Secret::new("AKIA1"));
                    s.media.secret_key = Some(Secret::new(""));
                },
                "`media.secret_key` must be set, in cms",
            ),
            (|s| s.media.prefix = Some("a/../b".into()), "`media.prefix` must be names joined"),
            (
                |s| s.encryption_key = Some(Secret::new("c2hvcnQ=")),
                "`encryption_key` must be base64 of 32 bytes",
            ),
            (
                |s| s.redis_url = Some(Secret::new("http://x")),
                "`redis_url` must begin with redis://",
            ),
            (
                |s| s.database_url = Some(Secret::new("x")),
                "`database_url` must begin with sqlite://",
            ),
        ];
        for (spoil, expected) in table {
            let mut settings = Settings::default();
            spoil(&mut settings);
            let error = settings.validate().expect_err(expected).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
