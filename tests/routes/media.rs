//! `/api/backend/media` and `/media`.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::support::{
    Ask, Site, each, has,
    media::{form, noise, png},
    plugins::plugin,
};

const MEDIA: &str = "/api/backend/media";

/// Names of the events so far, sorted.
async fn events(site: &Site) -> Vec<Json> {
    let mut names = each(&site.get("/api/backend/webhooks/messages").await, "event");
    // All of one moment.
    names.sort_by_key(Json::to_string);
    names
}

#[tokio::test]
async fn a_file_is_uploaded_shown_changed_and_removed() {
    let site = Site::open().await;
    let content = png(80, 50, 1);
    let made = site.uploading(&[("folder", "products/2026")], "C:\\a b.PNG", &content);
    let made = made.expect(201).await;
    let file = made.data();
    let sha256 = cms_core::crypto::sha256_hex(&content);
    let path = format!("/media/{}/{}.png", &sha256[..2], &sha256[2..]);
    assert_eq!(
        file,
        json!({
            "id": 1, "path": path, "file_name": "a b.PNG", "media_type": "image/png",
            "size": content.len(), "width": 80, "height": 50, "sha256": sha256,
            "folder": "products/2026", "alt": {}, "title": {}, "focal_x": null, "focal_y": null,
            "uploaded_at": "2026-11-21T09:30:00Z",
        })
    );
    let one = format!("{MEDIA}?id=1");
    let shown = site.admin(&format!("GET {one}")).expect(200).await;
    assert_eq!((shown.data(), shown.header("etag")), (file, made.header("etag")));
    let tag = shown.header("etag").to_owned();
    let patch = |body: Json| site.admin(&format!("PATCH {one}")).json(body);
    let texts = json!({"alt": {"en": "A", "de": "B"}, "focal_x": 0.25, "folder": ""});
    let changed = patch(texts).header("if-match", &tag).expect(200).await;
    has!(changed.data(), {"/alt/de": "B", "focal_x": 0.25, "folder": ""});
    patch(json!({"alt": {}})).header("if-match", &tag).refused(412, "stale").await;
    for wrong in [
        json!({"path": "/media/a.png"}),
        json!({"sha256": "x"}),
        json!({"size": 1}),
        json!({"alt": "A"}),
        json!({"focal_y": 2}),
        json!({"folder": "../a"}),
        json!({"file_name": "a/b"}),
        json!({"file_name": "a\u{202e}b"}),
    ] {
        site.invalid(&format!("PATCH {one}"), wrong).await;
    }
    site.admin(&format!("DELETE {one}")).header("if-match", &tag).refused(412, "stale").await;
    site.admin(&format!("GET {path}")).expect(200).await;
    site.delete(&one).await;
    site.admin(&format!("DELETE {one}")).refused(404, "not_found").await;
    site.ask(&format!("GET {path}")).refused(404, "not_found").await;
    assert_eq!(site.media_files(), Vec::<String>::new());
    let item = ["item.media.created", "item.media.deleted", "item.media.updated"];
    assert_eq!(events(&site).await, [&item[..], &["media.deleted", "media.uploaded"]].concat());
}

#[tokio::test]
async fn as_an_item_only_texts_change() {
    let site = Site::open().await;
    site.upload("a.png", &png(8, 5, 1)).await;
    let item = "/api/backend/item?table=media";
    let one = format!("{item}&id=1");
    assert_eq!(site.get(&one).await["width"], 8);
    let title = site.patch(&one, json!({"title": {"en": "A"}})).await;
    assert_eq!(title["title"], json!({"en": "A"}));
    let before = site.traces().await;
    for wrong in [json!({"folder": "a"}), json!({"path": "/media/x"}), json!({"alt": {}, "id": 2})]
    {
        site.invalid(&format!("PATCH {one}"), wrong).await;
    }
    let new = json!({"path": "/media/a.png", "media_type": "image/png"});
    for (line, body) in [
        (format!("POST {item}"), new.clone()),
        (format!("POST {item}"), json!([new])),
        (format!("POST {item}"), json!({"zz": 1})),
        (format!("DELETE {one}"), json!(null)),
        ("DELETE /api/backend/item/media/1".to_owned(), json!(null)),
    ] {
        let ask = site.admin(&line);
        let ask = if body.is_null() { ask } else { ask.json(body) };
        let refused = ask.refused(405, "method_not_allowed").await;
        assert_eq!(refused.headers["allow"], "GET, HEAD, PATCH", "{line}");
    }
    for line in [format!("PATCH {one}"), format!("PATCH {MEDIA}?id=1")] {
        let unknown = json!({"zz": 1, "path": "/media/x"});
        site.admin(&line).json(unknown).refused(400, "database_error").await;
    }
    let list = json!({"table": "media", "column": "path", "id": 1, "add": ["x"]});
    site.invalid("POST /api/backend/actions/checklist", list).await;
    assert_eq!(site.traces().await, before);
    assert_eq!(site.media_files().len(), 1);
}

#[tokio::test]
async fn files_are_listed() {
    let site = Site::open().await;
    for n in 0..5u8 {
        let folder = if n % 2 == 0 { "even" } else { "" };
        let name = format!("picture {n}.png");
        site.uploading(&[("folder", folder)], &name, &png(8, 5, n)).expect(201).await;
    }
    site.upload("bill.pdf", b"%PDF-1.7 bill%%EOF").await;
    let list = async |query: &str| {
        let page = site.admin(&format!("GET {MEDIA}?{query}")).expect(200).await.json();
        let name = |file: &Json| file["file_name"].as_str().unwrap().replace("picture ", "");
        let names: Vec<_> = page["data"].as_array().unwrap().iter().map(name).collect();
        (names.join(" "), page["meta"]["next"].clone())
    };
    let either = json!({"or": [{"id": {"eq": 1}}, {"width": {"null": true}}]}).to_string();
    let either = format!("filter={}", utf8_percent_encode(&either, NON_ALPHANUMERIC));
    for (query, expected) in [
        ("", "bill.pdf 4.png 3.png 2.png 1.png 0.png"),
        ("folder=even", "4.png 2.png 0.png"),
        ("folder=", "bill.pdf 3.png 1.png"),
        ("type=application/", "bill.pdf"),
        ("type=image/png&folder=even&search=URE%202", "2.png"),
        ("type=image/&sort=file_name&limit=2", "0.png 1.png"),
        ("filter[file_name][ends_with]=.pdf", "bill.pdf"),
        ("folder=even&filter[id][ne]=1", "4.png 2.png"),
        (&*either, "bill.pdf 0.png"),
    ] {
        assert_eq!(list(query).await.0, expected, "{query}");
    }
    let (first, next) = list("type=image/&limit=2").await;
    let next = next.as_str().unwrap();
    let rest = list(&format!("type=image/&limit=3&cursor={next}")).await;
    assert_eq!((first.as_str(), rest.0.as_str()), ("4.png 3.png", "2.png 1.png 0.png"));
    let page = site.admin(&format!("GET {MEDIA}?type=image/&limit=2&count=true"));
    assert_eq!(page.expect(200).await.json()["meta"]["total"], 5);
    for wrong in [
        &*format!("cursor={next}"),
        "limit=0",
        "sort=nothing",
        "filter[nothing]=1",
        "count=maybe",
        "fields=id",
        "kind=image/",
        "id=1&sort=id",
    ] {
        site.admin(&format!("GET {MEDIA}?{wrong}")).refused(400, "bad_query").await;
    }
    site.admin(&format!("GET {MEDIA}?id=99")).refused(404, "not_found").await;
}

#[tokio::test]
async fn equal_content_is_one_file() {
    let site = Site::open().await;
    let content = png(80, 50, 1);
    let (one, two) =
        tokio::join!(site.upload("one.png", &content), site.upload("two.jpg", &content));
    let mut told = [one.status.as_u16(), two.status.as_u16()];
    told.sort_unstable();
    assert_eq!(told, [200, 201], "{} {}", one.text(), two.text());
    assert_eq!((&one.data(), one.header("etag")), (&two.data(), two.header("etag")));
    assert_eq!(site.media_files().len(), 1);
    assert_eq!(events(&site).await, ["item.media.created", "media.uploaded"]);
    // What was lost is there again.
    std::fs::remove_file(site.media_folder().join(&site.media_files()[0])).unwrap();
    site.uploading(&[], "three.png", &content).expect(200).await;
    assert_eq!(site.media_files().len(), 1);
}

#[tokio::test]
async fn a_file_in_use_stays() {
    let goods = "picture image, text richtext_editor, name text";
    let site = Site::builder().await.plugin(plugin("shop", [("goods", goods)])).open().await;
    let file = site.upload("a.png", &png(8, 5, 1)).await.data();
    let path = file["path"].as_str().unwrap();
    let html = format!("<p><img src=\"{path}?w=320\"></p>");
    for row in [json!({"picture": path}), json!({"text": html}), json!({"name": path})] {
        site.insert("goods", row).await;
    }
    let delete = format!("DELETE {MEDIA}?id=1");
    let told = async |ask: Ask| {
        let refused = ask.refused(409, "conflict").await.json();
        refused["detail"].as_str().unwrap().to_owned()
    };
    let shown = told(site.admin(&delete)).await;
    assert!(shown.contains("goods 1 (picture), goods 2 (text), goods 3 (name)."), "{shown}");
    // Who may not read the records does not learn of them.
    let key = site.key(&["DELETE /api/backend/media"]).await;
    let hidden = told(site.ask(&delete).key(&key)).await;
    assert!(hidden.contains("3 that you may not read") && !hidden.contains("goods"), "{hidden}");
    assert_eq!(site.media_files().len(), 1);
    site.update("goods&id=2", json!({"text": ""})).await;
    site.admin(&delete).refused(409, "conflict").await;
    site.admin(&format!("{delete}&force=true")).expect(204).await;
    assert_eq!(site.media_files().len(), 0);
}

#[tokio::test]
async fn files_are_served_inert_and_in_parts() {
    let site = Site::with(|settings| {
        let types = ["image/png", "image/svg+xml", "text/html", "application/pdf"];
        settings.media.types = types.map(str::to_owned).to_vec();
    })
    .await;
    let content = png(80, 50, 1);
    let file = site.upload("a.png", &content).await.data();
    let path = file["path"].as_str().unwrap();
    let get = || site.ask(&format!("GET {path}"));
    let whole = get().expect(200).await;
    assert_eq!(whole.body, content);
    let tag = format!("\"{}\"", file["sha256"].as_str().unwrap());
    for (name, expected) in [
        ("content-type", "image/png"),
        ("content-disposition", "inline"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "public, max-age=31536000, immutable"),
        ("accept-ranges", "bytes"),
        ("etag", tag.as_str()),
    ] {
        assert_eq!(whole.header(name), expected, "{name}");
    }
    assert!(whole.header("last-modified").ends_with(" GMT"));
    assert!(whole.header("content-security-policy").ends_with("; sandbox"));
    let head = site.ask(&format!("HEAD {path}")).expect(200).await;
    assert_eq!((head.body.len(), head.header("content-length")), (0, &*content.len().to_string()));
    let part = get().header("range", "bytes=1-3").expect(206).await;
    let range = format!("bytes 1-3/{}", content.len());
    assert_eq!((&part.body[..], part.header("content-range")), (&b"PNG"[..], range.as_str()));
    let beyond = get().header("range", "bytes=999999-");
    let beyond = beyond.refused(416, "range_not_satisfiable").await;
    assert_eq!(beyond.header("content-range"), format!("bytes */{}", content.len()));
    assert_eq!(beyond.header("cache-control"), "private, no-cache", "a refusal is not for ever");
    get().header("if-none-match", &tag).expect(304).await;
    let (date, old) = (whole.header("last-modified"), "Thu, 01 Jan 1970 00:00:01 GMT");
    for (headers, status) in [
        (&[("if-modified-since", date)][..], 304),
        (&[("if-modified-since", date), ("range", "bytes=1-3")], 304),
        (&[("if-modified-since", date), ("if-none-match", "\"old\"")], 200),
        (&[("if-modified-since", old)], 200),
        (&[("if-modified-since", old), ("range", "bytes=1-3")], 206),
        (&[("if-modified-since", "yesterday")], 200),
        (&[("if-modified-since", date), ("if-modified-since", date)], 200),
    ] {
        let ask = headers.iter().fold(get(), |ask, (name, value)| ask.header(name, value));
        let reply = ask.send().await;
        assert_eq!(reply.status, status, "{headers:?}");
        assert_eq!(reply.headers.contains_key("content-range"), status == 206, "{headers:?}");
    }
    get().header("range", "bytes=1-3").header("if-range", "\"old\"").expect(200).await;
    get().header("range", "bytes=1-3").header("if-range", &tag).expect(206).await;
    // What could run is saved.
    for (name, content, kind, end) in [
        (
            "a.svg",
            "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
            "image/svg+xml",
            "svg",
        ),
        ("a.png", "<!doctype html><script>alert(1)</script>", "text/html", "html"),
        ("a.pdf", "%PDF-1.7 <script>%%EOF", "application/pdf", "pdf"),
    ] {
        let file = site.uploading(&[], name, content.as_bytes()).expect(201).await.data();
        assert_eq!(file["media_type"], kind);
        let reply = site.ask(&format!("GET {}", file["path"].as_str().unwrap())).expect(200).await;
        let saved = reply.header("content-disposition");
        let is_saved = saved.starts_with("attachment; filename=\"") && saved.ends_with(end);
        assert!(is_saved, "{saved}");
        assert_eq!(reply.header("content-type"), kind);
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert!(reply.header("content-security-policy").ends_with("; sandbox"), "{name}");
    }
}

#[tokio::test]
async fn smaller_pictures_are_made_once() {
    let site = Site::open().await;
    for (format, kind) in [
        (image::ImageFormat::Png, "image/png"),
        (image::ImageFormat::Jpeg, "image/jpeg"),
        (image::ImageFormat::WebP, "image/webp"),
    ] {
        let made = site.cms.media().made();
        let file = site.upload("a", &noise(format, 800, 400)).await.data();
        let path = file["path"].as_str().unwrap();
        let ask = || site.ask(&format!("GET {path}?w=320")).expect(200);
        let (first, second, third, fourth) = tokio::join!(ask(), ask(), ask(), ask());
        for other in [second, third, fourth, ask().await] {
            assert_eq!((&other.body, other.header("etag")), (&first.body, first.header("etag")));
        }
        assert_eq!(site.cms.media().made(), made + 1, "{kind}");
        let small = image::load_from_memory_with_format(&first.body, format).unwrap();
        assert_eq!((small.width(), small.height()), (320, 160), "{kind}");
        assert_eq!(first.header("content-type"), kind);
        assert!(first.header("etag").ends_with("-320\""));
        // Nothing is made larger.
        let whole = site.ask(&format!("GET {path}?w=960")).expect(200).await;
        assert_eq!(whole.body.len(), file["size"].as_u64().unwrap() as usize);
        for wrong in ["w=321", "w=x", "h=320"] {
            let refused = site.ask(&format!("GET {path}?{wrong}")).refused(400, "bad_query").await;
            assert!(!refused.text().contains("folder"), "{wrong}: {}", refused.text());
        }
        // Everybody may ask again, and the picture itself is not read for that.
        let stored = site.media_folder().join(path.strip_prefix("/media/").unwrap());
        std::fs::write(&stored, "no picture").unwrap();
        assert_eq!(ask().await.body, first.body, "{kind}");
        let whole = site.ask(&format!("GET {path}?w=960")).expect(200).await;
        assert_eq!(whole.body, b"no picture"[..]);
    }
    // With their file they go: a smaller one, and an empty one that says that there is none.
    assert_eq!(site.media_files().len(), 9);
    for id in 1..=3 {
        site.delete(&format!("{MEDIA}?id={id}")).await;
    }
    assert_eq!(site.media_files(), Vec::<String>::new());
}

#[tokio::test]
async fn the_form_has_one_file_after_its_fields() {
    let site = Site::open().await;
    let file = |name: &str, content: &[u8]| form(&[], name, content);
    let end = b"\r\n--XX--\r\n";
    let field =
        b"\r\n--XX\r\nContent-Disposition: form-data; name=\"folder\"\r\n\r\na\r\n--XX--\r\n";
    let whole = file("a.pdf", b"%PDF-1.7 a%%EOF");
    let open = &whole[..whole.len() - end.len()];
    let before = site.traces().await;
    for (body, code) in [
        ([open, field].concat(), "validation_failed"),
        ([open, b"\r\n", &whole].concat(), "validation_failed"),
        (b"--XX--\r\n".to_vec(), "validation_failed"),
        (form(&[("colour", "red")], "a.pdf", b"%PDF-1.7 a%%EOF"), "validation_failed"),
        (form(&[("folder", "../a")], "a.pdf", b"%PDF-1.7 a%%EOF"), "validation_failed"),
        (open.to_vec(), "bad_json"),
    ] {
        let text = String::from_utf8_lossy(&body).into_owned();
        let ask = site.admin(&format!("POST {MEDIA}"));
        let reply = ask.header("content-type", crate::support::media::FORM).body(body).send().await;
        assert_eq!(reply.json()["error"], code, "{text}: {}", reply.text());
    }
    let json = site.admin(&format!("POST {MEDIA}")).json(json!({}));
    json.refused(415, "unsupported_media_type").await;
    assert_eq!((site.traces().await, site.media_files().len()), (before, 0));
}
