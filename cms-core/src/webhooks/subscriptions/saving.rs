//! Saves a subscription: checks it, looks up its host, and encrypts its secrets and header values.

use std::collections::BTreeMap;

use reqwest::Url;

use super::{
    MASK, MAX_EVENTS, PAUSED,
    catalogue::{self, unknown_event},
    sql::{self, InTrouble, Stored},
};
use crate::{
    Change, Error, FieldError, MAX_LIMIT, Result,
    db::args,
    ground::plain,
    outbound::Refused,
    webhooks::{
        Webhooks,
        rules::{self, MAX_RETRIES, is_pattern},
        sign::WebhookSecret,
    },
};

impl Webhooks {
    /// Checks these columns of a subscription, and the headers to be saved with it.
    pub(super) async fn check(
        &self,
        change: &mut Change,
        row: &Stored,
        custom_headers: Option<&BTreeMap<String, String>>,
        columns: &[&str],
    ) -> Result<()> {
        let mut problems = custom_headers.map(rules::header_problems).unwrap_or_default();
        let is_kept = |name: &str| {
            row.custom_headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        let masked = custom_headers
            .into_iter()
            .flatten()
            .filter(|(name, value)| *value == MASK && !is_kept(name));
        problems.extend(masked.map(|(name, _)| FieldError {
            field: format!("custom_headers.{name}"),
            code: "masked",
            message: format!(
                "{MASK} keeps a stored value, but none is stored for this address: send the value"
            ),
        }));
        let mut add = |field: &str, code, message: String| {
            problems.push(FieldError { field: field.to_owned(), code, message })
        };
        if row.name.trim().is_empty() || row.name.chars().count() > 100 {
            add("name", "range", "1 to 100 characters".to_owned());
        }
        if !(0..=MAX_RETRIES).contains(&row.max_retries) {
            add("max_retries", "range", format!("0 to {MAX_RETRIES}"));
        }
        if row.events.is_empty() {
            add("events", "required", "at least one event name, item.* or *".to_owned());
        }
        if row.events.len() > MAX_EVENTS {
            add("events", "range", format!("{MAX_EVENTS} at most; item.* and * stand for many"));
        }
        if columns.contains(&"url")
            && plain::problem("url", &row.url).is_none()
            && let Err((code, message)) = self.0.http.rule().check_url(&row.url)
        {
            add("url", code, message);
        }
        let name = plain::name_problem("name", &row.name);
        problems.extend(name.filter(|_| columns.contains(&"name")));
        problems.extend(plain::problem("url", &row.url).filter(|_| columns.contains(&"url")));
        if !problems.is_empty() {
            return Err(Error::invalid(problems));
        }
        if !columns.contains(&"events") {
            return Ok(());
        }
        for (index, event) in row.events.iter().enumerate() {
            if !is_pattern(event) && catalogue::sql::named(&mut *change, event).await?.is_empty() {
                return Err(unknown_event(format!("events[{index}]"), event));
            }
        }
        Ok(())
    }
}

impl Webhooks {
    /// Looks up the URL's host and applies the same address rule as every attempt. Call it before
    /// [`Webhooks::create`] and [`Webhooks::update`] get their change: a look-up takes up to 5 s,
    /// and no other writer should wait that long. Returns a warning when the name is not found,
    /// because it may resolve later. Ignores URLs that those two methods refuse.
    ///
    /// # Errors
    /// `validation_failed` when the name has a forbidden address.
    pub async fn look_up(&self, url: &str) -> Result<Option<FieldError>> {
        let sender = &self.0.http;
        let Ok(url) = sender.rule().check_url(url) else { return Ok(None) };
        let host = url.host_str().unwrap_or_default();
        match sender.look_up(&url).await {
            Ok(()) => Ok(None),
            Err(Refused::Unknown(why) | Refused::Unanswered(why)) => {
                let message = format!("{host} is not found ({why}): deliveries fail until it is");
                Ok(Some(FieldError { field: "url".to_owned(), code: "unresolved", message }))
            }
            Err(Refused::Forbidden(why)) => Err(Error::invalid_field(
                "url",
                "address",
                format!("{host}: {why}; webhooks.allow_cidrs opens networks"),
            )),
        }
    }
}

impl Webhooks {
    /// Encrypts header values; a masked value keeps the present one.
    pub(super) fn sealed(
        &self,
        id: i64,
        headers: &BTreeMap<String, String>,
        present: &[(String, String)],
    ) -> Result<Vec<(String, String)>> {
        let seal = |(name, value): (&String, &String)| {
            let kept =
                present.iter().find(|(known, _)| value == MASK && known.eq_ignore_ascii_case(name));
            let sealed = match kept {
                Some((_, sealed)) => sealed.clone(),
                None => self.0.base.vault().seal(&header_context(id), value.as_bytes())?,
            };
            Ok((name.to_ascii_lowercase(), sealed))
        };
        headers.iter().map(seal).collect()
    }

    pub(super) fn seal_secret(&self, id: i64, secret: &WebhookSecret) -> Result<String> {
        self.0.base.vault().seal(&secret_context(id), secret.expose().as_bytes())
    }
}

impl Webhooks {
    /// Subscriptions that fail or were switched off for failures, 20 at most.
    pub(crate) async fn in_trouble(&self) -> Result<Vec<InTrouble>> {
        self.0.base.db().all(sql::IN_TROUBLE, args![PAUSED]).await
    }

    /// The query plan for the health of a page of subscriptions, by line.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub async fn health_plan(&self) -> Result<Vec<String>> {
        let db = self.0.base.db();
        db.plan(&db.dialect().among(sql::HEALTH_OF, 1), args!["[1,2,3]"]).await
    }

    /// Whether each old secret, and each secret and header value of the first subscriptions, can
    /// be decrypted.
    pub(crate) async fn secrets_open(&self) -> Result<Vec<bool>> {
        let (base, mut opens) = (&self.0.base, Vec::new());
        let mut open = |context: &str, sealed: &str| {
            opens.push(base.vault().open(context, sealed).is_ok());
        };
        for (id, secret) in base.db().all::<(i64, String)>(sql::OLD_SECRETS, args![]).await? {
            open(&secret_context(id), &secret);
        }
        let first = args![i64::from(MAX_LIMIT)];
        for stored in base.db().all::<Stored>(sql::FIRST, first).await? {
            open(&secret_context(stored.id), &stored.secret);
            for (_, value) in &stored.custom_headers {
                open(&header_context(stored.id), value);
            }
        }
        Ok(opens)
    }
}

/// Whether the second address belongs to another receiver: its scheme, host or port differs.
pub(super) fn is_elsewhere(old: &str, new: &str) -> bool {
    let origin = |url: &str| Url::parse(url).ok().map(|url| url.origin());
    origin(old) != origin(new)
}

/// The warning about headers that another receiver must not get.
pub(super) fn left_behind(headers: &[(String, String)]) -> Option<FieldError> {
    let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    (!names.is_empty()).then(|| FieldError {
        field: "custom_headers".to_owned(),
        code: "removed",
        message: format!(
            "the address has another origin: {} removed; send the values again for the new one",
            names.join(", ")
        ),
    })
}

/// The vault's context for a secret: it can be decrypted for this subscription only.
pub(in crate::webhooks) fn secret_context(id: i64) -> String {
    format!("webhook_subscriptions.secret:{id}")
}

pub(in crate::webhooks) fn header_context(id: i64) -> String {
    format!("webhook_subscriptions.custom_headers:{id}")
}
