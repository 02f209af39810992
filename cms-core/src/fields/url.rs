//! Addresses of pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    kind::{Kind, Refusal, refuse, text_of},
    text,
};

/// The address of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Url {
    /// The first is added to an address without one.
    schemes: Vec<String>,
    /// Characters at most.
    max_length: usize,
    /// Whether the host needs a dot, or is an address of IPv6.
    require_dot: bool,
}

impl Default for Url {
    fn default() -> Self {
        let schemes = ["https", "http"].map(str::to_owned).to_vec();
        Self { schemes, max_length: 2048, require_dot: true }
    }
}

impl Kind for Url {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let line = text::line(text_of(given)?)?;
        let schemes = self.schemes.join(", ");
        let Some(first) = self.schemes.first() else {
            return refuse("bad_config", "schemes: at least one is expected");
        };
        let has_scheme = line.split_once(':').is_some_and(|(scheme, rest)| {
            rest.starts_with("//")
                || (!scheme.contains(['.', '/']) && !rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        let text = if has_scheme { line } else { format!("{first}://{line}") };
        let Ok(url) = ::url::Url::parse(&text) else {
            return refuse("format", "an address such as https://example.org is expected");
        };
        if !self.schemes.iter().any(|scheme| scheme == url.scheme()) {
            return refuse(
                "scheme",
                format!("an address with one of these is expected: {schemes}"),
            );
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("format", "an address without a user name is expected");
        }
        let has_dot = match url.host() {
            Some(::url::Host::Domain(name)) => name.trim_end_matches('.').contains('.'),
            Some(_) => true,
            None => return refuse("format", "an address with a host is expected"),
        };
        if self.require_dot && !has_dot {
            return refuse("format", "an address with a full host name is expected");
        }
        let text = String::from(url);
        text::length(&text, 0, self.max_length)?;
        Ok(text.into())
    }

    fn check(&self) -> Result<(), Refusal> {
        let unsafe_scheme = |scheme: &&String| {
            matches!(scheme.as_str(), "" | "javascript" | "data" | "vbscript" | "file" | "blob")
        };
        match self.schemes.iter().find(unsafe_scheme) {
            Some(scheme) => refuse("bad_config", format!("schemes: {scheme:?} is not allowed")),
            None if self.schemes.is_empty() => {
                refuse("bad_config", "schemes: at least one is expected")
            }
            None => Ok(()),
        }
    }
}
