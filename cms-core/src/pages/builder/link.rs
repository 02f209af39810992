//! Links that show a draft to people without a login, for a while.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{hold::no_page, sql};
use crate::{Code, Error, Millis, Result, crypto::sha256, pages::Pages, rfc3339};

/// Seconds for which a link shows a draft when nobody says otherwise: a day.
const TTL_S: i64 = 86_400;
/// At most: 30 days.
const MOST_TTL_S: i64 = 30 * 86_400;

/// What shows a draft without a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageLink")]
pub struct Link {
    /// The page.
    pub page_id: i64,
    /// Path and query of the draft.
    pub path: String,
    /// The whole address, on the site's own address or the request's host.
    pub url: String,
    /// When it ends, RFC 3339 in UTC.
    pub expires_at: String,
}

impl Pages {
    /// A link to the draft of a page, signed with the site's secret. It shows the draft as it is
    /// when it is opened. `site`: the site's address.
    ///
    /// # Errors
    /// `not_found`; `validation_failed` for a time that is too long.
    pub async fn link(&self, page: i64, ttl_s: Option<i64>, site: &str) -> Result<Link> {
        let ttl_s = ttl_s.unwrap_or(TTL_S);
        if !(1..=MOST_TTL_S).contains(&ttl_s) {
            let message = format!("1 to {MOST_TTL_S} seconds are expected");
            return Err(Error::invalid_field("ttl_s", "range", message));
        }
        sql::is_page(self.base().db(), page).await?.then_some(()).ok_or_else(|| no_page(page))?;
        let expires = self.base().clock().now() / 1000 + ttl_s;
        let signature = self.signature(page, expires);
        let path =
            format!("/api/pages/draft?page_id={page}&expires={expires}&signature={signature}");
        let url = format!("{site}{path}");
        Ok(Link { page_id: page, path, url, expires_at: rfc3339(expires * 1000) })
    }

    /// Refuses a link that nobody signed, or that has ended.
    ///
    /// # Errors
    /// `not_found`: a stranger does not learn which pages there are.
    pub(crate) fn admit_link(&self, page: i64, expires: i64, signature: &str) -> Result<()> {
        let now: Millis = self.base().clock().now();
        // Digests are compared, so that the time tells nothing.
        let same = sha256(self.signature(page, expires).as_bytes()) == sha256(signature.as_bytes());
        if same && now / 1000 < expires {
            return Ok(());
        }
        let detail = "The link is not valid, or has ended: ask for a new one.";
        Err(Error::new(Code::NotFound, detail))
    }

    fn signature(&self, page: i64, expires: i64) -> String {
        self.base().cursors().digest("draft of a page", &format!("{page} {expires}"))
    }
}
