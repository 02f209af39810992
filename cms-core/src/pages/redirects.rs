//! Old addresses and where they lead. The service writes a redirect when a published page moves or
//! goes. Chains are collapsed when they are written, so that one look finds the end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{Pages, State, sql};
use crate::{
    Actor, Change, Error, Millis, Result,
    base::Base,
    db::{Lock, args},
    ground::{Address, address::encoded, rfc3339},
    items::{AfterWrite, IfMatch, Written},
};

const TABLE: &str = "redirects";
/// Redirects are chained and unchained one change at a time: two could close a loop.
const TURN: Lock = Lock::new(22);
/// Redirects that are followed from one at most; a longer chain is taken for a loop.
const MAX_CHAIN: usize = 16;
/// Parts of an address that a redirect of all paths below can name.
const MAX_DEPTH: usize = 50;
/// Rows that are led elsewhere at once.
const BATCH: i64 = 100;

const MOVED: i64 = 301;
const GONE: i64 = 410;

/// Where an old address leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

type Row = (i64, String, Option<String>, i64);

impl Rule {
    fn of(record: &Json) -> Result<Self> {
        Self::deserialize(record).map_err(Error::internal)
    }

    /// Where it leads an address that it matches.
    fn target(&self, address: &str) -> Option<String> {
        let to = self.to.as_deref()?;
        let rest = self.from.strip_suffix('*').and_then(|start| address.strip_prefix(start));
        Some(rest.map_or_else(|| to.to_owned(), |rest| to.replacen('*', rest, 1)))
    }

    /// What is wrong with its columns together.
    fn check(&self) -> Result<()> {
        let refused = |message| Err(Error::invalid_field("to", "format", message));
        match self.to.as_deref() {
            None if self.status != GONE => {
                refused("an address is expected; only a redirect with status 410 has none")
            }
            Some(_) if self.status == GONE => refused("410 says that it is gone: write null"),
            Some(to) if to.contains('*') && !self.from.ends_with("/*") => {
                refused("* stands for what * of from matched: end from with /*, or leave * out")
            }
            _ => Ok(()),
        }
    }
}

/// What was asked for since the counts were written last: redirect → times, and the last time.
#[derive(Default)]
pub(super) struct Hits(Mutex<HashMap<i64, (i64, Millis)>>);

impl Hits {
    fn with<T>(&self, run: impl FnOnce(&mut HashMap<i64, (i64, Millis)>) -> T) -> T {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, id: i64, times: i64, at: Millis) {
        self.with(|hits| {
            let hit = hits.entry(id).or_default();
            *hit = (hit.0 + times, hit.1.max(at));
        });
    }

    async fn write(&self, base: &Base) -> Result<()> {
        let mut counted: Vec<_> = self.with(std::mem::take).into_iter().collect();
        if counted.is_empty() {
            return Ok(());
        }
        // All processes in one order: none waits for another in a circle.
        counted.sort_unstable();
        let written = write(base, &counted).await;
        if written.is_err() {
            counted.into_iter().for_each(|(id, (times, at))| self.add(id, times, at));
        }
        written
    }
}

async fn write(base: &Base, counted: &[(i64, (i64, Millis))]) -> Result<()> {
    let mut change = base.change(Actor::System).await?;
    for (id, (times, at)) in counted {
        change.run(sql::COUNT_HITS, args![*id, *times, rfc3339(*at)]).await?;
    }
    change.touch(TABLE);
    change.commit().await
}

impl Pages {
    /// Where an address leads that no published page has, and counts it. Of those that match, the
    /// exact one counts, else the longest. `language`: redirects of other languages do not count.
    ///
    /// ```no_run
    /// # async fn run(cms: cms_core::Cms) -> cms_core::Result<()> {
    /// if let Some(redirect) = cms.pages().redirect("/old/page", None).await? {
    ///     println!("{} {:?}", redirect.status, redirect.to);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
    pub async fn redirect(&self, url: &str, language: Option<&str>) -> Result<Option<Redirect>> {
        if url.contains('\0') {
            return Ok(None);
        }
        let base = self.base();
        let statement = base.db().dialect().of(&sql::REDIRECT);
        // Whoever asks may have decoded what is stored encoded.
        let encoded = encoded(url);
        let spellings = [url, &encoded];
        for spelling in &spellings[..if encoded == url { 1 } else { 2 }] {
            let args = args![matching(spelling), language, *spelling, language.is_none()];
            let row: Option<Row> = base.db().optional(statement, args).await?;
            let Some(rule) = row.map(found) else { continue };
            self.0.hits.add(rule.id, 1, base.clock().now());
            return Ok(Some(Redirect { to: rule.target(spelling), status: rule.status }));
        }
        Ok(None)
    }

    /// Writes how often redirects were asked for.
    pub(crate) async fn write_hits(&self) -> Result<()> {
        self.0.hits.write(self.base()).await
    }

    /// A published page has moved. `before` and `now`: the page as an item.
    pub(super) async fn moved(&self, change: &mut Change, before: &Json, now: &Json) -> Result<()> {
        let (old, language) = place(before);
        let (new, now_in) = place(now);
        self.settled_at(change, new, now_in).await?;
        self.keep(change, (old, language), Some(new)).await
    }

    /// Nobody sees a page any longer. `before`: the page as an item.
    pub(super) async fn gone(&self, change: &mut Change, before: &Json) -> Result<()> {
        let (url, language) = place(before);
        self.gone_from(change, url, language).await
    }

    /// As [`Pages::gone`], from its address and language.
    pub(super) async fn gone_from(
        &self,
        change: &mut Change,
        url: &str,
        language: &str,
    ) -> Result<()> {
        self.keep(change, (url, language), None).await
    }

    /// A page is published at an address: what the service wrote there is over.
    pub(super) async fn settled_at(
        &self,
        change: &mut Change,
        url: &str,
        language: &str,
    ) -> Result<()> {
        let Some(url) = spelled(url) else { return Ok(()) };
        if exactly(change, &url, language).await?.is_none() {
            return Ok(());
        }
        change.lock(TURN).await?;
        if let Some(id) = exactly(change, &url, language).await? {
            let id = id.to_string();
            self.items().remove(change, TABLE, &id, None, &IfMatch::Nothing).await?;
        }
        Ok(())
    }

    /// Writes the redirect of an address that a page has left, and leads those that led there on.
    async fn keep(
        &self,
        change: &mut Change,
        (from, language): (&str, &str),
        to: Option<&str>,
    ) -> Result<()> {
        let Some(from) = spelled(from) else { return Ok(()) };
        let to = to.and_then(spelled);
        change.lock(TURN).await?;
        let status = if to.is_some() { MOVED } else { GONE };
        let mut body = json!({"to": to, "status": status, "active": true});
        let written = match exactly(change, &from, language).await? {
            Some(id) => {
                let id = id.to_string();
                let body = members(&body);
                self.items().set(change, TABLE, &id, None, &IfMatch::Nothing, &body).await?
            }
            None => {
                body["from"] = from.into();
                body["language_short"] = language.into();
                self.items().insert(change, TABLE, &members(&body)).await?
            }
        };
        let rule = Rule::of(&serde_json::from_str(&written.json).map_err(Error::internal)?)?;
        self.lead_on(change, &rule).await
    }

    /// Leads a redirect that somebody has written past others, and others past it.
    async fn settle(&self, change: &mut Change, rule: Rule) -> Result<Option<Written>> {
        rule.check()?;
        if !rule.active {
            return Ok(None);
        }
        change.lock(TURN).await?;
        let (to, status) = self.end_of(change, &rule, false).await?;
        if rule.language_short.is_none() {
            // A visitor in some language meets that language's redirects too.
            self.end_of(change, &rule, true).await?;
        }
        let settled = match to == rule.to {
            true => None,
            false => Some(self.lead(change, rule.id, to.as_deref(), status).await?),
        };
        self.lead_on(change, &Rule { to, status, ..rule }).await?;
        Ok(settled)
    }

    /// Where a redirect leads in the end. `any`: redirects of every language count.
    async fn end_of(
        &self,
        change: &mut Change,
        rule: &Rule,
        any: bool,
    ) -> Result<(Option<String>, i64)> {
        let (mut to, mut status) = (rule.to.clone(), rule.status);
        for step in 0.. {
            // What stands outside of the site is an end.
            let Some(at) = to.as_deref().filter(|to| to.starts_with('/')) else { break };
            let path = at.split(['?', '#']).next().unwrap_or(at);
            let statement = change.dialect().of(&sql::REDIRECT);
            let args = args![matching(path), rule.language_short.clone(), path, any];
            let next: Option<Row> = change.optional(statement, args).await?;
            let Some(next) = next.map(found) else { break };
            if next.id == rule.id || step == MAX_CHAIN {
                let message = "it leads back to where it begins: choose an address that no \
                               redirect leads away from";
                return Err(Error::invalid_field("to", "loop", message));
            }
            // The next one would lose what is asked for beside the page.
            if path.len() < at.len() {
                break;
            }
            to = next.target(path);
            status = if to.is_some() { rule.status } else { GONE };
        }
        Ok((to, status))
    }

    /// Leads redirects that lead to what `rule` matches to where it leads.
    async fn lead_on(&self, change: &mut Change, rule: &Rule) -> Result<()> {
        let mut after = 0;
        loop {
            let below = rule.from.strip_suffix('*');
            let args =
                args![after, rule.from.clone(), below, rule.language_short.clone(), rule.id, BATCH];
            let rows: Vec<Row> = change.all(sql::LEADING_TO, args).await?;
            for row in &rows {
                let other = found(row.clone());
                after = other.id;
                let to = other.to.as_deref().and_then(|to| rule.target(to));
                let status = if to.is_some() { other.status } else { GONE };
                self.lead(change, other.id, to.as_deref(), status).await?;
            }
            if rows.len() < BATCH as usize {
                return Ok(());
            }
        }
    }

    async fn lead(
        &self,
        change: &mut Change,
        id: i64,
        to: Option<&str>,
        status: i64,
    ) -> Result<Written> {
        let body = members(&json!({"to": to, "status": status}));
        let id = id.to_string();
        self.items().set(change, TABLE, &id, None, &IfMatch::Nothing, &body).await
    }
}

/// The redirect at exactly this address and of this language.
async fn exactly(change: &mut Change, url: &str, language: &str) -> Result<Option<i64>> {
    let row: Option<(i64,)> = change.optional(sql::REDIRECT_AT, args![url, language]).await?;
    Ok(row.map(|(id,)| id))
}

fn found((id, from, to, status): Row) -> Rule {
    Rule { id, from, to, status, language_short: None, active: true }
}

/// The address and the language of a page.
fn place(page: &Json) -> (&str, &str) {
    let text = |name: &str| page[name].as_str().unwrap_or_default();
    (text("url_rewrite"), text("language_short"))
}

/// An address as a redirect names it. Pages may have some that are older than the rule for them.
fn spelled(url: &str) -> Option<String> {
    let candidates = [url.to_owned(), encoded(url)];
    candidates.into_iter().find(|url| Address::Path.accepts(url))
}

fn members(body: &Json) -> Map<String, Json> {
    body.as_object().cloned().unwrap_or_default()
}

/// What a redirect of this address may have in `from`, as a JSON array.
fn matching(url: &str) -> String {
    let ends = url.match_indices('/').map(|(at, _)| format!("{}/*", &url[..at]));
    let all: Vec<String> = std::iter::once(url.to_owned()).chain(ends.take(MAX_DEPTH)).collect();
    json!(all).to_string()
}

/// Settles redirects that callers write as items.
pub(super) struct Settling(pub(super) Weak<State>);

impl Settling {
    pub(super) fn of(pages: &Arc<State>) -> Self {
        Self(Arc::downgrade(pages))
    }
}

impl AfterWrite for Settling {
    fn written<'c>(
        &'c self,
        change: &'c mut Change,
        written: &'c mut Written,
        _: bool,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            let Some(state) = self.0.upgrade() else { return Ok(()) };
            let record = serde_json::from_str(&written.json).map_err(Error::internal)?;
            if let Some(settled) = Pages(state).settle(change, Rule::of(&record)?).await? {
                written.json = settled.json;
            }
            Ok(())
        })
    }

    fn removed<'c>(&'c self, _: &'c mut Change, _: &'c Json) -> BoxFuture<'c, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_matched_by_itself_and_by_what_is_above() {
        assert_eq!(matching("/"), r#"["/","/*"]"#);
        assert_eq!(matching("/a/b"), r#"["/a/b","/*","/a/*"]"#);
        let deep = "/x".repeat(10_000);
        let all: Vec<String> = serde_json::from_str(&matching(&deep)).expect("an array");
        assert_eq!(all.len(), 1 + MAX_DEPTH);
    }

    #[test]
    fn what_the_star_matched_stands_for_it() {
        let rule = |from: &str, to: &str| found((1, from.into(), Some(to.into()), 301));
        for (from, to, address, expected) in [
            ("/old", "/new", "/old", "/new"),
            ("/old/*", "/new/*", "/old/a/b", "/new/a/b"),
            ("/old/*", "/new", "/old/a", "/new"),
            ("/*", "https://example.org/*?from=old", "/a", "https://example.org/a?from=old"),
            ("/old/*", "/new/*", "/old/*", "/new/*"),
        ] {
            let target = rule(from, to).target(address);
            assert_eq!(target.as_deref(), Some(expected), "{from} {address}");
        }
    }
}
