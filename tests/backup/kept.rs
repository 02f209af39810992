//! Backups that only one person can read, that lie in a bucket, and that the service makes by
//! itself.

use std::{fs, io::Read as _, path::Path};

use age::{Decryptor, Identity, secrecy::ExposeSecret as _, x25519::Identity as Key};
use cms_core::{
    Code, Level,
    backup::{self, Identities, Object, Saving, To},
    tasks::TaskName,
};

use super::{closed, nobody, save, save_tried, site, written_at};
use crate::support::{Site, TestDatabase, media::png, s3::Bucket};

fn keyed(folder: &Path, name: &str, key: &Key) -> Identities {
    let path = folder.join(name);
    let text = format!("# created: today\n{}\n", key.to_string().expose_secret());
    fs::write(&path, text).unwrap();
    Identities::read(&path).unwrap()
}

#[tokio::test]
async fn only_a_private_key_opens_an_encrypted_one() {
    let site = site().await;
    let (mine, other) = (Key::generate(), Key::generate());
    let mut settings = site.cms.settings().clone();
    settings.backup.recipients = vec![mine.to_public().to_string()];
    let folder = site.database.folder().to_owned();
    settings.folder = Some(folder.clone());
    fs::write(folder.join("cms.local.toml"), "password_salt = \"a salt\"\n").unwrap();
    let archive = folder.join("site.cms");
    // It is tried without anybody's private key.
    let saved = save_tried(&settings, &archive).await.unwrap();
    assert!(saved.verified && saved.encrypted && saved.with_secrets, "{saved:?}");
    let mut plain = Saving::default();
    plain.plain = true;
    let to = To::File(folder.join("plain.cms"));
    let plain = backup::save(&settings, to, plain, nobody()).await.unwrap();
    assert!(!plain.encrypted && !plain.with_secrets, "{plain:?}");
    let _old = closed(site).await;
    let bytes = fs::read(&archive).unwrap();
    assert_eq!(saved.bytes, bytes.len() as u64);

    let new = TestDatabase::new().await;
    let target = new.settings();
    let (right, wrong) = (keyed(&folder, "mine", &mine), keyed(&folder, "other", &other));
    for (keys, why) in [(Identities::default(), "is encrypted"), (wrong, "cannot be decrypted")] {
        let refused = backup::judge(&archive, &target, &keys, nobody()).await.err().unwrap();
        assert_eq!(refused.code(), Code::ValidationFailed);
        assert!(refused.detail().contains(why), "{refused}");
    }
    // Damaged, cut off, longer: the same rule as for a plain one.
    let bad = folder.join("bad.cms");
    let last = bytes.len() - 1;
    for at in [0, 30, 300, last / 2, last] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        fs::write(&bad, bytes).unwrap();
        assert!(backup::judge(&bad, &target, &right, nobody()).await.is_err(), "byte {at}");
    }
    for other in [bytes[..last].to_vec(), bytes[..300].to_vec(), [&*bytes, b"x"].concat()] {
        fs::write(&bad, &other).unwrap();
        let judged = backup::judge(&bad, &target, &right, nobody()).await;
        assert!(judged.is_err(), "{} bytes of {}", other.len(), bytes.len());
    }
    // What is in it is an archive as any other.
    let decryptor = Decryptor::new(&*bytes).unwrap();
    let mut plain = Vec::new();
    let keys = [&mine as &dyn Identity];
    decryptor.decrypt(keys.into_iter()).unwrap().read_to_end(&mut plain).unwrap();
    fs::write(&bad, plain).unwrap();
    backup::judge(&bad, &target, &Identities::default(), nobody()).await.unwrap();

    let judged = backup::judge(&archive, &target, &right, nobody()).await.unwrap();
    judged.restore(&target, false, nobody()).await.unwrap();
    let names = judged.place_settings(new.folder()).unwrap();
    assert!(names.contains(&"cms.local.toml".to_owned()), "{names:?}");
    assert_eq!(written_at(&target).await, ["a", "b"]);
}

#[test]
fn a_file_of_keys_holds_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    for text in ["", "# only a comment\n", "AGE-SECRET-KEY-1\n", "ssh-ed25519 AAAA\n"] {
        fs::write(&path, text).unwrap();
        let refused = Identities::read(&path).err().unwrap();
        assert_eq!(refused.code(), Code::ValidationFailed, "{text:?}");
        assert!(!refused.detail().contains("AAAA"), "{refused}");
    }
    let refused = Identities::read(&folder.path().join("none")).err().unwrap();
    assert_eq!(refused.code(), Code::NotFound, "{refused}");
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A site that keeps so many backups in a folder.
async fn keeping(to: &Path, keep: u64) -> Site {
    Site::with(|settings| {
        settings.backup.to = Some(to.display().to_string());
        settings.backup.keep = keep;
    })
    .await
}

async fn run_task(site: &Site) -> String {
    let tasks = site.cms.tasks();
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    let name = TaskName { name: "backup".to_owned(), plugin: None };
    let claimed = tasks.claim(&mut change, &name).await.unwrap();
    let id = claimed.run_id();
    change.commit().await.unwrap();
    tasks.begin(claimed).await;
    let run = tasks.run_of(id).await.unwrap();
    run.error.unwrap_or(run.outcome)
}

#[tokio::test]
async fn the_service_makes_backups_and_removes_the_oldest() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("saved");
    let site = keeping(&to, 2).await;
    site.upload("a.png", &png(8, 5, 1)).await;
    // A disk that is not mounted is told, and not filled.
    let failed = run_task(&site).await;
    assert!(failed.contains("mount its disk"), "{failed}");
    fs::create_dir(&to).unwrap();
    assert_eq!(run_task(&site).await, "done");
    let first = names(&to).remove(0);
    let ours = first.split_at(first.len() - "20261126T030000Z.cms".len()).0;
    fs::remove_file(to.join(&first)).unwrap();
    let old = ["20240101T000000Z.cms", "20250101T000000Z.cms"].map(|at| format!("{ours}{at}"));
    let others = ["notes.txt", "site-mine.cms", "site-ffffffff-20240101T000000Z.cms"];
    for name in old.iter().map(String::as_str).chain(others) {
        fs::write(to.join(name), "x").unwrap();
    }
    assert_eq!(run_task(&site).await, "done");
    let found = names(&to);
    assert!(found.len() == 5 && !found.contains(&old[0]), "{found:?}");
    let made = found.iter().find(|name| name.starts_with(ours) && **name != old[1]).unwrap();
    let last = backup::last(site.cms.settings()).unwrap();
    assert!(last.verified && last.file.ends_with(made.as_str()), "{last:?}");
    let settings = site.cms.settings().clone();
    let keys = Identities::default();
    backup::judge(&to.join(made), &settings, &keys, nobody()).await.unwrap();
    // One that fails removes none.
    fs::remove_file(settings.dirs.data.join("last-backup.json")).unwrap();
    fs::create_dir(settings.dirs.data.join("last-backup.json")).unwrap();
    assert_ne!(run_task(&site).await, "done");
    assert!(names(&to).contains(&old[1]));
    site.cms.close().await;
}

#[tokio::test]
async fn one_that_lacks_files_fails_and_no_older_one_goes() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_owned();
    let site = keeping(&to, 1).await;
    for seed in [1, 2] {
        site.upload("a.png", &png(8, 5, seed)).await;
    }
    let settings = site.cms.settings().clone();
    assert_eq!(run_task(&site).await, "done");
    assert_eq!(backup::last(&settings).unwrap().warnings, Vec::<String>::new());
    let whole = names(&to).remove(0);
    let old = format!("{}20250101T000000Z.cms", whole.split_at(whole.len() - 20).0);
    fs::rename(to.join(&whole), to.join(&old)).unwrap();
    let aside = settings.dirs.media.with_extension("aside");
    fs::rename(&settings.dirs.media, &aside).unwrap();
    let failed = run_task(&site).await;
    for said in ["the file is missing, and 1 more", "No older backup was removed"] {
        assert!(failed.contains(said), "{failed}");
    }
    let found = names(&to);
    assert!(found.len() == 2 && found.contains(&old), "{found:?}");
    let last = backup::last(&settings).unwrap();
    assert_eq!(last.warnings.len(), 2, "{last:?}");
    // The files are back: the older ones go again.
    let _ = fs::remove_dir_all(&settings.dirs.media);
    fs::rename(&aside, &settings.dirs.media).unwrap();
    assert_eq!(run_task(&site).await, "done");
    assert_eq!(names(&to).len(), 1);
    site.cms.close().await;
}

/// A machine notes its own backups only; the history of the task is common to all.
#[tokio::test]
async fn a_backup_that_another_machine_made_counts() {
    const HOUR: i64 = 3_600_000;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().display().to_string();
    let site = Site::builder().await;
    let site = site.settings(|settings| {
        settings.backup.to = Some(to);
        settings.backup.every_h = 24;
    });
    let site = site.open().await;
    let check = async || {
        site.clock.advance(1_000);
        let findings = site.cms.status().await;
        findings.into_iter().find(|finding| finding.check == "backup").unwrap()
    };
    let made_at = site.clock.now();
    assert_eq!(run_task(&site).await, "done");
    let note = site.cms.settings().dirs.data.join("last-backup.json");
    fs::remove_file(&note).unwrap();
    let found = check().await;
    assert_eq!(found.found, format!("made at {}", cms_core::rfc3339(made_at)), "{found:?}");
    // The later of the two counts.
    let noted = |made_at: i64| {
        let lacks = ["media/a.png: the file is missing"];
        let made_at = cms_core::rfc3339(made_at);
        serde_json::json!({
            "made_at": made_at, "file": "-", "bytes": 1, "verified": false, "warnings": lacks,
        })
    };
    fs::write(&note, noted(made_at + 1).to_string()).unwrap();
    let found = check().await;
    assert!(found.found.contains("lacks something: media/a.png"), "{found:?}");
    fs::write(&note, noted(made_at - 1).to_string()).unwrap();
    let found = check().await;
    assert_eq!(found.level, Level::Ok, "{found:?}");
    site.clock.advance(49 * HOUR);
    let found = check().await;
    assert_eq!((found.level, &*found.found), (Level::Warning, "the last one is 49 hours old"));
    site.cms.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_keeps_them_too() {
    let Some(bucket) = Bucket::new() else { return };
    let place = format!("s3://{}/saved", bucket.name);
    let site = Site::with(|settings| {
        bucket.keep(settings, bucket.server());
        settings.media.bucket = None;
        settings.media.prefix = None;
        settings.backup.to = Some(place.clone());
        settings.backup.keep = 1;
    })
    .await;
    // More than one part: noise does not get smaller.
    for seed in 0..40 {
        site.upload("a.png", &png(400, 300, seed)).await;
    }
    let settings = site.cms.settings().clone();
    assert_eq!(run_task(&site).await, "done");
    let first = bucket.objects();
    assert!(first.len() == 1 && first[0].starts_with("saved/site-"), "{first:?}");
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert_eq!(run_task(&site).await, "done");
    let second = bucket.objects();
    assert!(second.len() == 1 && second != first, "{second:?}");
    let last = backup::last(&settings).unwrap();
    assert!(last.verified, "{last:?}");
    let object = Object::parse(&last.file).unwrap().unwrap();
    assert!(object.exists(&settings).await.unwrap());
    let database = closed(site).await;

    let new = TestDatabase::new().await;
    let mut target = new.settings();
    bucket.keep(&mut target, bucket.server());
    target.media.bucket = None;
    let path = object.fetch(&target, &nobody()).await.unwrap();
    let judged = backup::judge(&path, &target, &Identities::default(), nobody()).await.unwrap();
    let restored = judged.restore(&target, false, nobody()).await.unwrap();
    assert_eq!(restored.media, 40);
    assert_eq!(database.dump("cms_media").await, new.dump("cms_media").await);
    // One that does not end leaves nothing, and no parts.
    let mut broken = settings.clone();
    broken.dirs.plugins = new.folder().join("deep");
    fs::create_dir_all(broken.dirs.plugins.join("a/".repeat(40))).unwrap();
    let to = Object::parse(&format!("{place}/broken.cms")).unwrap().unwrap();
    let how = Saving::default();
    backup::save(&broken, To::Object(to.clone()), how, nobody()).await.unwrap_err();
    assert!(!to.exists(&settings).await.unwrap());
    assert_eq!(bucket.uploads(), Vec::<String>::new());
    let none = Object::parse(&format!("{place}/none.cms")).unwrap().unwrap();
    let missing = none.fetch(&settings, &nobody()).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
}

#[tokio::test]
async fn an_address_of_no_object_is_refused() {
    for bad in ["s3://", "s3://bucket", "s3://bucket/", "s3://Bucket/a", "s3://bucket/../a"] {
        assert!(Object::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(Object::parse("site.cms").unwrap(), None);
    let good = "s3://bucket/a/site.cms";
    assert_eq!(Object::parse(good).unwrap().unwrap().to_string(), good);
    let site = site().await;
    let object = Object::parse(good).unwrap().unwrap();
    let settings = site.cms.settings().clone();
    let refused = backup::save(&settings, To::Object(object), Saving::default(), nobody()).await;
    assert_eq!(refused.unwrap_err().code(), Code::ValidationFailed, "no keys of a store");
    let archive = site.database.folder().join("site.cms");
    save(&settings, &archive).await.unwrap();
    closed(site).await;
}
