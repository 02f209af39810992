//! Routes of each kind of body and reply, which no room has yet, from the line in the table to the
//! reply: path parameters, `?action=`, rights for each action, limits, statuses.

mod site;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use serde_json::json;

use self::site::{Answer, Site};
use super::*;

#[expect(unreachable_pub, reason = "wire types are public where they are no test's")]
mod wire {
    pub(crate) mod kinds {
        use schemars::JsonSchema;
        use serde::{Deserialize, Serialize};

        use crate::wire::{Data, Form, Multipart, NoBody, Octets, Text};

        crate::wire::operations! {
            /// A form.
            SendForm: In, Form<Order> => Data<serde_json::Value>;
            /// A text.
            SendText: In, Text => Data<serde_json::Value>;
            /// A form with files.
            SendFiles: In, Multipart<Order> => Data<serde_json::Value>;
            /// Bytes.
            SendOctets: In, Octets => Data<serde_json::Value>;
            /// A table.
            Export: In, NoBody => Text;
            /// A file.
            Show: In, NoBody => Text;
        }

        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct In {
            /// From the path.
            pub(crate) folder: String,
        }

        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Order {
            pub(crate) name: String,
            pub(crate) count: Option<i64>,
        }
    }
}

mod handlers {
    pub(crate) mod kinds {
        use cms_core::Result;
        use futures_util::{StreamExt as _, stream};
        use http::HeaderValue;
        use serde_json::{Value as Json, json};
        use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

        use super::super::wire::kinds::{In, Order};
        use crate::{
            call::Call,
            reply::{csv, file},
            success::Success,
            wire::{Data, Form, Multipart, Octets, Text},
        };

        pub(crate) async fn form(_: &Call<'_>, at: In, form: Form<Order>) -> Result<Data<Json>> {
            Ok(Data { data: json!({"folder": at.folder, "order": form.0}) })
        }

        pub(crate) async fn text(_: &Call<'_>, at: In, text: Text) -> Result<Data<Json>> {
            Ok(Data { data: json!({"folder": at.folder, "text": text.0}) })
        }

        pub(crate) async fn files(
            _: &Call<'_>,
            at: In,
            form: Multipart<Order>,
        ) -> Result<Data<Json>> {
            let mut files = Vec::new();
            for mut file in form.files {
                let mut content = Vec::new();
                file.content.read_to_end(&mut content).await.expect("its content");
                assert_eq!(content.len() as u64, file.size);
                let start = String::from_utf8_lossy(&content[..content.len().min(3)]).into_owned();
                files.push(json!([file.field, file.name, file.content_type, file.size, start]));
            }
            Ok(Data { data: json!({"folder": at.folder, "order": form.fields, "files": files}) })
        }

        pub(crate) async fn octets(_: &Call<'_>, at: In, octets: Octets) -> Result<Data<Json>> {
            let (kind, mut parts, mut size) = (octets.content_type().to_owned(), octets.parts(), 0);
            while let Some(part) = parts.next().await {
                size += part?.len();
            }
            Ok(Data { data: json!({"folder": at.folder, "kind": kind, "size": size}) })
        }

        pub(crate) async fn export(_: &Call<'_>, at: In) -> Result<Success<Text>> {
            let rows = (0..200).map(move |n| Ok(vec![n.to_string(), format!("={}", at.folder)]));
            let names = vec!["id".to_owned(), "folder".to_owned()];
            Ok(Success::streamed(csv::rows(names, stream::iter(rows))))
        }

        pub(crate) async fn show(call: &Call<'_>, at: In) -> Result<Success<Text>> {
            let mut content = tokio::fs::File::from_std(tempfile::tempfile().expect("a file"));
            content.write_all(&b"0123456789".repeat(20_000)).await.expect("its content");
            content.rewind().await.expect("its beginning");
            let file = file::File {
                content: file::Content::File(content),
                length: 200_000,
                media_type: HeaderValue::from_static("image/png"),
                etag: HeaderValue::from_static("\"one\""),
                save_as: Some(at.folder),
            };
            Ok(Success::written(file.reply(call.request).await?))
        }
    }
}

routes! {
    "/api/backend/kinds/{folder}" ? action = "form" Area("pages_pages") kinds {
        POST SendForm form 200
    };
    "/api/backend/kinds/{folder}" ? action = "text" User kinds { POST SendText text 200 };
    "/api/backend/kinds/{folder}" ? action = "files" User kinds { POST SendFiles files 200 };
    "/api/backend/kinds/{folder}" ? action = "octets" User kinds { POST SendOctets octets 200 };
    "/api/backend/kinds/{folder}" ? action = "export" Area("keys_keys") kinds {
        GET Export export 200 as Csv
    };
    "/api/backend/kinds/{folder}" ? action = "show" User kinds { GET Show show 200 as File };
}

const FORM: &str = "application/x-www-form-urlencoded";
const FILES: &str = "multipart/form-data; boundary=XX";

#[tokio::test]
async fn a_form_is_read_strictly() {
    let (site, line) = (Site::open().await, "POST a%20b?action=form");
    let kind = format!("{FORM}; charset=UTF-8");
    let data = site.send(line, &kind, "name=Ana+%26+B&count=7").await.data();
    assert_eq!(data, json!({"folder": "a b", "order": {"name": "Ana & B", "count": 7}}));
    for (kind, body, status, code, detail) in [
        ("application/json", "{}", 415, "unsupported_media_type", FORM),
        (FORM, "name=a&name=b", 400, "bad_json", "more than once"),
        (FORM, "name=%zz", 400, "bad_json", "percent-encoded"),
        (FORM, "name=a&x=1", 422, "validation_failed", "x"),
        (FORM, "name=a&count=many", 422, "validation_failed", "count is a whole number"),
        (FORM, "", 422, "validation_failed", "name is missing"),
        (FORM, &"a".repeat(2001), 413, "payload_too_large", "2000 bytes"),
    ] {
        let body = body.to_owned();
        site.send(line, kind, body).await.is_refused(status, code, detail);
    }
}

#[tokio::test]
async fn a_text_is_utf_8() {
    let (site, line) = (Site::open().await, "POST a?action=text");
    let data = site.send(line, "text/plain; charset=utf-8", "Gr\u{fc}\u{df}e").await.data();
    assert_eq!(data, json!({"folder": "a", "text": "Gr\u{fc}\u{df}e"}));
    site.send(line, "text/plain", "a\0").await.is_refused(400, "bad_json", "U+0000");
    site.send(line, "text/plain", &b"\xff"[..]).await.is_refused(400, "bad_json", "UTF-8");
    let refused = site.send(line, FORM, "a").await;
    refused.is_refused(415, "unsupported_media_type", "text/plain");
}

fn part(head: &str, content: &str) -> String {
    format!("--XX\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
}

#[tokio::test]
async fn files_come_with_fields_and_within_limits() {
    let (site, line) = (Site::open().await, "POST a?action=files");
    let (name, end) = (part("name=\"name\"", "Ana"), "--XX--\r\n");
    let file = |size: usize| {
        let head = "name=\"cv\"; filename=\"../a%22b%0D%0A%20.pdf\"\r\n\
                    Content-Type: application/pdf";
        part(head, &"x".repeat(size))
    };
    let form = |size| [&name, &file(size), &part("name=\"p\"; filename=\"b\"", ""), end].concat();
    let data = site.send(line, FILES, form(300_000)).await.data();
    let files = |size: usize| {
        let cv = "../a\"b\r\n%20.pdf";
        json!([["cv", cv, "application/pdf", size, "xxx"], ["p", "b", null, 0, ""]])
    };
    assert_eq!((&data["files"], &data["order"]["name"]), (&files(300_000), &json!("Ana")));
    // However it is cut.
    let form = form(3000);
    let pieces: Vec<_> = form.as_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
    let pieces = pieces.into_iter().map(|piece| Ok::<_, cms_core::Error>(Frame::data(piece)));
    let cut = StreamBody::new(stream::iter(pieces));
    let headers = [("content-type", FILES)];
    assert_eq!(site.ask(line, &site.key, &headers, cut).await.data()["files"], files(3000));

    let fields: String = (0..101).map(|n| part(&format!("name=\"f{n}\""), "")).collect();
    let many = part("name=\"a\"; filename=\"a\"", "").repeat(11);
    for (form, status, code, detail) in [
        ([&name, &file(402_000), end].concat(), 413, "payload_too_large", "402000 bytes"),
        ([&fields, end].concat(), 400, "bad_json", "more than 100 parts"),
        ([&name, &many, end].concat(), 400, "bad_json", "more than 10 files"),
        ([&name, &name, end].concat(), 400, "bad_json", "more than once"),
        ([&part("name=\"name\"", "\0"), end].concat(), 400, "bad_json", "U+0000"),
        ([&name, "--XX\r\n"].concat(), 400, "bad_json", ""),
        (part("name=\"x\"", "1") + end, 422, "validation_failed", "x"),
        (String::new(), 400, "bad_json", ""),
    ] {
        site.send(line, FILES, form).await.is_refused(status, code, detail);
    }
    // Headers without an end, in small pieces: refused long before the limit of the whole.
    let head = stream::iter(["--XX\r\n"]).chain(stream::repeat("a: b\r\n").take(60_000));
    let endless = head.map(|text| Ok::<_, cms_core::Error>(Frame::data(Bytes::from(text))));
    let refused = site.ask(line, &site.key, &headers, StreamBody::new(endless)).await;
    refused.is_refused(413, "payload_too_large", "between two parts");
    let refused = site.send(line, "multipart/form-data", name.clone()).await;
    refused.is_refused(400, "bad_json", "oundary");
    site.send(line, FORM, "").await.is_refused(415, "unsupported_media_type", "multipart");
}

#[tokio::test]
async fn octets_are_read_as_they_come() {
    let (site, line) = (Site::open().await, "POST a?action=octets");
    let data = site.send(line, "image/png", vec![0; 400_000]).await.data();
    assert_eq!(data, json!({"folder": "a", "kind": "image/png", "size": 400_000}));
    let refused = site.send(line, "image/png", vec![0; 400_001]).await;
    refused.is_refused(413, "payload_too_large", "400000 bytes");
    // What does not announce its size is counted; what does not come is not waited for.
    let piece = || Ok::<_, cms_core::Error>(Frame::data(Bytes::from(vec![0; 100_000])));
    let long = StreamBody::new(stream::iter((0..5).map(move |_| piece())));
    let refused = site.ask(line, &site.key, &[], long).await;
    refused.is_refused(413, "payload_too_large", "400000 bytes");
    let slow = StreamBody::new(stream::iter([piece()]).chain(stream::pending()));
    let began = tokio::time::Instant::now();
    site.ask(line, &site.key, &[], slow).await.is_refused(408, "timeout", "16384 bytes a second");
    assert!(began.elapsed().as_secs() < 10);
    let headers = [("idempotency-key", "a")];
    let refused = site.ask(line, &site.key, &headers, Full::new(Bytes::new())).await;
    refused.is_refused(400, "bad_query", "Idempotency-Key");
}

#[tokio::test]
async fn a_table_is_streamed_without_formulas() {
    let site = Site::open().await;
    let reply = site.get("GET a?action=export", &[]).await;
    assert_eq!(reply.header("content-type"), "text/csv; charset=utf-8; header=present");
    let text = String::from_utf8(reply.body.to_vec()).expect("text");
    assert!(text.starts_with("id,folder\r\n0,'=a\r\n1,'=a\r\n"), "{text}");
    assert_eq!(text.lines().count(), 201);
}

#[tokio::test]
async fn a_file_is_sent_whole_or_in_part() {
    let (site, line) =
        (Site::open().await, "GET \u{fc}.png?action=show".replace('\u{fc}', "%C3%BC"));
    let whole = site.get(&line, &[]).await;
    assert_eq!((whole.status, whole.body.len()), (200, 200_000));
    let disposition = "attachment; filename=\"_.png\"; filename*=UTF-8''%C3%BC.png";
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-length", "200000"),
        ("accept-ranges", "bytes"),
        ("etag", "\"one\""),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", disposition),
        ("content-range", ""),
    ] {
        assert_eq!(whole.header(name), value, "{name}");
    }
    let head = site.get(&line.replace("GET", "HEAD"), &[("range", "bytes=0-1")]).await;
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, "200000", 0));
    for (headers, status, range, body) in [
        (&[("range", "bytes=3-6")][..], 206, "bytes 3-6/200000", "3456"),
        (&[("range", "bytes=-2")], 206, "bytes 199998-199999/200000", "89"),
        (&[("range", "bytes=199999-")], 206, "bytes 199999-199999/200000", "9"),
        (&[("range", "bytes=3-6"), ("if-range", "\"one\"")], 206, "bytes 3-6/200000", "3456"),
    ] {
        let part = site.get(&line, headers).await;
        let found = (part.status, part.header("content-range"), &part.body[..]);
        assert_eq!(found, (status, range, body.as_bytes()), "{headers:?}");
        assert_eq!(part.header("content-length"), body.len().to_string());
    }
    let beyond = site.get(&line, &[("range", "bytes=200000-")]).await;
    beyond.is_refused(416, "range_not_satisfiable", "200000 bytes");
    assert_eq!(beyond.header("content-range"), "bytes */200000");
    assert_eq!(beyond.header("content-type"), "application/problem+json");
    for headers in [
        &[("range", "bytes=3-6"), ("if-range", "\"two\"")][..],
        &[("range", "bytes=3-6"), ("if-range", "W/\"one\"")],
        &[("range", "bytes=0-1,5-6")],
        &[("range", "bytes=3-6"), ("if-none-match", "\"two\"")],
    ] {
        let all = site.get(&line, headers).await;
        assert_eq!((all.status, all.body.len()), (200, 200_000), "{headers:?}");
    }
    let same = site.get(&line, &[("range", "bytes=3-6"), ("if-none-match", "\"one\"")]).await;
    assert_eq!((same.status, same.body.len(), same.header("content-length")), (304, 0, ""));
}

/// What `/api/backend/keys/check` says of a call with a key.
async fn told(site: &Site, key: &str, line: &str) -> serde_json::Value {
    let id = site.api.cms().keys().identify(key).await.expect("a key").id;
    let (method, at) = line.split_once(' ').expect("method and address");
    let at = format!("/api/backend/kinds/{at}").replace('?', "%3F").replace('&', "%26");
    let asked = format!("/api/backend/keys/check?id={id}&method={method}&path={at}");
    let request = Request::get(asked).header("x-api-key", &site.key).body(Full::<Bytes>::default());
    Answer::of(site.api.handle(request.expect("a request")).await).await.data()
}

#[tokio::test]
async fn each_action_has_rights_of_its_own() {
    let site = Site::open().await;
    let here = "/api/backend/kinds/{folder}";
    let exports = site.key(&[&format!("GET {here}?action=export&folder=a")]).await;
    let forms = site.key(&[&format!("POST {here}?action=form")]).await;
    for (key, line, status) in [
        (&exports, "GET a?action=export", 200),
        (&exports, "HEAD a?action=export", 200),
        (&exports, "GET b?action=export", 401),
        (&exports, "GET a?action=show", 401),
        (&exports, "GET a?action=export&folder=a", 401),
        (&exports, "POST a?action=form", 401),
        (&forms, "POST b?action=form", 422),
        (&forms, "POST b?action=text", 401),
        (&forms, "GET b?action=export", 401),
        (&site.key, "GET b?action=none", 404),
        (&site.key, "GET b", 404),
        (&site.key, "GET b/c?action=export", 404),
        (&site.key, "POST b?action=export", 405),
    ] {
        let reply = site.ask(line, key, &[("content-type", FORM)], Full::new(Bytes::new())).await;
        assert_eq!(reply.status, status, "{line}: {:?}", reply.body);
        let told = told(&site, key, line).await;
        assert_eq!(told["allowed"], reply.status != 401, "{line}: {told}");
    }
    let anonymous =
        Request::get("/api/backend/kinds/a?action=export").body(Full::<Bytes>::default());
    let refused = site.api.handle(anonymous.expect("a request")).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_document_tells_each_kind() {
    let site = Site::open().await;
    let request = Request::get("/api/openapi.json").header("x-api-key", &site.key);
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let document = Answer::of(site.api.handle(request).await).await.json();
    let operation = |action: &str, method: &str| {
        document["paths"][format!("/api/backend/kinds/{{folder}}/{action}")][method].clone()
    };
    for (action, kind) in [
        ("form", FORM),
        ("text", "text/plain"),
        ("files", "multipart/form-data"),
        ("octets", "application/octet-stream"),
    ] {
        let operation = operation(action, "post");
        let schema = &operation["requestBody"]["content"][kind]["schema"];
        assert!(schema.is_object(), "{action}: {operation}");
        assert!(
            operation["responses"]["415"].is_object() && operation["responses"]["413"].is_object()
        );
    }
    let files =
        &operation("files", "post")["requestBody"]["content"]["multipart/form-data"]["schema"];
    assert_eq!(files["additionalProperties"]["format"], "binary", "{files}");
    assert_eq!(files["properties"]["name"]["type"], "string", "{files}");
    assert_eq!(operation("form", "post")["parameters"][0]["in"], "path");
    let content = |action: &str| operation(action, "get")["responses"]["200"]["content"].clone();
    assert!(content("export")["text/csv; charset=utf-8; header=present"].is_object());
    assert!(operation("show", "get")["responses"]["206"].is_object());
}
