//! Mail addresses and URLs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    kind::{Kind, Refusal, refuse, text_of},
    text,
};

/// One address of mail.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Email {
    /// Characters at most (RFC 5321: 254).
    max_length: usize,
    /// Domains that are refused, with what lies below them.
    blocked_domains: Vec<String>,
    /// Whether the domains of large free providers are refused.
    business_only: bool,
    /// Whether it is asked for twice.
    confirm: bool,
}

impl Default for Email {
    fn default() -> Self {
        Self { max_length: MOST, blocked_domains: Vec::new(), business_only: false, confirm: false }
    }
}

/// Domains at which anyone can get an address.
const FREE: [&str; 16] = [
    "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com",
    "yahoo.com", "ymail.com", "icloud.com", "me.com", "aol.com", "gmx.net", "gmx.de", "web.de",
    "mail.ru", "proton.me",
];

/// The characters of a local part besides letters and digits (RFC 5322, 3.2.3, `atext`).
const ATOM: &str = "!#$%&'*+-/=?^_`{|}~";

/// Maximum length of an address in characters (RFC 5321, 4.5.3.1.3, without the brackets).
const MOST: usize = 254;

/// An address in its stored form, for rooms without fields; else the reason why it is refused.
pub(crate) fn address(given: &str) -> Result<String, String> {
    let address = email(given).and_then(|address| {
        text::length(&address, 0, MOST)?;
        Ok(address)
    });
    address.map_err(|refusal| refusal.message)
}

/// Whether anyone can get an address at this domain.
pub(crate) fn is_free(domain: &str) -> bool {
    FREE.contains(&domain)
}

/// The address in its stored form: the domain in lower case, as ASCII (RFC 5890).
fn email(given: &str) -> Result<String, Refusal> {
    let wrong = || refuse("format", "one address such as name@example.org is expected");
    let line = text::line(given)?;
    let Some((local, domain)) = line.rsplit_once('@') else { return wrong() };
    let is_atom = |part: &str| {
        let fits = |c: char| c.is_alphanumeric() || ATOM.contains(c);
        !part.is_empty() && part.chars().all(fits)
    };
    if local.len() > 64 || !local.split('.').all(is_atom) {
        return wrong();
    }
    let Ok(domain) = idna::domain_to_ascii_strict(domain) else { return wrong() };
    let is_label = |label: &str| !label.is_empty() && label.len() <= 63;
    let is_number = domain.rsplit('.').next().is_some_and(|last| last.parse::<u64>().is_ok());
    if !domain.contains('.') || !domain.split('.').all(is_label) || is_number {
        return wrong();
    }
    Ok(format!("{local}@{domain}"))
}

impl Kind for Email {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let address = email(text_of(given)?)?;
        text::length(&address, 0, self.max_length)?;
        let domain = address.rsplit('@').next().unwrap_or_default();
        let is_below = |blocked: &str| {
            let blocked = blocked.trim_start_matches('@').to_ascii_lowercase();
            domain
                .strip_suffix(blocked.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        if self.blocked_domains.iter().any(|blocked| is_below(blocked)) {
            return refuse("blocked_domain", format!("addresses at {domain} are not accepted"));
        }
        if self.business_only && FREE.iter().any(|free| is_below(free)) {
            return refuse("blocked_domain", "an address of a company is expected");
        }
        Ok(address.into())
    }
}

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
