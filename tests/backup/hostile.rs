//! Archives that are damaged, or made by somebody who wants something: none is taken, and nothing
//! changes.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    path::Path,
};

use cms_core::{
    Code,
    backup::{self, Identities},
    settings::Settings,
};
use serde_json::{Value as Json, json};

use super::{nobody, restore, saved};
use crate::support::TestDatabase;

/// What is left of a place that nothing may be put in.
fn content(dir: &Path) -> BTreeMap<String, u64> {
    let files = crate::support::media::files_below(dir);
    let length = |name: &String| fs::metadata(dir.join(name)).unwrap().len();
    files.into_iter().map(|name| (name.clone(), length(&name))).collect()
}

async fn refusal(bytes: &[u8], settings: &Settings) -> cms_core::Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.cms");
    fs::write(&path, bytes).unwrap();
    restore(settings, &path, true).await.expect_err("it is refused")
}

/// It is refused and says why, and nothing is put there.
async fn refused(what: &str, bytes: &[u8], why: &str, target: &TestDatabase) {
    let error = refusal(bytes, &target.settings()).await;
    assert_eq!(error.code(), Code::ValidationFailed, "{what}: {error}");
    assert!(error.detail().contains(why), "{what}: {error}");
    assert!(content(target.folder()).is_empty(), "{what}");
}

#[tokio::test]
#[ignore = "takes minutes: .ci/full runs it"]
async fn a_damaged_byte_anywhere_is_found() {
    let (_old, archive) = saved().await;
    let good = fs::read(&archive).unwrap();
    let target = TestDatabase::new().await;
    let settings = target.settings();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.cms");
    let keys = Identities::default();
    let step = (good.len() / 400).max(1);
    let ends = (0..good.len().min(64)).chain(good.len().saturating_sub(64)..good.len());
    let mut tried = 0;
    for at in (0..good.len()).step_by(step).chain(ends) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(&path, &bad).unwrap();
        let judged = backup::judge(&path, &settings, &keys, nobody()).await;
        let error = judged.err().unwrap_or_else(|| panic!("byte {at} of {}", good.len()));
        assert_eq!(error.code(), Code::ValidationFailed, "{at}");
        tried += 1;
    }
    for length in (0..good.len()).step_by(step) {
        fs::write(&path, &good[..length]).unwrap();
        assert!(backup::judge(&path, &settings, &keys, nobody()).await.is_err(), "{length} bytes");
        tried += 1;
    }
    for more in [vec![0], vec![0; 4096], good.clone()] {
        let error = refusal(&[&*good, &*more].concat(), &settings).await;
        assert_eq!(error.code(), Code::ValidationFailed, "{error}");
    }
    let frame = &good[..good.len() - 40];
    for more in [&[0][..], frame] {
        let error = refusal(&sealed([frame, more].concat()), &settings).await;
        assert!(error.detail().contains("follows its end"), "{error}");
    }
    println!("{tried} damaged archives of {} bytes", good.len());
    assert_eq!(content(target.folder()), BTreeMap::new());
}

/// The entries of an archive.
fn entries(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let tar = zstd::decode_all(archive).unwrap();
    let mut tar = tar::Archive::new(&*tar);
    let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (name, bytes)
    };
    tar.entries().unwrap().map(read).collect()
}

fn header(name: &str, size: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    // As it is: what the library would refuse too.
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size);
    header.set_mode(0o644);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    header
}

fn packed(entries: &[Entry]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (header, bytes) in entries {
        tar.append(header, &**bytes).unwrap();
    }
    sealed(zstd::encode_all(&*tar.into_inner().unwrap(), 1).unwrap())
}

/// A frame with its digest, in a frame that is skipped.
fn sealed(mut frame: Vec<u8>) -> Vec<u8> {
    let digest = cms_core::crypto::sha256(&frame);
    frame.extend([0x50, 0x2a, 0x4d, 0x18, 32, 0, 0, 0]);
    frame.extend(digest);
    frame
}

type Entry = (tar::Header, Vec<u8>);

/// The entries, changed, with further ones before the manifest; the end fits what the manifest is
/// then.
fn rebuilt(
    good: &[(String, Vec<u8>)],
    more: &[Entry],
    change: &dyn Fn(&str, &mut Vec<u8>),
) -> Vec<Entry> {
    let (mut all, mut digest) = (Vec::new(), String::new());
    for (name, bytes) in good {
        let mut bytes = bytes.clone();
        change(name, &mut bytes);
        if name == "manifest.json" {
            all.extend(more.iter().cloned());
            digest = cms_core::crypto::sha256_hex(&bytes);
        } else if name == "end" && !bytes.is_empty() {
            bytes = format!("{digest}\n").into_bytes();
        }
        all.push((header(name, bytes.len() as u64), bytes));
    }
    all
}

/// A change of the manifest alone.
fn of_manifest(change: impl Fn(&mut Json)) -> impl Fn(&str, &mut Vec<u8>) {
    move |name, bytes| {
        if name == "manifest.json" {
            let mut manifest = serde_json::from_slice(bytes).unwrap();
            change(&mut manifest);
            *bytes = serde_json::to_vec(&manifest).unwrap();
        }
    }
}

/// The archive with further entries, which its manifest may name.
fn with(good: &[(String, Vec<u8>)], more: &[Entry], named: bool) -> Vec<u8> {
    let name = of_manifest(|manifest| {
        for (header, content) in more.iter().filter(|_| named) {
            let name = String::from_utf8_lossy(&header.path_bytes()).into_owned();
            let sha256 = cms_core::crypto::sha256_hex(content);
            let entry = json!({"name": name, "size": content.len(), "sha256": sha256});
            manifest["entries"].as_array_mut().unwrap().push(entry);
        }
    });
    packed(&rebuilt(good, more, &name))
}

fn typed(name: &str, kind: tar::EntryType) -> Entry {
    let mut header = header(name, 0);
    header.set_entry_type(kind);
    header.set_link_name("/etc/passwd").unwrap();
    header.set_cksum();
    (header, Vec::new())
}

#[tokio::test]
async fn nothing_leads_out_of_the_site() {
    let (_old, archive) = saved().await;
    let good = entries(&fs::read(&archive).unwrap());
    let target = TestDatabase::new().await;
    let settings = target.settings();
    let plain = |name: &str| (header(name, 1), vec![b'x']);
    use tar::EntryType as Kind;
    let mut cases = vec![
        ("climbs", plain("plugins/../../x"), "no place"),
        ("climbs at once", plain("../x"), "no place"),
        ("absolute", plain("/tmp/x"), "no place"),
        ("another folder", plain("data/x"), "no place"),
        ("no name of media", plain("media/x.png"), "no place"),
        ("a variant", plain("media/.variants/ab/x.png"), "no place"),
        ("other settings", plain("settings/x.toml"), "no place"),
        ("a folder for a file", plain("plugins/hello"), ""),
        ("twice", plain("plugins/hello/plugin.json"), "twice"),
    ];
    for kind in [
        Kind::Symlink,
        Kind::Link,
        Kind::Directory,
        Kind::Char,
        Kind::Block,
        Kind::Fifo,
        Kind::Continuous,
        Kind::GNUSparse,
        Kind::GNULongName,
        Kind::XHeader,
        Kind::XGlobalHeader,
    ] {
        cases.push(("a kind", typed("plugins/hello/x", kind), "not a plain file"));
    }
    for (what, entry, why) in cases {
        refused(what, &with(&good, &[entry], true), why, &target).await;
    }
    let unnamed = plain("plugins/hello/more");
    let error = refusal(&with(&good, &[unnamed], false), &settings).await;
    assert!(error.detail().contains("not those that its manifest names"), "{error}");
    // The same way of packing makes a good one.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.cms");
    let more = plain("plugins/hello/more");
    fs::write(&path, with(&good, &[more], true)).unwrap();
    restore(&settings, &path, true).await.unwrap();
    assert!(settings.dirs.plugins.join("hello/more").is_file());
}

#[tokio::test]
async fn what_is_too_large_too_new_or_unfinished_is_refused() {
    let (_old, archive) = saved().await;
    let good = entries(&fs::read(&archive).unwrap());
    let target = TestDatabase::new().await;
    let settings = target.settings();
    let all = |change: &dyn Fn(&str, &mut Vec<u8>)| rebuilt(&good, &[], change);
    let manifest = |change: fn(&mut Json)| packed(&all(&of_manifest(change)));
    let same = all(&|_, _| {});
    let mut without_end = same.clone();
    without_end.pop();
    let mut reordered = same.clone();
    reordered.swap(1, 2);
    let cases = [
        ("another schema", manifest(|json| json["schema"] = 9999.into()), "newer cms"),
        ("a digest", manifest(|json| json["entries"][0]["size"] = 1.into()), "not those"),
        ("rows", manifest(|json| json["rows"]["cms_pages"] = 7.into()), "other rows"),
        (
            "another format",
            packed(&all(&|name, bytes| {
                if name == "cms-backup" {
                    *bytes = b"2\n".to_vec();
                }
            })),
            "newer cms",
        ),
        ("no end", packed(&without_end), "no end"),
        ("another order", packed(&reordered), "not those"),
        ("nothing", packed(&[]), "no end"),
        ("no archive", sealed(b"PK\x03\x04".to_vec()), "no backup"),
        ("empty", Vec::new(), "no backup"),
    ];
    for (what, bytes, why) in cases {
        refused(what, &bytes, why, &target).await;
    }
    // A petabyte of zeros is refused before it is read.
    let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
    bomb.write_all(header("cms-backup", 2).as_bytes()).unwrap();
    let mut block = [0; 512];
    block[..2].copy_from_slice(b"1\n");
    bomb.write_all(&block).unwrap();
    bomb.write_all(header("database/cms.db", 1 << 50).as_bytes()).unwrap();
    bomb.write_all(&vec![0; 64 << 20]).unwrap();
    let error = refusal(&sealed(bomb.finish().unwrap()), &settings).await;
    assert!(error.detail().contains("no room"), "{error}");
    // A window that would take much memory.
    let mut wide = zstd::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(&vec![0; 1 << 20]).unwrap();
    refusal(&sealed(wide.finish().unwrap()), &settings).await;
    assert!(content(target.folder()).is_empty());
}
