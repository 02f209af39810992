//! Updates that break off: killed at each step, or on a full disk. Afterwards the old or the new
//! version runs.

use std::{path::Path, process::Command};

use super::lab::{Lab, Server, patched, zipped};
use crate::support::{Served, finish};

/// The steps at which a debug build can be killed, and the version that stands afterwards.
const STEPS: [(&str, &str); 12] = [
    ("downloading", "3.0.0"),
    ("preparing", "3.0.0"),
    ("unpacking", "3.0.0"),
    ("unpacked", "3.0.0"),
    ("trying", "3.0.0"),
    ("judged", "3.0.0"),
    ("switching", "3.0.0"),
    ("kept", "3.0.0"),
    ("switched", "3.0.1"),
    // Back again.
    ("returning", "3.0.1"),
    ("returned", "3.0.0"),
    ("", "3.0.1"),
];

#[test]
#[ignore = "takes minutes: .ci/full runs it"]
fn an_update_that_is_killed_leaves_the_old_or_the_new_version() {
    let lab = Lab::new();
    let archive = zipped(&[("cms", &patched(&lab.program()))]);
    let server = Server::release("3.0.1", archive);
    for (step, stands) in STEPS {
        let args: &[&str] = match step {
            "returning" | "returned" => &["update", "rollback"],
            _ => &["update", "apply", "--without-backup"],
        };
        let mut command = lab.command(&server.url, args);
        command.env("CMS_TEST_UPDATE_KILL", step);
        let run = finish(command, None);
        assert_eq!(run.code, if step.is_empty() { 0 } else { -1 }, "{step}: {run:?}");
        assert_eq!(lab.version(), stands, "{step}");
        assert!(
            orphans(&lab.folder.path().join("cms.next")).is_empty(),
            "{step}: a trial lives on"
        );
        // The next start finishes or undoes it, and serves.
        let mut serve = lab.command("", "serve --listen 127.0.0.1:0");
        serve.env_remove("CMS_UPDATE_BASE_URL");
        let served = Served::started(serve).unwrap_or_else(|said| panic!("{step}: {said:?}"));
        drop(served);
        assert_eq!(lab.version(), stands, "{step}");
        let left = lab.beside();
        let clean = left.iter().all(|name| name == "cms.previous");
        assert!(clean, "{step}: {left:?}");
    }
}

/// The processes that run a program.
fn orphans(program: &Path) -> Vec<String> {
    // A killed parent takes its child along, but not in the same instant.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    entries
        .filter(|entry| {
            std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program)
        })
        .map(|entry| entry.path().display().to_string())
        .collect()
}

/// How this machine lets a process have mounts of its own. None: it does not.
fn apart(folder: &Path) -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    ways.into_iter().find(|way| {
        let mut command = Command::new("unshare");
        command.args(*way).args(["mount", "-t", "tmpfs", "tmpfs"]).arg(folder);
        let status = command.stderr(std::process::Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    })
}

#[test]
#[ignore = "takes minutes: .ci/full runs it"]
fn a_full_disk_leaves_the_old_version() {
    let lab = Lab::new();
    let (data, bin) =
        (lab.site.path().join("data/updates"), tempfile::tempdir().expect("a folder"));
    std::fs::create_dir_all(&data).expect("a folder");
    let Some(way) = apart(&data) else {
        let why = "this machine lets no process mount anything";
        assert!(std::env::var_os("CMS_TEST_FULL").is_none(), "CMS_TEST_FULL is set, but {why}");
        return eprintln!("not shown: {why}");
    };
    // Four megabytes that do not pack.
    let mut noise = 1_u64;
    let padding: Vec<u8> = std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'a' + (noise >> 60) as u8
    })
    .take(4 << 20)
    .collect();
    let program = [Lab::newer("3.1.0", "").as_bytes(), b"#", &padding].concat();
    let archive = zipped(&[("cms", &program)]);
    let server = Server::release("3.1.0", archive);
    let size = std::fs::metadata(lab.program()).expect("a program").len();
    // First the folder of archives is full, then that of the program.
    for (updates, beside) in [(1 << 20, size + (64 << 20)), (64 << 20, size + (2 << 20))] {
        let script = format!(
            "mount -t tmpfs -o size={updates} tmpfs '{data}' &&
             mount -t tmpfs -o size={beside} tmpfs '{bin}' && cp '{cms}' '{bin}/cms' || exit 99
             '{bin}/cms' update apply --without-backup; echo \"ended $?\"
             '{bin}/cms' version; ls '{bin}' '{data}'",
            data = data.display(),
            bin = bin.path().display(),
            cms = lab.program().display(),
        );
        let cms = lab.command(&server.url, "");
        let mut outer = Command::new("unshare");
        outer.args(way).args(["sh", "-c", &script]);
        for (name, value) in cms.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        outer.stdin(std::process::Stdio::null());
        outer.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let run = finish(outer, None).fails(0);
        assert!(run.out.starts_with("ended 1\ncms 3.0.0\n"), "{run:?}");
        assert!(run.err.contains("No space left on device"), "{run:?}");
        assert!(!run.out.contains(".next") && !run.out.contains(".part"), "{run:?}");
        assert!(!run.out.contains("update.json"), "{run:?}");
    }
}
