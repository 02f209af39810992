//! Where an API stands within its server: the base path and the session's cookie.

use cms_core::{Code, Error, Result, settings::Settings};

/// The default name of the session's cookie.
pub(crate) const COOKIE: &str = "cms_session";
/// The beginning of addresses that records hold; these have no base path.
const MEDIA: &str = "/media/";

/// Where an API stands.
#[derive(Debug)]
pub(crate) struct Mount {
    /// Empty at the root; no slash at the end.
    base: String,
    is_stripped: bool,
    /// The name of the session's cookie, with the prefix that makes browsers guard it.
    cookie: String,
}

impl Mount {
    /// At the root of the host.
    pub(crate) fn root() -> Self {
        Self { base: String::new(), is_stripped: false, cookie: format!("__Host-{COOKIE}") }
    }

    pub(crate) fn new(base: String, is_stripped: bool, cookie: &str) -> Result<Self> {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~');
        let is_segment =
            |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(is_known);
        let is_path = base.strip_prefix('/').is_some_and(|path| path.split('/').all(is_segment));
        let is_taken = base == "/media" || base.starts_with(MEDIA);
        if !base.is_empty() && (!is_path || is_taken) {
            let why = "begins with a slash and ends without one, and has letters, digits, _, -, . \
                       and ~ between slashes, such as /cms; files are at /media";
            return Err(Error::invalid_field("base", "format", why));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !(1..=64).contains(&cookie.len()) || !cookie.chars().all(is_name) {
            let why = "1 to 64 letters, digits, _ and -";
            return Err(Error::invalid_field("cookie", "format", why));
        }
        // `__Host-` demands the path / (RFC 6265bis, 4.1.3.2).
        let prefix = if base.is_empty() { "__Host-" } else { "__Secure-" };
        Ok(Self { cookie: format!("{prefix}{cookie}"), base, is_stripped })
    }

    /// The part of a request's path behind the base path.
    pub(crate) fn within<'p>(&self, path: &'p str) -> Result<&'p str> {
        if self.is_stripped || self.base.is_empty() {
            return Ok(path);
        }
        match path.strip_prefix(&self.base) {
            Some("") => Ok("/"),
            Some(within) if within.starts_with('/') => Ok(within),
            _ if path.starts_with(MEDIA) => Ok(path),
            _ => {
                let detail =
                    format!("There is nothing at this address: the API is at {}.", self.base);
                Err(Error::new(Code::NotFound, detail))
            }
        }
    }

    /// The full name of the session's cookie, with its prefix.
    pub(crate) fn cookie_name(&self) -> &str {
        &self.cookie
    }

    /// The session as a cookie (RFC 6265). Scripts cannot read it; pages of other websites
    /// do not send it.
    pub(crate) fn cookie(&self, token: &str, max_age_s: u64) -> String {
        let Self { base, cookie, .. } = self;
        let path = if base.is_empty() { "/" } else { base };
        format!(
            "{cookie}={token}; Max-Age={max_age_s}; Path={path}; HttpOnly; Secure; SameSite=Strict"
        )
    }

    /// The base path; empty at the root.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The path in front of those of the OpenAPI document: that of `api_url` if it is set,
    /// because a proxy may remove a part of the path; else the base path.
    pub(crate) fn server(&self, settings: &Settings) -> String {
        let url = settings.api_url.as_deref().and_then(|url| http::Uri::try_from(url).ok());
        let path = url.as_ref().map_or(self.base.as_str(), http::Uri::path).trim_end_matches('/');
        if path.is_empty() { "/".to_owned() } else { path.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(base: &str, stripped: bool) -> Mount {
        Mount::new(base.to_owned(), stripped, "shop").expect("a mount")
    }

    #[test]
    fn a_path_is_taken_off_once() {
        let cms = mount("/cms", false);
        for (path, within) in [
            ("/cms/api/pages", Some("/api/pages")),
            ("/cms", Some("/")),
            ("/cms/", Some("/")),
            ("/cms/cms", Some("/cms")),
            ("/media/aa/bb.png", Some("/media/aa/bb.png")),
            ("/cmsapi/pages", None),
            ("/CMS/api/pages", None),
            ("/c%6ds/api/pages", None),
            ("//cms/api/pages", None),
            ("/api/pages", None),
            ("/", None),
        ] {
            assert_eq!(cms.within(path).ok(), within, "{path}");
        }
        assert_eq!(mount("/cms", true).within("/cms/api").ok(), Some("/cms/api"));
        assert_eq!(mount("", false).within("/api").ok(), Some("/api"));
    }

    #[test]
    fn what_cannot_be_a_path_or_a_cookie_is_refused() {
        for base in [
            "cms", "/media", "/media/a", "/cms/", "/", "/a//b", "/a/../b", "/a b", "/a;b", "/ä",
            "/%61",
        ] {
            assert!(Mount::new(base.to_owned(), false, "shop").is_err(), "{base}");
        }
        for cookie in ["", "a b", "a=b", "a;b", "ä"] {
            assert!(Mount::new(String::new(), false, cookie).is_err(), "{cookie}");
        }
    }

    #[test]
    fn a_cookie_is_bound_to_where_the_api_is() {
        let told = |mount: &Mount| mount.cookie("t", 5);
        let rest = "HttpOnly; Secure; SameSite=Strict";
        let at_root = format!("__Host-cms_session=t; Max-Age=5; Path=/; {rest}");
        assert_eq!(told(&Mount::root()), at_root);
        let below = format!("__Secure-shop=t; Max-Age=5; Path=/cms; {rest}");
        assert_eq!(told(&mount("/cms", true)), below);
    }
}
