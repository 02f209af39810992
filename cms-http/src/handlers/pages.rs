//! `/api/pages`, `/api/menu`, `/api/settings`, `/sitemap.xml`

use cms_core::{Result, items::etag, pages::Wanted};
use http::{HeaderValue, StatusCode, header};

use crate::{call::Call, reply::Reply};

pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    let (request, pages) = (call.request, call.cms.pages());
    let language = request.parameter("language");
    let wanted = Wanted {
        id: request.parameter("id"),
        view: request.parameter("view"),
        url: request.parameter("url"),
        language,
    };
    if wanted.id.or(wanted.view).or(wanted.url).is_some() {
        let json = pages.find(&wanted).await?;
        return Ok(Reply::data(StatusCode::OK, &json).with(header::ETAG, &etag(&json)));
    }
    let paging = request.paging()?;
    let list = pages.list(language, &paging).await?;
    Ok(tagged(Reply::list(&list.records, list.limit, list.next.as_deref(), None)))
}

pub(crate) async fn menu(call: &Call<'_>) -> Result<Reply> {
    let name = call.request.parameter("name").unwrap_or("main");
    let items = call.cms.pages().menu(name, call.request.parameter("language")).await?;
    Ok(tagged(Reply::of(StatusCode::OK, &items)?))
}

pub(crate) async fn settings(call: &Call<'_>) -> Result<Reply> {
    Ok(tagged(Reply::data(StatusCode::OK, &call.cms.pages().settings().await?)))
}

pub(crate) async fn sitemap(call: &Call<'_>) -> Result<Reply> {
    let xml = call.cms.pages().sitemap(&base(call)).await?;
    Ok(Reply::new(StatusCode::OK, HeaderValue::from_static("application/xml"), xml))
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

fn tagged(reply: Reply) -> Reply {
    let tag = etag(&String::from_utf8_lossy(&reply.body));
    reply.with(header::ETAG, &tag)
}
