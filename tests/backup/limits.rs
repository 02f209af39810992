//! Large files take no memory, and a full disk takes no site.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use crate::support::{TestDatabase, process};

/// MiB of the process at most, its file apart.
const MOST: usize = 64;

/// Runs a command; the most that was in memory, in MiB, without pages of the program's file.
fn peak(mut command: Command) -> usize {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    let status = loop {
        let kib = |name| process::kib(child.id(), name);
        if let (Some(peak), Some(file)) = (kib("VmHWM"), kib("RssFile")) {
            most = most.max(peak.saturating_sub(file) >> 10);
        }
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    assert!(status.success());
    most
}

/// Puts `CMS_TEST_FILES` files of 20 MiB into a site, ten by default.
async fn fill(database: &TestDatabase) {
    let files: u64 = std::env::var("CMS_TEST_FILES").map_or(10, |n| n.parse().unwrap());
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    for n in 0..files {
        let mut bytes = Vec::with_capacity(20 << 20);
        while bytes.len() < 20 << 20 {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            bytes.write_all(&noise.to_le_bytes()).unwrap();
        }
        let sha = cms_core::crypto::sha256_hex(&bytes);
        let path = format!("{}/{}.pdf", &sha[..2], &sha[2..]);
        let file = database.folder().join("data/media").join(&path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, &bytes).unwrap();
        let row = format!(
            "insert into cms_media (path, file_name, media_type, size, sha256, folder, \
             uploaded_at) values ('/media/{path}', '{n}.pdf', 'application/pdf', {}, '{sha}', '', \
             '2026-01-01T00:00:00Z')",
            bytes.len()
        );
        database.run(row).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: .ci/full runs it"]
async fn large_media_take_no_memory() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    fill(&database).await;
    let archive = database.folder().join("site.cms");
    let file = archive.to_str().unwrap();
    let began = std::time::Instant::now();
    let saving = peak(process::command(&database, &["db", "backup", file]));
    let saved = began.elapsed();
    let restoring = peak(process::command(&database, &["db", "restore", file, "--yes"]));
    let restored = began.elapsed() - saved;
    let length = fs::metadata(&archive).unwrap().len() >> 20;
    println!(
        "{length} MiB: saved in {saved:?}, {saving} MiB; restored in {restored:?}, {restoring} MiB"
    );
    assert!(saving <= MOST && restoring <= MOST, "{saving} MiB, {restoring} MiB");
    process::run(&database, &["db", "check", "--deep"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_leaves_the_site_as_it_is() {
    use crate::media::full::{apart, within};
    let database = TestDatabase::new().await;
    let small = tempfile::tempdir().unwrap();
    let Some(way) = apart(small.path()) else {
        assert!(std::env::var_os("CMS_TEST_FULL").is_none(), "this machine has no mounts");
        return println!("NOT SHOWN: this machine lets a process have no mounts of its own");
    };
    process::run(&database, &["init"]);
    fill(&database).await;
    // No room for the archive.
    let refused = |command: Command, said: &str| {
        let output = within(&command, way, small.path()).output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && why.contains(said), "{why}");
    };
    let file = small.path().join("site.cms");
    let command = process::command(&database, &["db", "backup", file.to_str().unwrap()]);
    refused(command, "disk is full");
    assert!(!database.folder().join("data/last-backup.json").exists());
    // No room for what is restored: judged before anything is laid there.
    let archive = database.folder().join("site.cms");
    process::run(&database, &["db", "backup", archive.to_str().unwrap()]);
    let other = TestDatabase::new().await;
    let mut command = process::command(&other, &["db", "restore", archive.to_str().unwrap()]);
    command.env("CMS_DIRS__MEDIA", small.path().join("media"));
    refused(command, "no room");
    assert!(!other.folder().join("data/restore.json").exists());
    assert!(!other.folder().join("data/cms.db").exists());
}
