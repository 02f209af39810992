//! Files in a bucket of a real S3 server, which verifies signatures: `.ci/s3` starts it.

use image::ImageFormat;
use serde_json::json;

use crate::support::{
    Site, has,
    media::{files_below, pdf, picture, png},
    s3::{Bucket, PREFIX, Way},
};

const CHECK: &str = "POST /api/backend/media/check";

async fn site(bucket: &Bucket) -> Site {
    through(bucket, bucket.server()).await
}

/// A site that reaches its bucket at an address.
async fn through(bucket: &Bucket, address: &str) -> Site {
    Site::with(|settings| bucket.keep(settings, address)).await
}

/// A bucket, the way to it, and a site that goes this way.
async fn on_a_way() -> Option<(Bucket, Way, Site)> {
    let bucket = Bucket::new()?;
    let way = Way::to(&bucket);
    let site = through(&bucket, &way.address).await;
    Some((bucket, way, site))
}

/// The key of the object that is served at a path.
fn key(path: &str) -> String {
    format!("{PREFIX}{}", path.strip_prefix("/media").unwrap())
}

fn path(file: &serde_json::Value) -> String {
    file["path"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_lie_in_a_bucket() {
    let Some(bucket) = Bucket::new() else { return };
    let site = site(&bucket).await;
    let mut paths = Vec::new();
    // At once: the largest that does; in two parts; in four, of which the last is short.
    for (name, length) in
        [("a.pdf", 1000), ("b.pdf", 5 << 20), ("c.pdf", (5 << 20) + 1), ("d.pdf", (16 << 20) + 5)]
    {
        let content = pdf(length);
        let file = site.uploading(&[], name, &content).expect(201).await.data();
        let path = path(&file);
        assert!(bucket.objects().contains(&key(&path)), "{path}");
        let get = || site.ask(&format!("GET {path}"));
        let whole = get().expect(200).await;
        assert!(whole.body == content, "{name}");
        assert_eq!(whole.header("x-content-type-options"), "nosniff");
        let part = get().header("range", "bytes=9-14").expect(206).await;
        assert_eq!(part.body, content[9..15]);
        assert_eq!(part.header("content-range"), format!("bytes 9-14/{length}"));
        let last = get().header("range", "bytes=-5").expect(206).await;
        assert_eq!(last.body, b"%%EOF"[..]);
        let beyond = get().header("range", "bytes=99999999-");
        beyond.refused(416, "range_not_satisfiable").await;
        let tag = format!("\"{}\"", file["sha256"].as_str().unwrap());
        assert_eq!(whole.header("etag"), tag);
        get().header("if-none-match", &tag).expect(304).await;
        let head = site.ask(&format!("HEAD {path}")).expect(200).await;
        assert_eq!(head.header("content-length"), length.to_string());
        assert!(head.header("last-modified").ends_with(" GMT"));
        // Equal content is one file.
        site.uploading(&[], "again.pdf", &content).expect(200).await;
        paths.push(path);
        assert_eq!(bucket.objects().len(), paths.len());
    }
    assert_eq!(bucket.uploads(), Vec::<String>::new());
    assert_eq!(site.media_files(), Vec::<String>::new(), "nothing is left on this machine");
    let before = site.traces().await;
    site.uploading(&[], "a.png", b"<script>").refused(422, "validation_failed").await;
    let outside = site.uploading(&[("folder", "..")], "c.pdf", &pdf(2000));
    outside.refused(422, "validation_failed").await;
    assert_eq!(site.traces().await, before);
    // What was refused after it was sent goes within a minute.
    assert_eq!(bucket.objects().len(), 5);
    site.cms.upkeep().await;
    assert_eq!(bucket.objects().len(), 4);
    site.delete("/api/backend/media?id=1").await;
    assert_eq!(bucket.objects().len(), 3);
    assert!(!bucket.objects().contains(&key(&paths[0])));
    site.ask(&format!("GET {}", paths[0])).refused(404, "not_found").await;
    site.ask(&format!("GET /media/aa/{}.pdf", "a".repeat(62))).refused(404, "not_found").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_files_at_the_same_time_are_one_object() {
    let Some(bucket) = Bucket::new() else { return };
    let site = site(&bucket).await;
    let content = pdf(6 << 20);
    let sent = (0..4).map(|_| site.upload("a.pdf", &content));
    let mut told: Vec<_> = futures_util::future::join_all(sent).await;
    told.sort_by_key(|reply| reply.status);
    let statuses: Vec<_> = told.iter().map(|reply| reply.status.as_u16()).collect();
    assert_eq!(statuses, [200, 200, 200, 201]);
    assert!(told.iter().all(|reply| reply.data()["id"] == 1));
    site.cms.upkeep().await;
    assert_eq!((bucket.objects().len(), bucket.uploads().len()), (1, 0));
    site.ask(&format!("GET {}", path(&told[0].data()))).expect(200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_compared_with_its_records() {
    let Some(bucket) = Bucket::new() else { return };
    let site = site(&bucket).await;
    let kept = path(&site.upload("a.png", &png(800, 5, 1)).await.data());
    site.ask(&format!("GET {kept}?w=160")).expect(200).await;
    let lost = path(&site.upload("b.png", &png(8, 5, 2)).await.data());
    let object = |rest: &str| format!("/{PREFIX}/{rest}");
    let put = |rest: &str| assert_eq!(bucket.call("PUT", &object(rest), "", b"left").0, 200);
    let begin = |rest: &str| assert_eq!(bucket.call("POST", &object(rest), "uploads=", b"").0, 200);
    bucket.call("DELETE", &format!("/{}", key(&lost)), "", b"");
    put(&format!("ab/{}.png", "c".repeat(62)));
    put(&format!(".variants/ab/{}-160.png", "d".repeat(62)));
    begin(&format!("ab/{}.png", "e".repeat(62)));
    // What is not ours is let be.
    put("ab/notes.txt");
    put(&format!("ab/deep/{}.png", "c".repeat(62)));
    begin("ab/notes.txt");
    begin(&format!("deep/ab/{}.txt", "e".repeat(62)));
    let check = async |remove| site.cms.media().check(remove).await.unwrap();
    let found = check(false).await;
    assert_eq!((found.files, found.orphans, found.removed, found.lost), (1, 3, 0, 1), "{found:?}");
    assert_eq!(found.missing, [lost]);
    let found = check(true).await;
    assert_eq!((found.orphans, found.removed), (3, 3), "{found:?}");
    assert_eq!(bucket.objects().len(), 4, "{:?}", bucket.objects());
    assert_eq!(bucket.uploads().len(), 2, "{:?}", bucket.uploads());
    site.uploading(&[], "b.png", &png(8, 5, 2)).expect(200).await;
    assert_eq!(check(true).await.lost, 0);
    site.ask(&format!("GET {kept}")).expect(200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn smaller_pictures_lie_in_the_bucket() {
    let Some(bucket) = Bucket::new() else { return };
    let site = site(&bucket).await;
    let content = picture(ImageFormat::Jpeg, 800, 400, 7);
    let path = path(&site.upload("a.jpg", &content).await.data());
    let get = |width: u32| site.ask(&format!("GET {path}?w={width}"));
    let (one, two) = tokio::join!(get(320).expect(200), get(320).expect(200));
    assert_eq!((&one.body, site.cms.media().made()), (&two.body, 1));
    let small = image::load_from_memory(&one.body).unwrap();
    assert_eq!((small.width(), small.height()), (320, 160));
    let part = get(320).header("range", "bytes=2-3").expect(206).await;
    assert_eq!(part.body, one.body[2..4]);
    // Nothing is made larger, and that is found out once.
    for _ in 0..2 {
        assert!(get(960).expect(200).await.body == content);
    }
    assert_eq!((site.cms.media().made(), bucket.objects().len()), (1, 3));
    assert_eq!(files_below(&site.media_folder()), Vec::<String>::new());
    let found = site.post("/api/backend/media/check", json!({"remove": true})).await;
    has!(found, {"orphans": 0, "files": 1}, "{found}");
    let none = format!("GET /media/aa/{}.png?w=320", "a".repeat(62));
    site.ask(&none).refused(404, "not_found").await;
    site.delete("/api/backend/media?id=1").await;
    assert_eq!(bucket.objects(), Vec::<String>::new());
    get(320).refused(404, "not_found").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_harms_nothing() {
    let Some((bucket, way, site)) = on_a_way().await else { return };
    let kept = path(&site.upload("a.png", &png(800, 5, 1)).await.data());
    let gone = path(&site.upload("b.png", &png(8, 5, 2)).await.data());
    let before = site.traces().await;
    way.cut();
    for line in [format!("GET {kept}"), format!("GET {kept}?w=320"), format!("HEAD {kept}")] {
        let away = site.ask(&line).expect(503).await;
        assert_eq!(away.header("retry-after"), "10", "{line}");
    }
    let refused = site.uploading(&[], "c.pdf", &pdf(1000)).refused(503, "unavailable").await;
    assert_eq!(refused.header("retry-after"), "10");
    let check = site.admin(CHECK).json(json!({"remove": true})).refused(503, "unavailable").await;
    let told = check.json()["detail"].as_str().unwrap().to_owned();
    assert!(told.contains(&format!("bucket {} cannot be reached: ", bucket.name)), "{told}");
    assert_eq!(site.traces().await, before);
    // A store that does not answer is given up after the same time, whatever was asked.
    way.hang();
    let read = site.ask(&format!("GET {kept}"));
    let sent = site.uploading(&[], "c.pdf", &pdf(1000));
    let began = std::time::Instant::now();
    tokio::join!(read.refused(503, "unavailable"), sent.refused(503, "unavailable"));
    let waited = began.elapsed().as_secs();
    assert!((9..20).contains(&waited), "{waited} s");
    assert_eq!(site.traces().await, before);
    // A record goes without its store, the object when the store is there again.
    way.cut();
    site.delete("/api/backend/media?id=2").await;
    site.cms.upkeep().await;
    assert!(bucket.objects().contains(&key(&gone)));
    way.open();
    site.cms.upkeep().await;
    assert_eq!(bucket.objects(), [key(&kept)]);
    site.ask(&format!("GET {kept}?w=320")).expect(200).await;
    site.uploading(&[], "c.pdf", &pdf(1000)).expect(201).await;
    let found = site.cms.media().check(false).await.unwrap();
    assert_eq!((found.files, found.orphans, found.lost), (2, 0, 0), "{found:?}");
}

/// A store that carries a DELETE out long after nobody waits for it takes no file that was sent
/// since then; nor does its silence stop other writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_removal_takes_no_file_of_somebody_else() {
    let Some((bucket, way, site)) = on_a_way().await else { return };
    let content = pdf(1000);
    let path = path(&site.upload("a.pdf", &content).await.data());
    site.upload("b.png", &png(8, 5, 1)).await;
    way.hold("DELETE");
    site.delete("/api/backend/media?id=1").await;
    assert!(way.held() > 0 && bucket.objects().contains(&key(&path)));
    // The object is there, but not for long.
    let refused = site.uploading(&[], "a.pdf", &content).refused(503, "unavailable").await;
    assert_eq!(refused.header("retry-after"), "60");
    let other = std::time::Instant::now();
    site.delete("/api/backend/media?id=2").await;
    assert!(other.elapsed().as_secs() < 2, "nobody waits for the same silence again");
    way.open();
    while bucket.objects().contains(&key(&path)) {
        tokio::task::yield_now().await;
    }
    site.clock.advance(60_000);
    site.uploading(&[], "a.pdf", &content).expect(201).await;
    site.cms.upkeep().await;
    assert!(site.ask(&format!("GET {path}")).expect(200).await.body == content);
    assert_eq!(bucket.objects(), [key(&path)]);
}

/// A key without `DeleteObject`: what may not be removed stays, and nobody tries every minute.
#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_removed_is_left_to_the_sweep() {
    let Some((bucket, way, site)) = on_a_way().await else { return };
    let path = path(&site.upload("a.pdf", &pdf(1000)).await.data());
    way.refuse("DELETE ", 403);
    site.delete("/api/backend/media?id=1").await;
    assert_eq!(way.held(), 1);
    site.cms.upkeep().await;
    assert_eq!(way.held(), 1);
    let found = site.cms.media().check(true).await.unwrap();
    assert_eq!((found.orphans, found.removed, way.held()), (1, 0, 2), "{found:?}");
    assert_eq!(bucket.objects(), [key(&path)]);
    way.open();
    let found = site.cms.media().check(true).await.unwrap();
    assert_eq!((found.orphans, found.removed), (1, 1), "{found:?}");
}

/// An object whose calls always fail keeps no others, neither those in doubt nor those that a
/// process has left.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_fails_keeps_no_others() {
    let Some((bucket, way, site)) = on_a_way().await else { return };
    let mut keys = Vec::new();
    for length in [1000, 1001] {
        keys.push(key(&path(&site.upload("a.pdf", &pdf(length)).await.data())));
    }
    keys.sort();
    way.cut();
    for id in [1, 2] {
        site.delete(&format!("/api/backend/media?id={id}")).await;
    }
    way.refuse(&format!("HEAD /{}/{}", bucket.name, keys[0]), 500);
    site.cms.upkeep().await;
    assert_eq!(bucket.objects(), keys[..1]);
    let left = format!("{PREFIX}/ff/{}.pdf", "f".repeat(62));
    assert_eq!(bucket.call("PUT", &format!("/{left}"), "", b"left").0, 200);
    let found = site.cms.media().check(true).await.unwrap();
    assert_eq!((found.orphans, found.removed), (2, 1), "{found:?}");
    way.open();
    site.cms.upkeep().await;
    assert_eq!(bucket.objects(), Vec::<String>::new());
}

/// The variant is sent after the deletion has looked for variants.
#[tokio::test(flavor = "multi_thread")]
async fn a_picture_that_is_deleted_while_it_is_made_smaller_leaves_nothing() {
    let Some((bucket, way, site)) = on_a_way().await else { return };
    let path = path(&site.upload("a.png", &png(800, 5, 1)).await.data());
    way.hold("PUT");
    let deleted = async {
        while way.held() == 0 {
            tokio::task::yield_now().await;
        }
        site.delete("/api/backend/media?id=1").await;
        way.open();
    };
    let asked = site.ask(&format!("GET {path}?w=320"));
    tokio::join!(asked.refused(404, "not_found"), deleted);
    assert_eq!(bucket.objects(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_breaks_off_leaves_no_parts() {
    let Some((bucket, way, site)) = on_a_way().await else { return };
    let before = site.traces().await;
    way.narrow();
    site.uploading(&[], "a.pdf", &pdf(12 << 20)).refused(503, "unavailable").await;
    assert_eq!((bucket.objects().len(), bucket.uploads().len()), (0, 0));
    assert_eq!(site.traces().await, before);
    assert_eq!(site.media_files(), Vec::<String>::new());
    way.open();
    site.uploading(&[], "a.pdf", &pdf(12 << 20)).expect(201).await;
    site.cms.upkeep().await;
    assert_eq!((bucket.objects().len(), bucket.uploads().len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_and_buckets_are_told_without_the_keys() {
    let Some(bucket) = Bucket::new() else { return };
    type Spoil = fn(&mut Bucket);
    let table: [(Spoil, &str); 3] = [
        (|bucket| bucket.secret = "not-what-it-is".to_owned(), "it answers SignatureDoesNotMatch"),
        (|bucket| bucket.id = "AKIANOBODY".to_owned(), "it answers InvalidAccessKeyId"),
        (|bucket| bucket.name = "cms-none".to_owned(), "it answers NoSuchBucket"),
    ];
    for (spoil, expected) in table {
        let mut wrong = bucket.clone();
        spoil(&mut wrong);
        let site = site(&wrong).await;
        let before = site.traces().await;
        site.uploading(&[], "a.pdf", &pdf(1000)).refused(503, "unavailable").await;
        site.uploading(&[], "b.pdf", &pdf(6 << 20)).refused(503, "unavailable").await;
        assert_eq!(site.traces().await, before);
        // No bucket is no missing file.
        let missing = format!("GET /media/aa/{}.pdf", "a".repeat(62));
        site.ask(&missing).refused(503, "unavailable").await;
        let check = site.admin(CHECK).json(json!({"remove": true})).expect(503).await.text();
        assert!(check.contains(expected), "{check}");
        let error = cms_core::reach_bucket(site.cms.settings()).await.unwrap_err();
        let error = format!("{error} {error:?} {:?}", site.cms.settings());
        for secret in [&wrong.id, &wrong.secret] {
            assert!(!check.contains(secret) && !error.contains(secret), "{check} {error}");
        }
    }
    assert_eq!(bucket.objects(), Vec::<String>::new());
}
