use bytes::Bytes;
use futures_util::stream;
use http::Request;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;

use crate::support::{
    Site, has,
    media::{FORM, form, pdf, png},
};

/// A PNG that says that it has so many pixels.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    file.extend(b"\x08\x06\0\0\0crc!\0\0\0\x02IDAT\x78\x01crc!\0\0\0\0IEND\xae\x42\x60\x82");
    file
}

/// An upload whose body comes bit by bit.
fn request<B>(site: &Site, body: B) -> Request<B> {
    Request::post("/api/backend/media")
        .header("host", "cms.test")
        .header("content-type", FORM)
        .header("x-api-key", &site.admin)
        .body(body)
        .unwrap()
}

#[tokio::test]
async fn hostile_files_are_refused_with_a_code_and_leave_nothing() {
    let site = Site::open().await;
    let whole = png(80, 50, 1);
    let zip = b"PK\x03\x04\x14\0\0\0\x08\0bomb.txt".to_vec();
    let before = site.traces().await;
    for (case, name, content, code) in [
        ("empty", "a.png", vec![], "empty"),
        ("a script", "a.png", b"<script>alert(1)</script>".to_vec(), "media_type"),
        ("a drawing with a script", "a.svg", b"<svg onload=alert(1)/>".to_vec(), "media_type"),
        ("a marked drawing", "a.png", b"\xef\xbb\xbf<svg><script/></svg>".to_vec(), "media_type"),
        ("text", "a.png", b"hello".to_vec(), "media_type"),
        ("a program", "a.png", b"\x7fELF\x02\x01\x01".to_vec(), "media_type"),
        ("a program of Windows", "a.jpg", b"MZ\x90\0".to_vec(), "media_type"),
        ("an archive", "a.png", zip, "media_type"),
        ("packed", "a.png", b"\x1f\x8b\x08\0".to_vec(), "media_type"),
        ("a page and a GIF", "a.gif", b"GIF89a/*<script>*/=1;alert(1)//".to_vec(), "broken"),
        ("an archive in a PNG", "a.png", [&whole[..], b"PK\x03\x04"].concat(), "broken"),
        ("a page in a PNG", "a.png", [&whole[..], b"<script>"].concat(), "broken"),
        ("cut off", "a.png", whole[..whole.len() - 5].to_vec(), "broken"),
        ("cut off early", "a.png", whole[..20].to_vec(), "broken"),
        ("cut off JPEG", "a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0".to_vec(), "broken"),
        ("a cut off film", "a.mp4", b"\0\0\0\x0cftypmp42\0\0\x10\0mdatdata".to_vec(), "broken"),
        ("a cut off PDF", "a.pdf", b"%PDF-1.7\n1 0 obj\n".to_vec(), "broken"),
        ("cut off sound", "a.wav", b"RIFF\0\x10\0\0WAVEfmt ".to_vec(), "broken"),
        ("many pixels", "a.png", bomb(50_000, 50_000), "pixels"),
        ("most pixels", "a.png", bomb(u32::MAX, u32::MAX), "pixels"),
        ("no pixels", "a.png", bomb(0, 10), "broken"),
    ] {
        let refused = site.uploading(&[], name, &content).refused(422, "validation_failed").await;
        has!(refused.json()["errors"][0], {"code": code, "field": "file"}, "{case}");
    }
    let other = String::from_utf8_lossy(&form(&[], "a.png", b"x")).replace("\"file\"", "\"it\"");
    let ask = site.admin("POST /api/backend/media").header("content-type", FORM);
    let refused = ask.body(other.into_bytes()).refused(422, "validation_failed").await.json();
    assert_eq!(refused["errors"][0]["field"], "it");
    let ask = site.uploading(&[("alt", "A bicycle")], "a.png", &png(8, 5, 1));
    let refused = ask.refused(422, "validation_failed").await.json()["errors"][0].clone();
    has!(refused, {"field": "alt", "code": "unexpected"});
    assert_eq!(refused["message"], "There is no field \"alt\"; there are folder");
    // As `curl -F 'file='` sends it.
    let unnamed = "--XX\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\r\n--XX--\r\n";
    let ask = site.admin("POST /api/backend/media");
    let ask = ask.header("content-type", "multipart/form-data; boundary=XX").body(unnamed);
    let refused = ask.refused(422, "validation_failed").await.json()["errors"][0].clone();
    let message = refused["message"].as_str().unwrap();
    assert!(refused["field"] == "file" && message.contains("no filename"), "{refused}");
    assert_eq!(site.traces().await, before);
    assert_eq!(site.media_files(), Vec::<String>::new());
    // A wrong end of the name is no harm: the bytes count.
    let file = site.uploading(&[], "a.exe", &whole).expect(201).await.data();
    assert!(file["path"].as_str().unwrap().ends_with(".png"));
}

#[tokio::test]
async fn a_file_may_be_as_large_as_the_setting_says() {
    let most = 300_000;
    let site = Site::with(|settings| settings.media.max_bytes = most).await;
    let mut content = pdf(most as usize);
    site.uploading(&[], "a.pdf", &content).expect(201).await;
    content.push(b'x');
    site.uploading(&[], "a.pdf", &content).refused(413, "payload_too_large").await;
    assert_eq!(site.media_files().len(), 1);
}

#[tokio::test]
async fn by_default_a_file_has_50_mib() {
    let site = Site::open().await;
    let mut content = pdf(50 << 20);
    site.uploading(&[], "a.pdf", &content).expect(201).await;
    content.resize(51 << 20, b'x');
    let before = site.traces().await;
    // What announces too much is not read at all; else it ends where it is too much.
    site.uploading(&[], "a.pdf", &content).refused(413, "payload_too_large").await;
    let form = Bytes::from(form(&[], "a.pdf", &content));
    let read = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (counted, length) = (read.clone(), form.len());
    let parts = stream::iter((0..length).step_by(64 << 10).map(move |at| {
        counted.store(at, std::sync::atomic::Ordering::Relaxed);
        Ok::<_, std::io::Error>(Frame::data(form.slice(at..length.min(at + (64 << 10)))))
    }));
    let reply = site.api.handle(request(&site, Box::pin(StreamBody::new(parts)))).await;
    assert_eq!(reply.status().as_u16(), 413);
    let read = read.load(std::sync::atomic::Ordering::Relaxed);
    assert!((50 << 20..length - (64 << 10)).contains(&read), "{read}");
    assert_eq!((site.traces().await, site.media_files().len()), (before, 1));
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let site = Site::open().await;
    let content = form(&[], "a.pdf", &[&b"%PDF-1.7 "[..], &[b'x'; 200_000]].concat());
    let first = Bytes::copy_from_slice(&content[..100_000]);
    // The connection fails, and a caller who goes away while the rest is waited for.
    for fails in [true, false] {
        let first = first.clone();
        let rest = stream::once(async move {
            if !fails {
                std::future::pending::<()>().await;
            }
            Err(std::io::Error::other("cut"))
        });
        let parts = stream::iter([Ok(Frame::data(first))]);
        let body = StreamBody::new(futures_util::StreamExt::chain(parts, rest));
        let call = async { site.api.handle(request(&site, Box::pin(body))).await };
        let told = tokio::time::timeout(std::time::Duration::from_millis(300), call).await;
        assert_eq!(told.is_ok(), fails);
        if let Ok(reply) = told {
            let status = reply.status().as_u16();
            let body = reply.into_body().collect().await.unwrap().to_bytes();
            assert!((400..500).contains(&status), "{status} {body:?}");
        }
        assert_eq!(site.media_files(), Vec::<String>::new(), "{fails}");
        assert_eq!(site.database.rows("cms_media").await, 0);
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_told() {
    let site = Site::open().await;
    // As when the disk is full, whoever runs the tests.
    let media = site.media_folder();
    std::fs::create_dir_all(&media).unwrap();
    std::fs::write(media.join(".incoming"), "").unwrap();
    let before = site.traces().await;
    site.uploading(&[], "a.png", &png(8, 5, 1)).refused(503, "unavailable").await;
    assert_eq!(site.traces().await, before);
    std::fs::remove_file(media.join(".incoming")).unwrap();
    site.uploading(&[], "a.png", &png(8, 5, 1)).expect(201).await;
}

#[tokio::test]
async fn new_widths_count_in_the_limiter() {
    let memory = cms_core::settings::LimiterStore::Memory;
    let site = Site::with(|s| s.limiter.store = memory).await;
    let mut paths = Vec::new();
    for n in 0..34u8 {
        // Uploads count for their key.
        site.clock.advance(5_000);
        let file = site.uploading(&[], "a.png", &png(700, 1, n)).expect(201).await.data();
        paths.push(file["path"].as_str().unwrap().to_owned());
    }
    let mut statuses = Vec::new();
    for path in &paths {
        for width in [160, 320, 640] {
            let reply = site.ask(&format!("GET {path}?w={width}")).send().await;
            statuses.push(reply.status.as_u16());
        }
    }
    assert_eq!(statuses[..100], [200; 100]);
    assert_eq!(statuses[100..], [429, 429]);
    // What is made already costs nothing, nor does the file itself.
    site.ask(&format!("GET {}?w=160", paths[0])).expect(200).await;
    site.ask(&format!("GET {}", paths[33])).expect(200).await;
    let last = site.ask(&format!("GET {}?w=640", paths[33]));
    assert!(!last.refused(429, "rate_limited").await.header("retry-after").is_empty());
}

#[tokio::test]
async fn a_picture_that_was_put_right_has_smaller_ones() {
    let site = Site::open().await;
    let file = site.uploading(&[], "a.png", &png(700, 1, 1)).expect(201).await.data();
    let path = file["path"].as_str().unwrap();
    let place = site.media_folder().join(path.strip_prefix("/media/").unwrap());
    let whole = std::fs::read(&place).unwrap();
    let length = async || site.ask(&format!("GET {path}?w=160")).expect(200).await.body.len();
    std::fs::write(&place, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(length().await, whole.len() / 2, "what is left of it is served");
    std::fs::write(&place, &whole).unwrap();
    assert_ne!(length().await, whole.len());
    assert_eq!(site.media_files().len(), 2);
}
