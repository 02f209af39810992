//! What a subscription must be to be saved.

use std::collections::BTreeMap;

use super::{
    MASK, MAX_EVENTS,
    catalogue::{self, unknown_event},
    sql::Stored,
};
use crate::{
    Change, Error, FieldError, Result,
    ground::plain,
    webhooks::{
        Webhooks,
        rules::{headers, matching::is_pattern, retry::MAX_RETRIES},
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
        let mut problems = custom_headers.map(headers::problems).unwrap_or_default();
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
            && let Err(message) = self.0.http.rule().check_url(&row.url)
        {
            add("url", "format", message);
        }
        problems.extend(plain::problem("name", &row.name));
        problems.extend(plain::problem("url", &row.url).filter(|_| columns.contains(&"url")));
        if !problems.is_empty() {
            return Err(Error::invalid(problems));
        }
        if !columns.contains(&"events") {
            return Ok(());
        }
        for (index, event) in row.events.iter().enumerate() {
            if !is_pattern(event) && catalogue::sql::named_in(change, event).await?.is_empty() {
                return Err(unknown_event(format!("events[{index}]"), event));
            }
        }
        Ok(())
    }
}
