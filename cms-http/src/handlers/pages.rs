//! `/api/pages`, `/api/menu`, `/api/settings`, `/sitemap.xml`

use cms_core::{
    Code, Error, Result, Secret,
    items::etag,
    pages::{self, ListedPage, MenuItem, Shown, ShownPage},
};
use http::{HeaderName, header};

use super::formfunnel::plain;
use crate::{
    call::Call,
    request::bad,
    success::Success,
    wire::{
        Data, OneOrPage, Record, Text,
        envelope::Meta,
        pages::{AtAddress, DraftLink, Redirected, Wanted, WhichFile, WhichMenu},
        parameters::NoQuery,
    },
};

const NO_STORE: &str = "no-store";
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

pub(crate) async fn read(
    call: &Call<'_>,
    wanted: Wanted,
) -> Result<Success<OneOrPage<ListedPage, AtAddress>>> {
    let language = wanted.language.as_deref();
    let mut one = pages::Wanted::default();
    one.id = wanted.id.as_deref();
    one.view = wanted.view.as_deref();
    one.url = wanted.url.as_deref();
    one.language = language;
    if [one.id, one.view, one.url].iter().flatten().count() > 1 {
        return Err(bad("Name the page by one of id, view and url."));
    }
    let pages = call.cms.pages();
    if one.id.or(one.view).or(one.url).is_some() {
        let found = pages.find(&one, &base(call)).await;
        let left = |error: &Error| error.code() == Code::NotFound && one.id.or(one.view).is_none();
        if let (Some(url), Some(_)) = (one.url, found.as_ref().err().filter(|error| left(error)))
            && let Some(redirect) = pages.redirect(url, language).await?
        {
            let data = AtAddress::Redirect(Redirected { redirect });
            // Not kept: the service counts each use of a redirect.
            return Ok(
                Success::from(OneOrPage::One(Data { data })).with(header::CACHE_CONTROL, NO_STORE)
            );
        }
        let Shown { page, reads, .. } = found?;
        let json = serde_json::to_string(&page).map_err(Error::internal)?;
        let found = Success::data(&json).with(header::ETAG, etag(&json));
        return Ok(match reads {
            Some(reads) => found.reading(reads),
            // The page shows something that no epoch counts, so no cache may keep it.
            None => found.with(header::CACHE_CONTROL, NO_STORE),
        });
    }
    let paging = wanted.limit.after(wanted.cursor, wanted.count);
    let list = pages.list(language, &paging).await?;
    let meta = Meta { limit: list.limit, next: list.next.clone(), total: list.total };
    Success::page(list.joined(), &meta)?.tagged()
}

/// A draft for people without a login. No cache keeps it, and no search engine lists it.
pub(crate) async fn draft(call: &Call<'_>, link: DraftLink) -> Result<Success<Data<ShownPage>>> {
    let token = link.token.unwrap_or_else(|| Secret::new(""));
    let data = call.cms.pages().preview(&token, &base(call)).await?.page;
    Ok(Success::from(Data { data })
        .with(header::CACHE_CONTROL, NO_STORE)
        .with(ROBOTS, "noindex, nofollow")
        .with(header::REFERRER_POLICY, "no-referrer"))
}

pub(crate) async fn menu(
    call: &Call<'_>,
    which: WhichMenu,
) -> Result<Success<Data<Vec<MenuItem>>>> {
    let name = which.name.as_deref().unwrap_or("main");
    let data = call.cms.pages().menu(name, which.language.as_deref()).await?;
    Success::from(Data { data }).tagged()
}

pub(crate) async fn settings(call: &Call<'_>, _: NoQuery) -> Result<Success<Data<Record>>> {
    Success::data(&call.cms.pages().settings().await?).tagged()
}

pub(crate) async fn sitemap(call: &Call<'_>, which: WhichFile) -> Result<Text> {
    call.cms.pages().sitemap(&base(call), which.after).await.map(Text)
}

/// The address of the API, for links to it.
pub(super) fn api(call: &Call<'_>) -> String {
    let set = call.cms.settings().api_url.as_deref().map(|url| url.trim_end_matches('/'));
    set.map_or_else(|| [&base(call), call.mount.base()].concat(), str::to_owned)
}

/// The beginning of absolute links: https, with the site's own address or the request's host.
pub(super) fn base(call: &Call<'_>) -> String {
    let host = || {
        call.request
            .headers
            .get(header::HOST)
            .and_then(|host| plain(host.to_str().ok()?))
            .unwrap_or_else(|| "localhost".to_owned())
    };
    call.cms.settings().site_url.clone().unwrap_or_else(|| format!("https://{}", host()))
}
