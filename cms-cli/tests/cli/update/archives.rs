//! Archives that no release is, signed as if they were one: whoever holds the key may have lost it.

use std::io::{Cursor, Write};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::lab::{Lab, Server, zipped};

/// The archive with one name replaced by another of the same length, as no writer would write it.
fn renamed(files: &[(&str, &[u8])], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = zipped(files);
    let at: Vec<usize> = (0..bytes.len() - from.len())
        .filter(|at| &bytes[*at..at + from.len()] == from.as_bytes())
        .collect();
    assert_eq!(at.len(), 2, "once before the file, once in the directory");
    at.iter().for_each(|at| bytes[*at..at + to.len()].copy_from_slice(to.as_bytes()));
    bytes
}

fn with_link(name: &str, target: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_symlink(name, target, SimpleFileOptions::default()).expect("a link");
    if name != "cms" {
        zip.start_file("cms", SimpleFileOptions::default()).expect("a file");
        zip.write_all(b"#!/bin/sh\n").expect("written");
    }
    zip.finish().expect("an archive").into_inner()
}

/// A few kilobytes that unpack to 200 MiB.
fn bomb(name: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let zeros = vec![0; 1 << 20];
    zip.start_file(name, SimpleFileOptions::default()).expect("a file");
    (0..200).for_each(|_| zip.write_all(&zeros).expect("written"));
    if name != "cms" {
        zip.start_file("cms", SimpleFileOptions::default()).expect("a file");
        zip.write_all(b"#!/bin/sh\n").expect("written");
    }
    zip.finish().expect("an archive").into_inner()
}

/// A bomb whose directory says that it is small.
fn lying() -> Vec<u8> {
    let mut bytes = bomb("cms");
    let length = 200_u32 << 20;
    let at: Vec<usize> =
        (0..bytes.len() - 4).filter(|at| bytes[*at..at + 4] == length.to_le_bytes()).collect();
    assert!(!at.is_empty(), "the length is in it");
    at.iter().for_each(|at| bytes[*at..at + 4].copy_from_slice(&1000_u32.to_le_bytes()));
    bytes
}

fn damaged() -> Vec<u8> {
    let mut bytes = zipped(&[("cms", "#!/bin/sh\n".repeat(1000).as_bytes())]);
    bytes[60] ^= 0xff;
    bytes
}

#[test]
fn an_archive_with_anything_suspicious_is_refused_whole() {
    let good: &[u8] = b"#!/bin/sh\necho 'cms 3.1.0'\n";
    let mut cut = zipped(&[("cms", good)]);
    cut.truncate(cut.len() - 10);
    let table: [(&str, Vec<u8>, &str); 14] = [
        ("above", renamed(&[("AAA", good), ("cms", good)], "AAA", "../"), "leads out of it"),
        ("above, later", renamed(&[("x/BB/e", b"x"), ("cms", good)], "x/BB/e", "x/../e"), "leads"),
        ("root", renamed(&[("AAAAA", b"x"), ("cms", good)], "AAAAA", "/evil"), "leads out of it"),
        ("backslash", renamed(&[("AAAA", b"x"), ("cms", good)], "AAAA", "..\\e"), "leads out"),
        ("drive", renamed(&[("AAAA", b"x"), ("cms", good)], "AAAA", "C:\\e"), "leads out of it"),
        ("twice", renamed(&[("cmX", b"x"), ("cms", good)], "cmX", "cms"), "refused"),
        ("a link as the program", with_link("cms", "/bin/sh"), "is a link or a device"),
        ("a link beside", with_link("lib", "/etc"), "is a link or a device"),
        ("no program", zipped(&[("bin/cms", good)]), "holds no file named cms"),
        ("bomb", bomb("cms"), "would unpack to 209715200 bytes"),
        ("bomb beside", bomb("README"), "would unpack to"),
        ("lying bomb", lying(), "refused"),
        ("damaged", damaged(), "it is damaged"),
        ("cut", cut, "it is damaged"),
    ];
    let lab = Lab::new();
    for (name, archive, why) in table {
        let server = Server::release("3.1.0", archive);
        let run = lab.run(&server.url, "update apply --without-backup");
        assert_eq!(run.code, 1, "{name}: {run:?}");
        assert!(run.err.contains(why) && run.err.contains("3.0.0 stays"), "{name}: {run:?}");
        assert_eq!(lab.beside(), Vec::<String>::new(), "{name}");
        assert_eq!(lab.version(), "3.0.0", "{name}");
    }
    let names = |dir: &std::path::Path| std::fs::read_dir(dir).expect("a folder").count();
    assert_eq!(names(&lab.site.path().join("data/updates")), 2, "the last archive, what was seen");
}

#[test]
fn a_file_that_changes_after_the_check_is_not_used() {
    let lab = Lab::new();
    let archive = zipped(&[("cms", b"#!/bin/sh\necho 'cms 3.1.0'\n")]);
    let server = Server::release("3.1.0", archive);
    lab.run(&server.url, "update download").ok();
    let kept = lab.site.path().join("data/updates/cms-3.1.0.zip");
    let evil = zipped(&[("cms", b"#!/bin/sh\necho evil\n")]);
    std::fs::write(&kept, &evil).expect("written");
    lab.run(&server.url, "update download").ok();
    assert_ne!(std::fs::read(&kept).expect("an archive"), evil, "it was downloaded again");
    // A link in its place is replaced, and nothing is written through it.
    let target = lab.folder.path().join("target");
    std::fs::write(&target, "mine").expect("written");
    std::fs::remove_file(&kept).expect("removed");
    std::os::unix::fs::symlink(&target, kept.with_extension("zip.part")).expect("a link");
    lab.run(&server.url, "update download").ok();
    assert_eq!(std::fs::read_to_string(&target).expect("a file"), "mine");
}
