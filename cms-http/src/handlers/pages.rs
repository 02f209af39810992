//! `/api/pages`, `/api/menu`, `/api/settings`, `/sitemap.xml`

use cms_core::{
    Result,
    items::etag,
    pages::{self, MenuItem},
};
use http::header;

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, OneOrPage, Record, Text,
        envelope::Meta,
        pages::{Anything, Wanted, WhichFile, WhichMenu},
    },
};

pub(crate) async fn read(call: &Call<'_>, wanted: Wanted) -> Result<Success<OneOrPage<Record>>> {
    let language = wanted.language.as_deref();
    let one = pages::Wanted {
        id: wanted.id.as_deref(),
        view: wanted.view.as_deref(),
        url: wanted.url.as_deref(),
        language,
    };
    let pages = call.cms.pages();
    if one.id.or(one.view).or(one.url).is_some() {
        let json = pages.find(&one).await?;
        return Ok(Success::data(&json).with(header::ETAG, etag(&json)));
    }
    let list = pages.list(language, &wanted.limit.after(wanted.cursor.as_deref())).await?;
    let meta = Meta { limit: list.limit, next: list.next, total: None };
    Success::page(&list.records, &meta)?.tagged()
}

pub(crate) async fn menu(
    call: &Call<'_>,
    which: WhichMenu,
) -> Result<Success<Data<Vec<MenuItem>>>> {
    let name = which.name.as_deref().unwrap_or("main");
    let data = call.cms.pages().menu(name, which.language.as_deref()).await?;
    Success::from(Data { data }).tagged()
}

pub(crate) async fn settings(call: &Call<'_>, _: Anything) -> Result<Success<Data<Record>>> {
    Success::data(&call.cms.pages().settings().await?).tagged()
}

pub(crate) async fn sitemap(call: &Call<'_>, which: WhichFile) -> Result<Text> {
    call.cms.pages().sitemap(&base(call), which.after).await.map(Text)
}

/// Absolute links are always https, on the site's own address or the request's host.
fn base(call: &Call<'_>) -> String {
    let host = || {
        call.request
            .headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or("localhost")
    };
    call.cms.settings().site_url.clone().unwrap_or_else(|| format!("https://{}", host()))
}
