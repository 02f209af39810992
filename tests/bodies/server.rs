//! The server, and 60 connections that send to it at the same time.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{Barrier, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value as Json, json};

use crate::cases::Case;

pub const CONNECTIONS: usize = 60;
/// How long the server takes to give the memory of one request back.
const GIVEN_BACK: Duration = Duration::from_secs(3);
/// How often each body is sent.
const ROUNDS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// All from one address, and the limiter counts them.
    OneAddress,
    /// Each from an address of its own, and nobody counts.
    Off,
}

pub struct Server {
    child: Child,
    address: String,
    pub key: String,
    _folder: tempfile::TempDir,
}

impl Server {
    /// With a form, a funnel, a script, and as much address space as is said.
    pub fn start(limiter: Limiter, addresses: Option<&str>) -> Self {
        let me = std::env::current_exe().expect("a path");
        let binary = me.parent().and_then(|deps| deps.parent()).expect("a folder").join("cms");
        assert!(binary.is_file(), "{} is missing: build cms-cli first", binary.display());
        let folder = tempfile::tempdir().expect("a folder");
        let command = |arguments: &[&str]| {
            let mut command = match addresses {
                Some(_) => Command::new("prlimit"),
                None => Command::new(&binary),
            };
            if let Some(bytes) = addresses {
                command.arg(format!("--as={bytes}")).arg(&binary);
            }
            command.arg("--dir").arg(folder.path()).args(arguments);
            command
        };
        assert!(command(&["init", "-q"]).status().expect("started").success());
        let scripts = folder.path().join("plugins/shop/script");
        std::fs::create_dir_all(&scripts).expect("a folder");
        std::fs::write(scripts.join("large.php"), LARGE).expect("a script");
        let button = json!({"button_id": "large", "type": "script", "script": "large.php"});
        let manifest = json!({"id": "shop", "action_button": [button]});
        std::fs::write(scripts.join("../plugin.json"), manifest.to_string()).expect("a manifest");
        let key = command(&["keys", "create", "-q", "--name", "load", "--right", "*"]).output();
        let key = String::from_utf8(key.expect("a key").stdout).expect("text").trim().to_owned();
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.env("CMS_SCRIPTS__INTERPRETER", "sh").env("CMS_LOG", "off").stderr(Stdio::piped());
        if limiter == Limiter::Off {
            serve.env("CMS_LIMITER__STORE", "off").env("CMS_TRUSTED_PROXIES", "127.0.0.0/8");
        }
        let mut child = serve.spawn().expect("started");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let address = loop {
            let line = lines.next().expect("the server is ready some time").expect("a line");
            match line.strip_prefix("ready http://") {
                Some(address) => break address.to_owned(),
                None => eprintln!("{line}"),
            }
        };
        // Nothing may block on a full pipe; what ends it is to be seen.
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| eprintln!("{line}"))
        });
        Self { child, address, key, _folder: folder }
    }

    /// A call whose reply matters.
    pub fn call(&self, target: &str, body: &Json) -> Json {
        let head = [("content-type", "application/json"), ("x-api-key", &self.key)];
        let (status, reply) = self.send("POST", target, &head, body.to_string().as_bytes());
        assert!((200..300).contains(&status), "{target}: {status} {reply}");
        serde_json::from_str(&reply).expect("JSON")
    }

    /// Status and body; 0 when the connection broke. Waits while the limiter refuses it, as it does
    /// after the load of another route.
    pub fn send(
        &self,
        verb: &str,
        target: &str,
        head: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String) {
        for _ in 0..90 {
            let sent = self.begin(verb, target, head, body.len()).and_then(|mut stream| {
                stream.write_all(body)?;
                let mut reply = Vec::new();
                stream.read_to_end(&mut reply)?;
                Ok(String::from_utf8_lossy(&reply).into_owned())
            });
            let reply = sent.unwrap_or_default();
            let status = reply.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
            if status != 429 {
                return (status, reply.split_once("\r\n\r\n").map_or("", |end| end.1).to_owned());
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        panic!("{verb} {target}: refused by the limiter for 90 s");
    }

    fn begin(
        &self,
        verb: &str,
        target: &str,
        head: &[(&str, &str)],
        length: usize,
    ) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut text = format!("{verb} {target} HTTP/1.1\r\nhost: cms\r\nconnection: close\r\n");
        for (name, value) in head {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{text}content-length: {length}\r\n\r\n").as_bytes())?;
        Ok(stream)
    }

    /// Sends each body from all connections: their last bytes at the same time. Returns how often
    /// each status came.
    pub fn burst(&self, case: &Case) -> String {
        let (barrier, counted) = (Barrier::new(CONNECTIONS), Mutex::new(BTreeMap::new()));
        std::thread::scope(|scope| {
            for number in 0..CONNECTIONS {
                let (barrier, counted) = (&barrier, &counted);
                scope.spawn(move || {
                    let from = format!("20.0.0.{}", number + 1);
                    let mut head = vec![("x-forwarded-for", from.as_str())];
                    head.extend(case.head.iter().map(|(name, value)| (*name, value.as_str())));
                    for (target, body) in
                        case.requests.iter().cycle().take(case.requests.len() * ROUNDS)
                    {
                        let (first, last) = body.split_at(body.len().saturating_sub(1));
                        let mut stream = self.begin(case.verb, target, &head, body.len());
                        if let Ok(stream) = &mut stream {
                            let _ = stream.write_all(first);
                        }
                        barrier.wait();
                        let mut reply = [0; 12];
                        let read = stream.and_then(|mut stream| {
                            let _ = stream.write_all(last);
                            stream.read_exact(&mut reply)?;
                            // The whole reply, so that nothing waits for its reader. A server that
                            // refuses a body before its end may reset the connection after it.
                            let _ = stream.read_to_end(&mut Vec::new());
                            Ok(())
                        });
                        let status = String::from_utf8_lossy(&reply[9..]).into_owned();
                        let status = read.map_or("broken".to_owned(), |()| status);
                        let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                        *counted.entry(status).or_insert(0) += 1;
                    }
                });
            }
        });
        let counted = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
        let counted = counted.iter().map(|(status, times)| format!("{times} × {status}"));
        counted.collect::<Vec<_>>().join(", ")
    }

    /// What it holds when it has served this once, its code is in memory, and the memory of that
    /// one request was given back. From here on the peak counts.
    pub fn settled(&self, case: &Case) -> u64 {
        let head: Vec<_> = case.head.iter().map(|(name, value)| (*name, value.as_str())).collect();
        // The first alone: pictures are made once.
        if let Some((target, body)) = case.requests.first() {
            self.send(case.verb, target, &head, body);
        }
        std::thread::sleep(GIVEN_BACK);
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
        self.resident_kib()
    }

    pub fn answers(&self) -> bool {
        self.send("GET", "/healthz", &[], b"").0 == 200
    }

    pub fn resident_kib(&self) -> u64 {
        self.status("VmRSS:")
    }

    pub fn peak_kib(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// How it ended.
    pub fn end(&mut self) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "it runs, and does not answer".to_owned(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nearly all the output that a script may have.
const LARGE: &str = "printf '\"'; head -c 10000000 /dev/zero | tr '\\0' a; printf '\"'";
