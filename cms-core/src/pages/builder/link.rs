//! Links that show a draft to people without a login, for a limited time. Each link is a row, so
//! that it can be listed and revoked. Of its token only a digest is stored.

use data_encoding::BASE64URL_NOPAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    hold::no_page,
    sql::{actor, exists},
};
use crate::{
    AuditActor, AuditEntry, Change, Code, Error, Page, Paging, Result, Secret,
    db::{args, read, record},
    ground::ListName,
    jobs,
    pages::Pages,
    rfc3339,
};

/// Default lifetime of a link in seconds: a day.
const TTL_S: i64 = 86_400;
/// Maximum lifetime: 30 days.
const MOST_TTL_S: i64 = 30 * 86_400;
/// Maximum length of a note, in characters.
const MOST_NOTE: usize = 200;

/// A new link with its token, which is shown only here.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageLink")]
#[non_exhaustive]
pub struct Link {
    /// Its id.
    pub id: i64,
    /// The page.
    pub page_id: i64,
    /// For whom it is.
    pub note: Option<String>,
    /// Path and query of the draft.
    #[serde(serialize_with = "Secret::send")]
    pub path: Secret,
    /// The whole address, on the site's own address or the request's host.
    #[serde(serialize_with = "Secret::send")]
    pub url: Secret,
    /// When it ends, RFC 3339 in UTC.
    pub expires_at: String,
}

/// A link that shows a draft, without its token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MadePageLink")]
#[non_exhaustive]
pub struct MadeLink {
    /// Its id.
    pub id: i64,
    /// The page.
    pub page_id: i64,
    /// For whom it is.
    pub note: Option<String>,
    /// Who made it.
    pub actor: AuditActor,
    /// When.
    pub created_at: String,
    /// When it ends.
    pub expires_at: String,
}

record! { MadeLink: link_columns {
    id: "id",
    page_id: "page_id",
    note: "note",
    actor: "actor_kind" + "actor_id" + "actor_name" => actor,
    created_at: "created_at" => read::time,
    expires_at: "expires_at" => read::time,
} }

pub(crate) mod sql {
    crate::db::statements! {
        /// Locks the page: a concurrent deletion of the page waits, or this finds no row.
        KEEP_PAGE = "update cms_pages set draft_rev = draft_rev where id = $1 returning id";
        ADD = "insert into cms_page_links (page_id, digest, note, actor_kind, actor_id, \
               actor_name, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8) \
               returning id";
        LIST = concat!(
            "select ", link_columns!(), " from cms_page_links where page_id = $1 and id < $2 and \
             expires_at > $4 order by id desc limit $3"
        );
        REVOKE = "delete from cms_page_links where id = $1 and expires_at > $2 returning id";
        OPENED = "select page_id from cms_page_links where digest = $1 and expires_at > $2";
        EXPIRE = "delete from cms_page_links where id in (select id from cms_page_links \
                  where expires_at <= $1 order by expires_at limit 1000)";
    }
}

impl Pages {
    /// Makes a link to the draft of a page, for `ttl_s` seconds (a day by default). The link shows
    /// the draft as it is when it is opened. `note` says for whom the link is. `site` is the
    /// site's address.
    ///
    /// # Errors
    /// `not_found`; `validation_failed` for a time or a note that is too long. As every write.
    pub async fn link(
        &self,
        change: &mut Change,
        page: i64,
        (ttl_s, note): (Option<i64>, Option<&str>),
        site: &str,
    ) -> Result<Link> {
        let ttl_s = ttl_s.unwrap_or(TTL_S);
        if !(1..=MOST_TTL_S).contains(&ttl_s) {
            let message = format!("1 to {MOST_TTL_S} seconds are expected");
            return Err(Error::invalid_field("ttl_s", "range", message));
        }
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        if note.is_some_and(|note| note.chars().count() > MOST_NOTE) {
            let message = format!("at most {MOST_NOTE} characters");
            return Err(Error::invalid_field("note", "range", message));
        }
        if note.is_some_and(|note| note.chars().any(char::is_control)) {
            let message = "one line without control characters is expected";
            return Err(Error::invalid_field("note", "format", message));
        }
        let kept: Option<(i64,)> = change.optional(sql::KEEP_PAGE, args![page]).await?;
        kept.ok_or_else(|| no_page(page))?;
        let token = BASE64URL_NOPAD.encode(&self.base().random().bytes::<32>()?);
        let now = change.now();
        let expires = (now / 1000 + ttl_s) * 1000;
        let (kind, by, name) = change.actor().columns();
        let args = args![page, self.digest(&token), note, kind, by, name, now, expires];
        let (id,): (i64,) = change.one(sql::ADD, args).await?;
        let columns = &["page_id", "note", "expires_at"];
        audited(change, "create", id, columns).await?;
        let path = format!("/api/pages/draft?token={token}");
        let url = Secret::new(format!("{site}{path}"));
        let (note, expires_at) = (note.map(str::to_owned), rfc3339(expires));
        Ok(Link { id, page_id: page, note, path: Secret::new(path), url, expires_at })
    }

    /// The valid links to the draft of a page, newest first.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn links(&self, page: i64, paging: &Paging) -> Result<Page<MadeLink>> {
        let base = self.base();
        exists(base.db(), page).await?.then_some(()).ok_or_else(|| no_page(page))?;
        let (list, now) = (base.list(ListName::PageLinks).of(page), base.clock().now());
        let selected = |before: i64, limit: i64| args![page, before, limit, now];
        let read = async |before, limit| base.db().all(sql::LIST, selected(before, limit)).await;
        let made = Page::newest_first(list, paging, read, |one: &MadeLink| one.id).await?;
        let all = selected(i64::MAX, i64::MAX);
        made.counted(paging, async || base.db().count_rows(sql::LIST, all).await).await
    }

    /// Revokes a link.
    ///
    /// # Errors
    /// `not_found`, also for a link that has expired. As every write.
    pub async fn unlink(&self, change: &mut Change, id: i64) -> Result<()> {
        let args = args![id, change.now()];
        let revoked: Option<(i64,)> = change.optional(sql::REVOKE, args).await?;
        revoked.ok_or_else(|| {
            Error::new(Code::NotFound, format!("There is no link with id {id}, or it has ended."))
        })?;
        audited(change, "delete", id, &[]).await
    }

    /// Removes expired links. Returns their number.
    pub(super) async fn expire_links(&self) -> Result<u64> {
        jobs::expire(self.base(), &[(sql::EXPIRE, self.base().clock().now())]).await
    }

    /// The page that a link leads to.
    ///
    /// # Errors
    /// `not_found`, so that strangers do not learn which pages exist.
    pub(crate) async fn admit_link(&self, token: &Secret) -> Result<i64> {
        let args = args![self.digest(token.expose()), self.base().clock().now()];
        let opened: Option<(i64,)> = self.base().db().optional(sql::OPENED, args).await?;
        opened.map(|(page,)| page).ok_or_else(|| {
            let detail = "The link is not valid, or has ended: ask for a new one.";
            Error::new(Code::NotFound, detail)
        })
    }

    /// The digest that is stored for a token. A reader of the database cannot open a link with it.
    /// Another key of the site invalidates all links.
    fn digest(&self, token: &str) -> String {
        self.base().cursors().digest("draft of a page", token)
    }
}

async fn audited(
    change: &mut Change,
    action: &'static str,
    id: i64,
    columns: &[&str],
) -> Result<()> {
    let id = id.to_string();
    change.audit(AuditEntry { action, table: "page_links", id: &id, columns }).await
}
