//! Old addresses and where they lead. The service writes a redirect when a published page moves,
//! is taken off or is deleted. Chains are followed on reading, so that a page that is published
//! again is found under all its old addresses.

use std::{
    collections::HashMap,
    iter, slice,
    sync::{Mutex, PoisonError},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{Pages, sql};
use crate::{
    Actor, Change, Error, Millis, Result,
    base::Base,
    db::args,
    ground::{Address, address::encoded, rfc3339},
    items::{IfMatch, Written},
};

const TABLE: &str = "redirects";
/// The columns that decide where a chain of redirects leads.
pub(super) const LEADING: [&str; 4] = ["from", "to", "language_short", "active"];
/// Maximum number of redirects in one chain.
const MAX_CHAIN: usize = 16;
/// Maximum depth at which a redirect of all paths below can match.
const MAX_DEPTH: usize = 20;
/// Maximum number of languages in which a redirect for all languages is checked.
const MAX_LANGUAGES: i64 = 100;

const MOVED: i64 = 301;
const GONE: i64 = 410;

/// Where an old address leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Redirect {
    /// A path of the site, or a whole address; null where nothing takes its place.
    pub to: Option<String>,
    /// 301, 302, 307, 308 or 410.
    pub status: i64,
}

/// A row of `redirects`.
#[derive(Clone, Debug, Deserialize)]
struct Rule {
    id: i64,
    from: String,
    to: Option<String>,
    status: i64,
    language_short: Option<String>,
    active: bool,
}

impl Rule {
    /// The target for an address that it matches in one of these spellings.
    fn target(&self, spellings: &[String]) -> Option<String> {
        let to = self.to.as_deref()?;
        let start = self.from.strip_suffix('*');
        let rest = start.and_then(|start| spellings.iter().find_map(|url| url.strip_prefix(start)));
        Some(rest.map_or_else(|| to.to_owned(), |rest| to.replacen('*', rest, 1)))
    }

    /// Checks that its columns fit together.
    fn check(&self) -> Result<()> {
        let refused = |message| Err(Error::invalid_field("to", "format", message));
        match self.to.as_deref() {
            None if self.status != GONE => {
                refused("an address is expected; only a redirect with status 410 has none")
            }
            Some(_) if self.status == GONE => refused("status 410 has no target: write null"),
            Some(to) if to.contains('*') && !self.from.ends_with("/*") => {
                refused("* stands for what * in from matches: end from with /*, or leave * out")
            }
            _ => Ok(()),
        }
    }
}

/// Which redirects apply.
#[derive(Clone, Copy, Debug)]
enum Visitor<'v> {
    /// Those of this language, and those for all languages.
    In(&'v str),
    /// Those of every language, this one first.
    Anywhere(&'v str),
}

impl Visitor<'_> {
    fn language(&self) -> (&str, bool) {
        match self {
            Self::In(language) => (language, false),
            Self::Anywhere(first) => (first, true),
        }
    }
}

/// The state while a chain is followed.
struct Chain {
    status: i64,
    to: Option<String>,
    length: usize,
}

impl Chain {
    fn begin(first: &Rule, spellings: &[String]) -> Self {
        Self { status: first.status, to: first.target(spellings), length: 1 }
    }

    /// The next path to look up, in its spellings. An address outside of the site, or one with a
    /// query or a fragment, ends the chain.
    fn next(&self) -> Option<Vec<String>> {
        self.to.as_deref().filter(|to| is_plain(to)).and_then(spellings)
    }

    fn add(&mut self, next: &Rule, spellings: &[String]) {
        self.to = next.target(spellings);
        self.length += 1;
        // A temporary redirect in a chain makes the whole chain temporary.
        self.status = match (self.status, next.status) {
            (_, GONE) => GONE,
            (301, 302 | 307) => 302,
            (308, 302 | 307) => 307,
            (status, _) => status,
        };
    }
}

/// Uses of redirects since the counts were last written: redirect → number of uses, and the
/// last time.
#[derive(Default)]
pub(super) struct Hits(Mutex<HashMap<i64, (i64, Millis)>>);

impl Hits {
    fn with<T>(&self, run: impl FnOnce(&mut HashMap<i64, (i64, Millis)>) -> T) -> T {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, id: i64, at: Millis) {
        self.with(|hits| {
            let hit = hits.entry(id).or_default();
            *hit = (hit.0 + 1, hit.1.max(at));
        });
    }

    async fn write(&self, base: &Base) -> Result<()> {
        let mut counted: Vec<_> =
            self.with(|hits| hits.iter().map(|(id, hit)| (*id, *hit)).collect());
        if counted.is_empty() {
            return Ok(());
        }
        // All processes write in the same order, so they cannot deadlock.
        counted.sort_unstable();
        let mut change = base.change(Actor::System).await?;
        for (id, (times, at)) in &counted {
            change.run(sql::COUNT_HITS, args![*id, *times, rfc3339(*at)]).await?;
        }
        change.touch(TABLE);
        change.commit().await?;
        // Removed only after the commit: an interrupted write may count twice, but loses nothing.
        self.with(|hits| {
            for (id, (times, _)) in &counted {
                if let Some(hit) = hits.get_mut(id) {
                    hit.0 -= times;
                }
            }
            hits.retain(|_, hit| hit.0 > 0);
        });
        Ok(())
    }
}

impl Pages {
    /// Finds where an address without a published page leads, and counts the use. Of the matching
    /// redirects an exact match wins, else the longest. With `language`, redirects of other
    /// languages apply last, and only if they lead to a page that has a version in `language`.
    ///
    /// ```no_run
    /// # async fn run(cms: cms_core::Cms) -> cms_core::Result<()> {
    /// if let Some(redirect) = cms.pages().redirect("/old/page", None).await? {
    ///     println!("{} {:?}", redirect.status, redirect.to);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn redirect(&self, url: &str, language: Option<&str>) -> Result<Option<Redirect>> {
        let visitor = language.map_or(Visitor::Anywhere(self.first_language()), Visitor::In);
        let mut found = self.followed(url, visitor).await?;
        if found.is_none()
            && let Some(language) = language
        {
            // A page is found at the addresses of all its versions, and therefore also at their
            // old addresses.
            found = self.followed(url, Visitor::Anywhere(language)).await?;
            let to = found.as_ref().and_then(|(_, redirect)| redirect.to.as_deref());
            let has_version = match to {
                Some(to) => !self.at(to, Some(language)).await?.is_empty(),
                None => false,
            };
            found = found.filter(|_| has_version);
        }
        Ok(found.map(|(id, redirect)| {
            self.0.hits.add(id, self.base().clock().now());
            redirect
        }))
    }

    /// Follows an address for a visitor. Returns the result with the id of the first
    /// redirect used.
    async fn followed(&self, url: &str, visitor: Visitor<'_>) -> Result<Option<(i64, Redirect)>> {
        // Only an address can match, because the text that `*` matches becomes part of an address.
        let Some(asked) = spellings(url) else { return Ok(None) };
        let base = self.base();
        let statement = base.db().dialect().of(&sql::REDIRECT);
        let look = async |address: &[String], or_page: bool| {
            let row = base.db().optional(statement, matching(address, visitor, or_page)).await?;
            Ok::<_, Error>(row.map(rule))
        };
        let Some(begin) = look(&asked, false).await? else { return Ok(None) };
        let mut chain = Chain::begin(&begin, &asked);
        while let Some(address) = chain.next() {
            let Some(next) = look(&address, true).await? else { break };
            chain.add(&next, &address);
            if chain.length > MAX_CHAIN {
                tracing::debug!(url, "redirects from this address form a circle: none is followed");
                return Ok(None);
            }
        }
        // A page in another language may have ended the chain at its beginning.
        let is_back = chain.next().is_some_and(|last| last[0] == asked[0]);
        if is_back || chain.to.as_ref().is_some_and(|to| !Address::Redirect.accepts(to)) {
            return Ok(None);
        }
        Ok(Some((begin.id, Redirect { to: chain.to, status: chain.status })))
    }

    fn first_language(&self) -> &str {
        self.base().settings().languages.first().map_or("en", String::as_str)
    }

    /// Writes how often redirects were used.
    pub(crate) async fn write_hits(&self) -> Result<()> {
        self.0.hits.write(self.base()).await
    }

    /// Handles a published page that got another address or another language. `before` and `now`:
    /// the page as an item.
    pub(super) async fn moved(&self, change: &mut Change, before: &Json, now: &Json) -> Result<()> {
        let (old, new) = (place(before), place(now));
        self.published_at(change, new).await?;
        let to = Some(new.0).filter(|url| *url != old.0);
        self.write_redirect(change, old, to).await
    }

    /// Handles a page that visitors can no longer see. `left`: its address and language.
    pub(super) async fn gone_from(&self, change: &mut Change, left: (&str, &str)) -> Result<()> {
        self.write_redirect(change, left, None).await
    }

    /// Removes the redirect from an address and language at which a page is now published.
    pub(super) async fn published_at(
        &self,
        change: &mut Change,
        (url, language): (&str, &str),
    ) -> Result<()> {
        let Some(url) = normalized(url) else { return Ok(()) };
        if let Some(id) = exactly(change, &url, language).await? {
            let id = id.to_string();
            self.items().remove(change, TABLE, &id, None, &IfMatch::Nothing).await?;
        }
        Ok(())
    }

    async fn write_redirect(
        &self,
        change: &mut Change,
        (from, language): (&str, &str),
        to: Option<&str>,
    ) -> Result<()> {
        let Some(from) = normalized(from) else { return Ok(()) };
        let to = to.and_then(normalized);
        let status = if to.is_some() { MOVED } else { GONE };
        let mut body = json!({"to": to, "status": status, "active": true});
        if let Some(id) = exactly(change, &from, language).await? {
            let (id, body) = (id.to_string(), members(&body));
            let items = self.items();
            return items.set(change, TABLE, &id, None, &IfMatch::Nothing, &body).await.map(drop);
        }
        body["from"] = from.into();
        body["language_short"] = language.into();
        self.items().insert(change, TABLE, &members(&body)).await.map(drop)
    }

    /// Refuses a written redirect whose columns do not fit together, or that leads back to itself.
    pub(super) async fn redirect_written(
        &self,
        change: &mut Change,
        written: &Written,
    ) -> Result<()> {
        let written: Rule = written.record.values_as()?;
        written.check()?;
        if !written.active {
            return Ok(());
        }
        let languages: Vec<(String,)> = match &written.language_short {
            Some(language) => vec![(language.clone(),)],
            None => change.all(sql::REDIRECT_LANGUAGES, args![MAX_LANGUAGES]).await?,
        };
        let visitors = languages.iter().map(|(language,)| Visitor::In(language));
        for visitor in visitors.chain([Visitor::Anywhere(self.first_language())]) {
            // `*` itself stands for any text that it matches.
            let mut chain = Chain::begin(&written, slice::from_ref(&written.from));
            while let Some(address) = chain.next() {
                let statement = change.dialect().of(&sql::REDIRECT);
                let args = matching(&address, visitor, true);
                let Some(next) = change.optional(statement, args).await?.map(rule) else { break };
                chain.add(&next, &address);
                let message = if next.id == written.id {
                    "the redirect leads back to its own address: choose an address that no \
                     redirect leads away from"
                } else if chain.length > MAX_CHAIN {
                    "the redirect leads into a circle or a chain of more than 16 redirects"
                } else {
                    continue;
                };
                return Err(Error::invalid_field("to", "loop", message));
            }
        }
        Ok(())
    }
}

/// The redirect with exactly this address and language.
async fn exactly(change: &mut Change, url: &str, language: &str) -> Result<Option<i64>> {
    let row: Option<(i64,)> = change.optional(sql::REDIRECT_AT, args![url, language]).await?;
    Ok(row.map(|(id,)| id))
}

fn rule((id, from, to, status): (i64, String, Option<String>, i64)) -> Rule {
    Rule { id, from, to, status, language_short: None, active: true }
}

/// The address and the language of a page.
pub(super) fn place(page: &Json) -> (&str, &str) {
    let text = |name: &str| page[name].as_str().unwrap_or_default();
    (text("url_rewrite"), text("language_short"))
}

/// An address as redirects store it. Older pages may have addresses that break today's rule, and
/// visitors may request a decoded address.
fn normalized(url: &str) -> Option<String> {
    let candidates = [url.to_owned(), encoded(url)];
    candidates.into_iter().find(|url| Address::Path.accepts(url))
}

/// The spellings under which rows may have an address: first the one written today, then the given
/// one, for rows that SQL wrote.
fn spellings(url: &str) -> Option<Vec<String>> {
    let today = normalized(url)?;
    let given = (is_plain(url) && today != url).then(|| url.to_owned());
    Some(iter::once(today).chain(given).collect())
}

/// Whether an address is a path without query and fragment.
fn is_plain(address: &str) -> bool {
    address.starts_with('/') && !address.contains(['?', '#'])
}

fn members(body: &Json) -> Map<String, Json> {
    body.as_object().cloned().unwrap_or_default()
}

/// The arguments of [`sql::REDIRECT`]. `or_page`: no result where a page is published.
fn matching(address: &[String], visitor: Visitor<'_>, or_page: bool) -> Vec<crate::db::Value> {
    let (language, any) = visitor.language();
    args![patterns(address), language, &address[0], any, or_page]
}

/// The values of `from` that match an address in these spellings, as a JSON array.
fn patterns(spellings: &[String]) -> String {
    let all = spellings.iter().flat_map(|url| {
        let ends = url.match_indices('/').map(|(at, _)| format!("{}/*", &url[..at]));
        iter::once(url.clone()).chain(ends.take(MAX_DEPTH))
    });
    json!(all.collect::<Vec<_>>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_matched_by_itself_and_by_what_is_above() {
        let patterns = |url: &str| patterns(&[url.to_owned()]);
        assert_eq!(patterns("/"), r#"["/","/*"]"#);
        assert_eq!(patterns("/a/b"), r#"["/a/b","/*","/a/*"]"#);
        let deep = "/x".repeat(10_000);
        let all: Vec<String> = serde_json::from_str(&patterns(&deep)).expect("an array");
        assert_eq!(all.len(), 1 + MAX_DEPTH);
    }

    #[test]
    fn what_the_star_matched_stands_for_it() {
        let redirect = |from: &str, to: &str| rule((1, from.into(), Some(to.into()), 301));
        for (from, to, address, expected) in [
            ("/old", "/new", "/old", "/new"),
            ("/old/*", "/new/*", "/old/a/b", "/new/a/b"),
            ("/old/*", "/new", "/old/a", "/new"),
            ("/*", "https://example.org/*?from=old", "/a", "https://example.org/a?from=old"),
            ("/old/*", "/new/*", "/old/*", "/new/*"),
            ("/old/*", "/*", "/old/a/b", "/a/b"),
        ] {
            let target = redirect(from, to).target(&[address.to_owned()]);
            assert_eq!(target.as_deref(), Some(expected), "{from} {address}");
        }
    }
}
