//! Funnels listed, and one.

use super::{
    draft::Stored,
    missing,
    sql::{self, From},
};
use crate::{
    Change, Code, Error, Page, Paging, Result,
    funnels::{
        Funnels,
        filter::FunnelFilter,
        record::{Funnel, FunnelDetail, WhichFunnel},
    },
    ground::ListName,
};

impl Funnels {
    /// Funnels by id, a page at a time.
    ///
    /// # Errors
    /// `bad_query` for a foreign cursor.
    pub async fn list(&self, filter: &FunnelFilter, paging: &Paging) -> Result<Page<Funnel>> {
        let base = &self.0.base;
        let list = base.list(ListName::Funnels).of(filter);
        let read = async |after, limit| sql::list(base.db(), filter, after, limit).await;
        Page::by_id(list, paging, read, |funnel| funnel.id).await
    }

    /// A funnel with its nodes, edges and mail rules.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn get(&self, which: &WhichFunnel) -> Result<FunnelDetail> {
        self.detail(&mut From::Db(self.0.base.db()), which).await
    }

    pub(super) async fn detail(
        &self,
        from: &mut From<'_>,
        which: &WhichFunnel,
    ) -> Result<FunnelDetail> {
        let funnel = self.find(from, which).await?;
        let Stored { nodes, edges, rules } = Stored::read(from, funnel.id).await?;
        Ok(FunnelDetail { funnel, nodes, edges, email_routings: rules })
    }

    /// A funnel without what is drawn. Of several languages the first that was made.
    pub(in crate::funnels) async fn find(
        &self,
        from: &mut From<'_>,
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

    /// The funnel, held until the change ends.
    pub(super) async fn hold(&self, change: &mut Change, which: &WhichFunnel) -> Result<Funnel> {
        let mut from = From::Change(change);
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
        self.find(&mut From::Change(change), &WhichFunnel::Id(id)).await
    }
}
