//! A site whose routes are called as a program calls them.

use bytes::Bytes;
use cms_core::{Actor, Cms, access::Right, keys::NewApiKey, settings::Settings};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value as Json, json};

use crate::{Api, Body as ReplyBody};

pub(super) struct Site {
    pub(super) api: Api,
    pub(super) key: String,
    _folder: tempfile::TempDir,
}

impl Site {
    pub(super) async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().to_owned();
        settings.http.body_limit_bytes = 2000;
        settings.http.request_timeout_s = 1;
        settings.media.max_bytes = 400_000;
        let api = Api::new(Cms::open(settings).await.expect("a site")).expect("an API");
        let mut site = Self { api, key: String::new(), _folder: folder };
        site.key = site.key(&["*"]).await;
        site
    }

    pub(super) async fn key(&self, rights: &[&str]) -> String {
        let rights = rights.iter().map(|right| Right::parse(right).expect("a right"));
        let mut new = NewApiKey::new("test");
        new.rights = rights.collect();
        let mut change = self.api.cms().change(Actor::Operator).await.expect("a change");
        let all = [Right::everything()];
        let (_, key) = self.api.cms().keys().create(&mut change, &all, new).await.expect("a key");
        change.commit().await.expect("a commit");
        key.expose().to_owned()
    }

    pub(super) async fn ask<B>(
        &self,
        line: &str,
        key: &str,
        headers: &[(&str, &str)],
        body: B,
    ) -> Answer
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (method, at) = line.split_once(' ').expect("method and address");
        let at = format!("/api/backend/kinds/{at}");
        let mut request = Request::builder().method(method).uri(at).header("x-api-key", key);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).expect("a request");
        Answer::of(self.api.handle(request).await).await
    }

    pub(super) async fn send(&self, line: &str, kind: &str, body: impl Into<Bytes>) -> Answer {
        self.ask(line, &self.key, &[("content-type", kind)], Full::new(body.into())).await
    }

    pub(super) async fn get(&self, line: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask(line, &self.key, headers, Full::new(Bytes::new())).await
    }
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: http::HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) async fn of(response: Response<ReplyBody>) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Self { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    pub(super) fn json(&self) -> Json {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub(super) fn data(&self) -> Json {
        assert_eq!(self.status, 200, "{:?}", self.body);
        self.json()["data"].clone()
    }

    #[track_caller]
    pub(super) fn is_refused(&self, status: u16, code: &str, detail: &str) {
        let json = self.json();
        assert_eq!((self.status, &json["error"]), (status, &json!(code)), "{json}");
        assert!(json["detail"].as_str().is_some_and(|text| text.contains(detail)), "{json}");
    }
}
