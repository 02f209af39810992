//! `/api/backend/pagebuilder/widgets`, `icon` and `components`

use std::sync::Arc;

use bytes::Bytes;
use cms_core::{
    Code, Error, Result, crypto,
    pages::widgets::{Components, PickedWidget},
};
use http::{HeaderValue, StatusCode, header};

use super::page_by_name;
use crate::{
    call::Call,
    reply::{Reply, file::attachment},
    success::Success,
    wire::{
        Data, OneOrPage, Text,
        parameters::{Listing, NoQuery},
        widgets::{WhichIcon, WhichWidgets},
    },
};

/// A browser must not run anything in an icon, or load anything for it.
const INERT: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

pub(crate) async fn read(call: &Call<'_>, which: WhichWidgets) -> Result<OneOrPage<PickedWidget>> {
    let widgets = call.cms.pages().widgets();
    let may_read = |table: &str| call.caller().may_read(call.cms, table);
    if let Some(name) = &which.widget {
        let found: Vec<_> = widgets.find(name).into_iter().collect();
        let shown = widgets.picker(&found, may_read).await?.pop();
        let data = shown.ok_or_else(|| missing(name))?;
        return Ok(OneOrPage::One(Data { data }));
    }
    let places: Vec<_> = widgets.all().into_iter().enumerate().collect();
    let name = |(place, _): &(usize, Arc<_>)| format!("{place:08}");
    let listing = Listing { limit: which.limit, cursor: which.cursor, count: which.count };
    let page = page_by_name(call, places, name, listing)?;
    let found: Vec<_> = page.data.into_iter().map(|(_, widget)| widget).collect();
    let data = widgets.picker(&found, may_read).await?;
    Ok(OneOrPage::Page(crate::wire::Page { data, meta: page.meta }))
}

fn missing(name: &str) -> Error {
    let detail = format!("There is no widget {name:?}: `cms widgets list` shows all.");
    Error::new(Code::NotFound, detail)
}

/// The icon of a widget. Its path comes from the registry, never from the requested name.
pub(crate) async fn icon(call: &Call<'_>, which: WhichIcon) -> Result<Success<Text>> {
    let icon = call.cms.pages().widgets().icon(&which.widget).await?;
    let end = icon.file.rsplit('/').next().unwrap_or_default().to_owned();
    let tag = format!("\"{}\"", crypto::sha256_hex(&icon.content));
    let content = Bytes::from(icon.content.into_owned());
    let shown = Reply::new(StatusCode::OK, HeaderValue::from_static(icon.media_type), content)
        .with(header::ETAG, &tag)
        .with(header::CONTENT_DISPOSITION, &attachment(&end))
        .with(header::CACHE_CONTROL, "private, max-age=300")
        .with(header::CONTENT_SECURITY_POLICY, INERT);
    Ok(Success::written(shown))
}

pub(crate) async fn components(call: &Call<'_>, _: NoQuery) -> Result<Data<Components>> {
    Ok(Data { data: call.cms.pages().widgets().components().await? })
}
