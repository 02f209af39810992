//! The API inside an axum application: its own routes beside ours, one listener.
//!
//! `cargo run -p cms-examples --example axum`

use axum::{Router, routing::get};
use cms_core::{Cms, settings::Settings};
use cms_http::Api;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    let api = Api::new(Cms::open(Settings::default()).await?)?;
    axum::serve(listener, application(api)).await?;
    Ok(())
}

/// `Api` is a tower service, so it can be the fallback: whatever the application does not answer,
/// the CMS does.
fn application(api: Api) -> Router {
    Router::new().route("/hello", get(async || "from the application")).fallback_service(api)
}

#[tokio::test]
async fn both_answer() -> Result<(), Failure> {
    use http_body_util::BodyExt;
    use tower_service::Service;

    let folder = tempfile::tempdir()?;
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().join("data");
    let mut application = application(Api::new(Cms::open(settings).await?)?);
    for (path, expected) in
        [("/hello", "from the application"), ("/api/settings", r#"{"data":{}}"#)]
    {
        let request = http::Request::get(path).body(axum::body::Body::empty())?;
        let body = application.call(request).await?.into_body().collect().await?.to_bytes();
        assert_eq!(body, expected);
    }
    Ok(())
}
