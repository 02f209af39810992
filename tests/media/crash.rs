use std::time::{Duration, SystemTime};

use cms_core::{Actor, items::IfMatch, media::Stored};

use crate::support::{Site, has, media::png, site::NOW};

/// Everything up to the change.
async fn ready(site: &Site, content: &[u8]) -> cms_core::media::Ready {
    let media = site.cms.media();
    let mut incoming = media.incoming().await.unwrap();
    incoming.write(content).await.unwrap();
    media.judge(incoming, "a.png").await.unwrap()
}

async fn rows(site: &Site) -> i64 {
    site.database.rows("cms_media").await
}

#[tokio::test]
async fn a_call_that_ends_between_two_steps_leaves_no_file_without_a_row() {
    let site = Site::open().await;
    let (media, none) = (site.cms.media(), Vec::<String>::new());
    // While it comes in.
    let mut incoming = media.incoming().await.unwrap();
    incoming.write(b"%PDF-1.7").await.unwrap();
    assert_eq!(site.media_files().len(), 1);
    drop(incoming);
    assert_eq!(site.media_files(), none);
    // Judged.
    drop(ready(&site, &png(8, 5, 1)).await);
    assert_eq!(site.media_files(), none);
    // In its place, its row not committed.
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let file = ready(&site, &png(8, 5, 1)).await;
    media.store(&mut change, file, "").await.unwrap();
    drop(change);
    assert_eq!((site.media_files().len(), rows(&site).await), (1, 0));
    site.cms.upkeep().await;
    assert_eq!(site.media_files(), none);
    // Committed: the file stays, whoever looks.
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let file = ready(&site, &png(8, 5, 1)).await;
    let Stored::New(name, written) = media.store(&mut change, file, "").await.unwrap() else {
        panic!("it is new")
    };
    change.commit().await.unwrap();
    site.cms.upkeep().await;
    media.discard(&name).await;
    assert_eq!((site.media_files().len(), rows(&site).await), (1, 1));
    let id = written.id.parse().unwrap();
    // Its row removed, the file not yet; then a change that was not committed.
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    media.delete(&mut change, id, &IfMatch::Nothing).await.unwrap();
    drop(change);
    site.cms.upkeep().await;
    assert_eq!((site.media_files().len(), rows(&site).await), (1, 1));
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    media.delete(&mut change, id, &IfMatch::Nothing).await.unwrap();
    change.commit().await.unwrap();
    assert_eq!((site.media_files().len(), rows(&site).await), (1, 0));
    site.cms.upkeep().await;
    assert_eq!(site.media_files(), none);
}

/// Changes share their commit on SQLite: a row that a change has removed comes back when that
/// commit fails.
#[tokio::test]
async fn a_file_goes_only_when_its_row_is_gone_for_good() {
    let site = Site::open().await;
    let media = site.cms.media();
    let id = site.upload("a.png", &png(8, 5, 1)).await.data()["id"].as_i64().unwrap();
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let name = media.delete(&mut change, id, &IfMatch::Nothing).await.unwrap();
    // The removal queues behind the deletion, and another change behind the removal: on SQLite
    // that one stands before the shared commit.
    let mut removal = std::pin::pin!(media.discard(&name));
    let mut other = std::pin::pin!(site.cms.change(Actor::Operator));
    let a_while = || async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! { () = &mut removal => panic!("nothing to wait for"), () = a_while() => {} }
    // PostgreSQL has many writers.
    let begun = tokio::select! { begun = &mut other => Some(begun), () = a_while() => None };
    let look = async {
        let begun = match begun {
            Some(begun) => begun,
            None => other.await,
        };
        let is_safe = !site.media_files().is_empty() || rows(&site).await == 0;
        drop(begun.unwrap());
        is_safe
    };
    let (committed, (), is_safe) = tokio::join!(change.commit(), removal, look);
    committed.unwrap();
    assert!(is_safe, "the file is gone, its row is not");
    assert_eq!((site.media_files().len(), rows(&site).await), (0, 0));
}

/// What a process leaves that was killed: the next one has nothing in mind.
#[tokio::test]
async fn what_a_crash_has_left_is_found_and_removed() {
    let site = Site::open().await;
    let kept = site.upload("a.png", &png(800, 5, 1)).await.data();
    let lost = site.upload("b.png", &png(8, 5, 2)).await.data();
    let path = |file: &serde_json::Value| file["path"].as_str().unwrap()[7..].to_owned();
    site.ask(&format!("GET /media/{}?w=160", path(&kept))).expect(200).await;
    let media = site.media_folder();
    let write = |place: &str| {
        let place = media.join(place);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, "left").unwrap();
        place
    };
    let orphan = format!("ab/{}.png", "c".repeat(62));
    write(&orphan);
    write(&format!(".variants/ab/{}-160.png", "d".repeat(62)));
    let fresh = write(".incoming/fresh");
    let at = |millis: i64| SystemTime::UNIX_EPOCH + Duration::from_millis(millis as u64);
    let age = |place: &std::path::Path, at| {
        std::fs::File::options().write(true).open(place).unwrap().set_modified(at).unwrap();
    };
    age(&fresh, at(NOW - 3_599_000));
    age(&write(".incoming/old"), at(NOW - 3_600_000));
    std::fs::remove_file(media.join(path(&lost))).unwrap();
    let check = async |remove| site.cms.media().check(remove).await.unwrap();
    let found = check(false).await;
    assert_eq!((found.files, found.orphans, found.removed, found.lost), (1, 3, 0, 1), "{found:?}");
    assert_eq!(found.missing, [lost["path"].as_str().unwrap()]);
    assert_eq!(site.media_files().len(), 6);
    let body = serde_json::json!({"remove": true});
    let found = site.post("/api/backend/media/check", body).await;
    has!(found, {"orphans": 3, "removed": 3});
    // The row of a lost file stays: the same content mends it.
    assert_eq!(site.media_files().len(), 3);
    site.uploading(&[], "b.png", &png(8, 5, 2)).expect(200).await;
    assert_eq!(check(true).await.lost, 0);
    assert!(fresh.exists());
    // A task of the service does this every day.
    write(&orphan);
    site.admin("POST /api/backend/tasks/run?name=sweep").expect(200).await;
    assert!(!media.join(&orphan).exists());
}

/// A file that cannot be removed keeps no others; one folder comes after another.
#[tokio::test]
async fn a_file_that_fails_keeps_no_others() {
    let site = Site::open().await;
    let media = site.media_folder();
    let place = |folder: &str, digit: &str| format!("{folder}/{}.png", digit.repeat(62));
    let (first, later) = (place("ab", "c"), place("ba", "d"));
    for orphan in [&first, &later] {
        let orphan = media.join(orphan);
        std::fs::create_dir_all(orphan.parent().unwrap()).unwrap();
        std::fs::write(orphan, "left").unwrap();
    }
    // A folder in place of its variant: the removal fails, whoever runs the tests.
    let variant = media.join(format!(".variants/ab/{}-160.png", "c".repeat(62)));
    std::fs::create_dir_all(variant).unwrap();
    let found = site.cms.media().check(true).await.unwrap();
    assert_eq!((found.orphans, found.removed), (2, 1), "{found:?}");
    assert!(!media.join(&later).exists());
}
