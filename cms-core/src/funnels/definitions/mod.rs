//! Funnels as their authors draw them. This file lists funnels and reads one.
//!
//! ```text
//! input      what is sent: a new funnel, a save, mail rules
//! draft      a funnel as it would be: judged, tidied, written
//! create     new, duplicated          save      saved, mail rules alone
//! publish    versions frozen          versions  versions read again
//! delete     with all that was sent   drawing   what a simulator walks through
//! addresses  stored values that are no addresses
//! ```

mod addresses;
mod create;
pub(super) mod delete;
mod draft;
mod drawing;
mod input;
mod publish;
mod save;
pub(super) mod sql;
pub(super) mod versions;

pub use create::Created;
pub(super) use drawing::Drawing;
pub use input::{Duplicated, NewFunnel, Routings, Saved};
pub use publish::Published;
pub use save::{SavedFunnel, SavedRoutings};
pub(crate) use versions::VersionCache;

use self::{draft::Stored, sql::Source};
use super::{
    Funnels,
    record::{Funnel, FunnelDetail, FunnelLanguage, WhichFunnel},
};
use crate::{
    Change, Code, Error, Page, Result,
    items::{Query, eq, ne, one_of},
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
        self.detail(&mut Source::Db(self.0.base.db()), which).await
    }

    async fn detail(&self, from: &mut Source<'_>, which: &WhichFunnel) -> Result<FunnelDetail> {
        let funnel = self.find(from, which).await?;
        let Stored { nodes, edges, rules } = Stored::read(from, funnel.id).await?;
        Ok(FunnelDetail { funnel, nodes, edges, email_routings: rules })
    }

    /// A funnel without its nodes, edges and mail rules. If funnels of several languages have the
    /// slug, the first that was created.
    pub(super) async fn find(&self, from: &mut Source<'_>, which: &WhichFunnel) -> Result<Funnel> {
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
        let mut from = Source::Change(change);
        let id = self.find(&mut from, which).await?.id;
        if let WhichFunnel::Slug(slug) = which
            && let several @ [_, _, ..] = &sql::by_slug(&mut from, slug).await?[..]
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
        self.find(&mut Source::Change(change), &WhichFunnel::Id(id)).await
    }
}
