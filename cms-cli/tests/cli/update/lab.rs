//! A site with a program of its own, keys that sign releases, archives, and an update server that
//! behaves as a test says.

use std::{
    io::{Cursor, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use cms_core::{crypto::sha256_hex, update::signed_text};
use data_encoding::BASE64;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value as Json, json};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::support::{Run, Words, command, finish, site};

/// The key that signs releases, from a seed.
pub(crate) fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a key")
}

pub(crate) fn public(seed: u8) -> String {
    BASE64.encode(pair(seed).public_key().as_ref())
}

/// A ZIP of these files.
pub(crate) fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let method = match content.len() > 1 << 20 {
            true => CompressionMethod::Stored,
            false => CompressionMethod::Deflated,
        };
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).expect("a file");
        zip.write_all(content).expect("written");
    }
    zip.finish().expect("an archive").into_inner()
}

/// The description of an archive, signed.
pub(crate) fn described(version: &str, file: &str, archive: &[u8], seed: u8) -> Json {
    let sha256 = sha256_hex(archive);
    let text = signed_text(version, file, &sha256);
    let signature = BASE64.encode(pair(seed).sign(text.as_bytes()).as_ref());
    json!({"version": version, "file": file, "sha256": sha256, "size": archive.len(),
           "notes": "New.", "signature": signature})
}

/// How the server answers one request.
pub(crate) enum Answer {
    /// A status, further header lines, and a body with its length.
    Whole(u16, String, Vec<u8>),
    /// The head and half of a body, then the end of the connection.
    Cut(Vec<u8>),
    /// A body that says no length and never ends.
    Endless,
    /// A byte now and then.
    Slow(Vec<u8>),
    /// Nothing.
    Silent,
}

type Behaviour = Box<dyn Fn(&str) -> Answer + Send + Sync>;

/// An update server on a free port, and the heads of the requests that it got.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers a path as `behaviour` says.
    pub(crate) fn new(behaviour: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (kept, behaviour) = (heads.clone(), Arc::new(Box::new(behaviour) as Behaviour));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, behaviour) = (kept.clone(), behaviour.clone());
                std::thread::spawn(move || answer(stream, &kept, &behaviour));
            }
        });
        Self { url, heads }
    }

    /// Offers an archive as this version, signed by the key of seed 1.
    pub(crate) fn release(version: &str, archive: Vec<u8>) -> Self {
        let file = format!("cms-{version}.zip");
        Self::offering(described(version, &file, &archive, 1), archive)
    }

    /// Offers one release.
    pub(crate) fn offering(description: Json, archive: Vec<u8>) -> Self {
        let file = format!("/{}", description["file"].as_str().expect("a name"));
        Self::new(move |path| match path {
            "/latest.json" => Answer::Whole(200, String::new(), description.to_string().into()),
            path if path == file => Answer::Whole(200, String::new(), archive.clone()),
            _ => Answer::Whole(404, String::new(), Vec::new()),
        })
    }
}

fn answer(mut stream: TcpStream, kept: &Mutex<Vec<String>>, behaviour: &Behaviour) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).expect("UTF-8");
    let path = head.split(' ').nth(1).expect("a path").to_owned();
    kept.lock().expect("heads").push(head);
    let start =
        |status: u16, more: &str| format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{more}");
    // Whoever asks may hang up at any time.
    let _ = match behaviour(&path) {
        Answer::Whole(status, more, body) => {
            let head = start(status, &format!("{more}Content-Length: {}\r\n\r\n", body.len()));
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body))
        }
        Answer::Cut(body) => {
            let head = start(200, &format!("Content-Length: {}\r\n\r\n", body.len()));
            let half = &body[..body.len() / 2];
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(half))
        }
        Answer::Endless => {
            let _ = stream.write_all(start(200, "\r\n").as_bytes());
            let part = vec![b' '; 64 << 10];
            while stream.write_all(&part).is_ok() {}
            Ok(())
        }
        Answer::Slow(body) => {
            let head = start(200, &format!("Content-Length: {}\r\n\r\n", body.len()));
            let _ = stream.write_all(head.as_bytes());
            for byte in body {
                std::thread::sleep(Duration::from_millis(200));
                if stream.write_all(&[byte]).is_err() {
                    break;
                }
            }
            Ok(())
        }
        Answer::Silent => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
    };
}

/// A site, and a program that is its own to replace.
pub(crate) struct Lab {
    pub(crate) site: tempfile::TempDir,
    pub(crate) folder: tempfile::TempDir,
}

impl Lab {
    /// A site that takes releases signed by the key of seed 1.
    pub(crate) fn new() -> Self {
        let (site, folder) = (site(), tempfile::tempdir().expect("a folder"));
        let lab = Self { site, folder };
        // A copy by another process: this one may start programs meanwhile, which would hold the
        // file open for writing.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_cms")).arg(lab.program()).status();
        assert!(copied.expect("cp").success());
        lab.set("cms.toml", &format!("update.public_key = \"{}\"\n", public(1)));
        lab.set("cms.local.toml", "update_user = \"ana\"\n");
        lab
    }

    /// Writes settings above those of a file.
    pub(crate) fn set(&self, file: &str, lines: &str) {
        let path = self.site.path().join(file);
        let before = std::fs::read_to_string(&path).expect("settings");
        std::fs::write(&path, format!("{lines}{before}")).expect("written");
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().join("cms")
    }

    /// What stands beside the program.
    pub(crate) fn beside(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().into_string().expect("UTF-8")
        };
        let mut names: Vec<_> = entries.map(name).filter(|name| name != "cms").collect();
        names.sort();
        names
    }

    /// The program, with the settings of this site, asking `url`.
    pub(crate) fn command<'a>(&self, url: &str, args: impl Words<'a>) -> Command {
        let ordinary = command(self.site.path());
        let mut own = Command::new(self.program());
        for (name, value) in ordinary.get_envs() {
            match value {
                Some(value) => own.env(name, value),
                None => own.env_remove(name),
            };
        }
        // A secret in the environment: the program starts itself again without it.
        own.env("CMS_UPDATE_PASSWORD", "correct horse");
        own.env("CMS_UPDATE_BASE_URL", url).args(args.words());
        own.stdin(std::process::Stdio::null());
        own.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        own
    }

    pub(crate) fn run<'a>(&self, url: &str, args: impl Words<'a>) -> Run {
        finish(self.command(url, args), None)
    }

    /// The version that stands in the program's place, and runs.
    pub(crate) fn version(&self) -> String {
        let said = self.run("", &["version"]).ok();
        said.trim().strip_prefix("cms ").expect("a version").to_owned()
    }

    /// Offers a program as the version 3.1.0 and applies it without a backup.
    pub(crate) fn apply(&self, program: &str) -> Run {
        let archive = zipped(&[("cms", program.as_bytes())]);
        let server = Server::release("3.1.0", archive);
        self.run(&server.url, &["update", "apply", "--without-backup"])
    }

    /// A program that says another version and is this one otherwise, but for what `more` does.
    pub(crate) fn newer(version: &str, more: &str) -> String {
        let real = env!("CARGO_BIN_EXE_cms");
        format!(
            "#!/bin/sh\nif [ \"$1\" = version ]; then echo 'cms {version}'; exit 0; fi\n{more}\n\
             exec '{real}' \"$@\"\n"
        )
    }
}

/// This program as another version: every 3.0.0 in it is a 3.0.1.
pub(crate) fn patched(program: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(program).expect("a program");
    let (from, to) = (b"3.0.0", b"3.0.1");
    let found: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, w)| w == from)
        .map(|(at, _)| at)
        .collect();
    assert!(!found.is_empty(), "the program holds its version");
    found.iter().for_each(|at| bytes[*at..at + to.len()].copy_from_slice(to));
    bytes
}
