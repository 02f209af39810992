//! The core without HTTP: typed calls, several writes in one transaction, and a key with few
//! rights.
//!
//! `cargo run -p cms-examples --example embed`

use cms_core::{
    Actor, Cms, Result,
    access::Right,
    items::{IfMatch, Query},
    keys::NewApiKey,
    settings::Settings,
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(cms_core::Error::internal)?;
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().to_owned();
    let cms = Cms::open(settings).await?;
    println!("{}", tour(&cms).await?);
    cms.close().await;
    Ok(())
}

/// Publishes a page and makes a key that may read it: both, or neither.
async fn tour(cms: &Cms) -> Result<String> {
    let mut change = cms.change(Actor::Operator).await?;
    let page = json!({"title": "Hello", "url_rewrite": "/", "view": "home"});
    let written = cms
        .items()
        .create(&mut change, "pages", page.as_object().unwrap_or(&serde_json::Map::new()))
        .await?;
    let published = json!({"published": true});
    let published = published.as_object().cloned().unwrap_or_default();
    cms.items()
        .update(&mut change, "pages", &written.id, None, &IfMatch::Nothing, &published)
        .await?;
    let mut new = NewApiKey::new("reader");
    new.expires_on = Some("2030-01-01".to_owned());
    new.rights = vec![Right::parse("GET /api/pages").map_err(cms_core::Error::internal)?];
    let (key, value) = cms.keys().create(&mut change, &[Right::everything()], new).await?;
    change.commit().await?;

    let holder = cms.keys().identify(value.expose()).await?;
    assert_eq!((holder.id, holder.name.as_str()), (key.id, "reader"));
    let query = Query::parse([("filter[published][eq]", "true"), ("fields", "title,url_rewrite")])?;
    let pages = cms.items().list("pages", &query).await?.records()?;
    Ok(pages.iter().filter_map(|page| page["title"].as_str()).collect())
}

#[tokio::test]
async fn the_page_is_there() -> Result<()> {
    let folder = tempfile::tempdir().map_err(cms_core::Error::internal)?;
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().to_owned();
    let cms = Cms::open(settings).await?;
    assert_eq!(tour(&cms).await?, "Hello");
    Ok(())
}
