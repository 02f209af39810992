//! Funnels as their authors draw them. This file lists funnels, reads one, and deletes one with all
//! of its submissions.
//!
//! ```text
//! input      what is sent: a new funnel, a save, mail rules
//! draft      a funnel as it would be: judged, tidied, written; what a simulator walks through
//! save       made, copied, saved as a whole or its mail rules alone, published
//! versions   what was published, read again
//! ```

mod draft;
mod input;
mod save;
pub(super) mod sql;
pub(super) mod versions;

use serde_json::{Value as Json, json};

pub(super) use draft::Drawing;
pub use input::{Duplicated, NewFunnel, Routings, Saved};
pub use save::{Created, Published, SavedFunnel, SavedRoutings};
pub(crate) use versions::VersionCache;

use self::draft::Stored;
use super::{
    Funnels,
    record::{Funnel, FunnelDetail, FunnelLanguage, WhichFunnel},
};
use crate::{
    Actor, Address, Change, Code, Error, Page, Result,
    change::Reader,
    db::{args, statements},
    fields::broken_links,
    items::{BrokenAddress, Query, eq, ne, one_of},
};

/// The table's name outside. Pages show which funnels are published, so each write touches it.
const TABLE: &str = "formfunnels";

fn missing(which: &WhichFunnel) -> Error {
    Error::new(Code::NotFound, format!("There is no funnel {which}."))
}

impl Funnels {
    /// Funnels in these languages, one page at a time. Conditions and orders name `id`, `name`,
    /// `slug`, `status`, `language_short`, `base_id`, `rev`, `created_at` and `updated_at`.
    pub async fn list(&self, spoken: &FunnelLanguage, query: &Query) -> Result<Page<Funnel>> {
        let language = match spoken {
            FunnelLanguage::Any => None,
            FunnelLanguage::Only(language) => Some(eq(language)),
            FunnelLanguage::OrNone(language) => Some(one_of([language.as_str(), ""])),
        };
        let own = language.map(|language| ("language_short", language));
        let own = own.into_iter().chain([("status", ne("deleted"))]);
        let key = |funnel: &Funnel| funnel.id;
        sql::LIST.page_where(&self.0.base, query, own, Vec::new(), key).await
    }

    /// A funnel with its nodes, edges and mail rules.
    pub async fn get(&self, which: &WhichFunnel) -> Result<FunnelDetail> {
        self.detail(self.0.base.db(), which).await
    }

    async fn detail(
        &self,
        from: impl Into<Reader<'_>>,
        which: &WhichFunnel,
    ) -> Result<FunnelDetail> {
        let mut reader = from.into();
        let funnel = self.find(&mut reader, which).await?;
        let Stored { nodes, edges, rules } = Stored::read(reader, funnel.id).await?;
        Ok(FunnelDetail { funnel, nodes, edges, email_routings: rules })
    }

    /// A funnel without its nodes, edges and mail rules. If funnels of several languages have the
    /// slug, the first that was created.
    pub(super) async fn find(
        &self,
        from: impl Into<Reader<'_>>,
        which: &WhichFunnel,
    ) -> Result<Funnel> {
        let found = match which {
            WhichFunnel::Slug(text) => match WhichFunnel::from(text.clone()) {
                WhichFunnel::Id(id) => sql::by_id(from, id).await?,
                WhichFunnel::Slug(slug) => sql::by_slug(from, &slug).await?.into_iter().next(),
            },
            WhichFunnel::Id(id) => sql::by_id(from, *id).await?,
        };
        found.ok_or_else(|| missing(which))
    }

    /// Locks a funnel until the change ends.
    async fn hold(&self, change: &mut Change, which: &WhichFunnel) -> Result<Funnel> {
        let id = self.find(&mut *change, which).await?.id;
        if let WhichFunnel::Slug(slug) = which
            && let several @ [_, _, ..] = &sql::by_slug(&mut *change, slug).await?[..]
        {
            let ids: Vec<_> = several.iter().map(|one| one.id.to_string()).collect();
            let detail = format!(
                "Funnels of several languages have the slug {slug}: name one by its id, {}. \
                 Nothing was changed.",
                ids.join(", ")
            );
            return Err(Error::new(Code::Conflict, detail));
        }
        if !sql::lock(change, id).await? {
            return Err(missing(which));
        }
        self.find(change, &WhichFunnel::Id(id)).await
    }
}

/// Nodes that are read at once.
const NODES_AT_ONCE: i64 = 500;
/// Maximum number of submissions that a change removes.
const BATCH: i64 = 500;

impl Funnels {
    /// Redirects of ends and links of fields that are not valid addresses, at most `most`.
    pub(crate) async fn broken_addresses(&self, most: usize) -> Result<Vec<BrokenAddress>> {
        let (mut found, mut after) = (Vec::new(), i64::MIN);
        while found.len() < most {
            let args = args![after, NODES_AT_ONCE];
            let rows: Vec<(i64, i64, String, String)> =
                self.0.base.db().all(sql::NODES_AFTER, args).await?;
            let Some((last, ..)) = rows.last() else { break };
            after = *last;
            for (node, funnel, kind, config) in &rows {
                let config: Json = serde_json::from_str(config).map_err(Error::internal)?;
                let mut add = |place: &str, problem| {
                    found.push(BrokenAddress {
                        table: "formfunnels".to_owned(),
                        id: funnel.to_string(),
                        column: format!("node {node}: {place}"),
                        problem,
                    });
                };
                if kind == "end" {
                    for name in ["redirect_url", "url"] {
                        let text = config[name].as_str().filter(|text| !text.is_empty());
                        if let Some(problem) = text.and_then(|t| Address::Redirect.problem(t)) {
                            add(name, problem);
                        }
                    }
                }
                for fault in broken_links(config.get("fields").unwrap_or(&json!([]))) {
                    add(&format!("fields{}", fault.field), fault.message);
                }
            }
        }
        found.truncate(most);
        Ok(found)
    }

    /// Deletes a funnel with its nodes, edges, mail rules, versions and submissions, and the mails
    /// that these caused. The first of its language versions becomes the base of the others. A
    /// funnel with more than 500 submissions is hidden at once and sends no more mails, and its
    /// rows are removed in the background. `rev`: the revision that the author has seen.
    pub async fn delete(
        &self,
        change: &mut Change,
        which: WhichFunnel,
        rev: Option<i64>,
    ) -> Result<i64> {
        let id = self.hold_at_rev(change, Some(which), rev).await?.id;
        if let Some(heir) = sql::first_version(change, id).await? {
            sql::hand_on(change, id, heir).await?;
        }
        // The funnel comes before its submissions: every change of a submission locks its
        // funnel first.
        change.run_one(BURY, args![id]).await?;
        let (has_more,): (bool,) = change.one(HAS_MORE, args![id, BATCH]).await?;
        if has_more {
            change.run(DROP_WAITING, args![id]).await?;
        } else {
            empty(change, id).await?;
            if !sql::delete(change, id).await? {
                return Err(Error::internal("a held funnel is gone"));
            }
        }
        change.audit_row("delete", TABLE, id, &[]).await?;
        Ok(id)
    }

    /// Removes the remains of deleted funnels and of deleted keys, and unneeded versions beyond
    /// `retention.funnel_versions`. Returns the number of rows.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let base = &self.0.base;
        let kept = base.settings().retention.funnel_versions;
        let versions = versions::expire(base, kept).await?;
        Ok(versions + self.sweep_deleted().await? + self.expire_owned().await?)
    }

    /// Removes the remains of deleted funnels, some submissions in each change, so that no other
    /// change waits for long. Returns the number of submissions.
    async fn sweep_deleted(&self) -> Result<u64> {
        let base = &self.0.base;
        let mut all = 0;
        while let Some((id,)) = base.db().optional::<(i64,)>(BURIED, args![]).await? {
            let mut change = base.change(Actor::System).await?;
            let removed = empty(&mut change, id).await?;
            if removed < BATCH.unsigned_abs() {
                sql::delete(&mut change, id).await?;
            }
            change.commit().await?;
            all += removed;
        }
        Ok(all)
    }
}

/// The first $2 submissions of a funnel.
macro_rules! first {
    () => {
        "(select id from cms_formfunnel_submissions where funnel_id = $1 \
         order by started_at, id limit $2)"
    };
}

statements! {
    /// Whether a funnel has more than $2 submissions.
    HAS_MORE = "select exists (select 1 from cms_formfunnel_submissions where funnel_id = $1 \
                limit 1 offset $2)";
    /// Hides the funnel and frees its slug. Slugs of authors have no colon, so none equals
    /// the new slug.
    BURY = "update cms_formfunnels set status = 'deleted', slug = 'deleted:' || id, \
            base_id = null, published_version_id = null, live_slug = null, \
            live_language = null, live_base_id = null where id = $1";
    /// A deleted funnel whose rows are still there.
    BURIED = "select id from cms_formfunnels where status = 'deleted' order by id limit 1";
    /// Removes waiting mails of a funnel's visits. Such mails are few: the index of the log finds
    /// them, and each looks for its submission.
    DROP_WAITING = "delete from cms_mails where lower(status) in ('queued', 'sending') \
                    and exists (select 1 from cms_formfunnel_submissions s where s.funnel_id = $1 \
                    and s.id = case when cms_mails.cause like 'funnel submission %' \
                    then cast(substr(cms_mails.cause, 19) as bigint) end)";
    EMPTY_MAILS = concat!(
        "delete from cms_mails where cause in (select 'funnel submission ' || f.id from ",
        first!(), " f)"
    );
    EMPTY = concat!("delete from cms_formfunnel_submissions where id in ", first!());
}

/// Removes some submissions of a funnel with the mails that they caused. Returns how many.
async fn empty(change: &mut Change, id: i64) -> Result<u64> {
    change.run(EMPTY_MAILS, args![id, BATCH]).await?;
    change.run(EMPTY, args![id, BATCH]).await
}
