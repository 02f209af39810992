//! A bucket of its own for one test, on the S3 server that `.ci/s3` starts, and a way to that
//! server that can be cut.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, AtomicU32, Ordering},
    },
};

use cms_core::{Secret, settings::Settings};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// Where the server listens, such as `127.0.0.1:5000`, and the keys that it knows: `ID:SECRET`.
const SERVER: &str = "CMS_TEST_S3";
const KEYS: &str = "CMS_TEST_S3_KEYS";
const REGION: &str = "us-east-1";
/// Stands before the names of a site's files.
pub const PREFIX: &str = "site/media";

#[derive(Clone)]
pub struct Bucket {
    server: String,
    pub id: String,
    pub secret: String,
    pub name: String,
}

impl Bucket {
    /// None, said loudly, where no server is to be had.
    pub fn new() -> Option<Self> {
        let Ok(server) = std::env::var(SERVER) else {
            println!("NOT SHOWN: {SERVER} names no S3 server; .ci/s3 starts one");
            return None;
        };
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let keys = std::env::var(KEYS).expect("the keys of the server");
        let (id, secret) = keys.split_once(':').expect("ID:SECRET");
        let name = format!("cms-{}-{number}", std::process::id());
        let bucket = Self { server, id: id.to_owned(), secret: secret.to_owned(), name };
        assert_eq!(bucket.call("PUT", "", "", b"").0, 200, "the bucket is made");
        Some(bucket)
    }

    /// A signed call: status and body. `query` has its parameters in order, each with `=`.
    pub fn call(&self, method: &str, path: &str, query: &str, body: &[u8]) -> (u16, String) {
        let path = format!("/{}{path}", self.name);
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let hash = |bytes: &[u8]| HEXLOWER.encode(&Sha256::digest(bytes));
        let (day, content) = (&time[..8], hash(body));
        let (host, scope) = (&self.server, format!("{day}/{REGION}/s3/aws4_request"));
        let canonical = format!(
            "{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{content}\n\
             x-amz-date:{time}\n\nhost;x-amz-content-sha256;x-amz-date\n{content}"
        );
        let signed = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(canonical.as_bytes()));
        let mut key = format!("AWS4{}", self.secret).into_bytes();
        for text in [day, REGION, "s3", "aws4_request", &signed] {
            let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
            mac.update(text.as_bytes());
            key = mac.finalize().into_bytes().to_vec();
        }
        let head = format!(
            "{method} {path}?{query} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n\
             connection: close\r\nx-amz-content-sha256: {content}\r\nx-amz-date: {time}\r\n\
             authorization: AWS4-HMAC-SHA256 Credential={}/{scope},\
             SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature={}\r\n\r\n",
            body.len(),
            self.id,
            HEXLOWER.encode(&key)
        );
        let mut stream = TcpStream::connect(&self.server).unwrap();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        let reply = String::from_utf8_lossy(&reply);
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head");
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    /// What stands between these marks in the reply to a GET.
    fn listed(&self, query: &str, mark: &str) -> Vec<String> {
        let (status, list) = self.call("GET", "", query, b"");
        assert_eq!(status, 200, "{list}");
        let (start, end) = (format!("<{mark}>"), format!("</{mark}>"));
        let text = |part: &str| part.split_once(&end).unwrap().0.to_owned();
        list.split(&start).skip(1).map(text).collect()
    }

    /// Names of the objects.
    pub fn objects(&self) -> Vec<String> {
        self.listed("list-type=2", "Key")
    }

    /// Names of the objects whose parts come in, or never came whole.
    pub fn uploads(&self) -> Vec<String> {
        self.listed("uploads=", "Key")
    }

    /// Keeps the media of a site here, reached at an address.
    pub fn keep(&self, settings: &mut Settings, address: &str) {
        settings.media.bucket = Some(self.name.clone());
        settings.media.endpoint = Some(format!("http://{address}"));
        settings.media.prefix = Some(PREFIX.to_owned());
        settings.media.access_key = Some(Secret::new(self.id.as_str()));
        settings.media.secret_key = Some(Secret::new(self.secret.as_str()));
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    /// The same for a process.
    pub fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("CMS_MEDIA__BUCKET", self.name.clone()),
            ("CMS_MEDIA__ENDPOINT", format!("http://{}", self.server)),
            ("CMS_MEDIA__PREFIX", PREFIX.to_owned()),
            ("CMS_MEDIA__ACCESS_KEY", self.id.clone()),
            ("CMS_MEDIA__SECRET_KEY", self.secret.clone()),
        ]
    }
}

const OPEN: u8 = 0;
const AWAY: u8 = 1;
const HUNG: u8 = 2;
const NARROW: u8 = 3;
const LATE: u8 = 4;
const REFUSES: u8 = 5;
/// Bytes that a connection carries to the server while the way is narrow.
const NARROWLY: usize = 1 << 20;

/// A way to the server: every byte goes through it while it is open.
pub struct Way {
    pub address: String,
    state: Arc<AtomicU8>,
    held: Arc<Held>,
}

/// Calls that are held back, or refused on the way.
#[derive(Default)]
struct Held {
    /// How they begin, and with which status they are refused.
    which: Mutex<(String, u16)>,
    /// How many.
    count: AtomicU32,
}

impl Held {
    /// The status for a call that begins so.
    fn status(&self, call: &[u8]) -> Option<u16> {
        let which = self.which.lock().unwrap();
        call.starts_with(which.0.as_bytes()).then_some(which.1)
    }
}

impl Way {
    pub fn to(bucket: &Bucket) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (server, state) = (bucket.server.clone(), Arc::new(AtomicU8::new(OPEN)));
        let (now, held) = (state.clone(), Arc::<Held>::default());
        let holds = held.clone();
        std::thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let back = (server.try_clone().unwrap(), caller.try_clone().unwrap());
                let (there, state, held) = ((caller, server), now.clone(), holds.clone());
                std::thread::spawn(move || carry(there.0, there.1, Some((&state, &held))));
                std::thread::spawn(move || carry(back.0, back.1, None));
            }
        });
        Self { address, state, held }
    }

    /// Calls are cut off from now on.
    pub fn cut(&self) {
        self.state.store(AWAY, Ordering::SeqCst);
    }

    /// Calls are not answered.
    pub fn hang(&self) {
        self.state.store(HUNG, Ordering::SeqCst);
    }

    /// Only short calls pass.
    pub fn narrow(&self) {
        self.state.store(NARROW, Ordering::SeqCst);
    }

    /// Calls of a method reach the server when the way is open again, whoever waits for them.
    pub fn hold(&self, method: &'static str) {
        *self.held.which.lock().unwrap() = (method.to_owned(), 0);
        self.state.store(LATE, Ordering::SeqCst);
    }

    /// Calls that begin so are refused with this status.
    pub fn refuse(&self, start: &str, status: u16) {
        *self.held.which.lock().unwrap() = (start.to_owned(), status);
        self.state.store(REFUSES, Ordering::SeqCst);
    }

    /// How many calls were held back, or refused.
    pub fn held(&self) -> u32 {
        self.held.count.load(Ordering::SeqCst)
    }

    pub fn open(&self) {
        self.state.store(OPEN, Ordering::SeqCst);
    }
}

/// Carries bytes until either end is gone, or the state says otherwise.
fn carry(mut from: TcpStream, mut to: TcpStream, way: Option<(&AtomicU8, &Held)>) {
    let (mut bytes, mut carried) = (vec![0; 64 << 10], 0);
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        carried += read;
        let state = || way.map_or(OPEN, |(state, _)| state.load(Ordering::SeqCst));
        if let (LATE, Some((_, held))) = (state(), way)
            && held.status(&bytes).is_some()
        {
            held.count.fetch_add(1, Ordering::SeqCst);
            while state() == LATE {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        if let (REFUSES, Some((_, held))) = (state(), way)
            && let Some(status) = held.status(&bytes)
        {
            held.count.fetch_add(1, Ordering::SeqCst);
            let head = format!("HTTP/1.1 {status} Refused\r\ncontent-length: 0\r\n");
            let _ = from.write_all(format!("{head}connection: close\r\n\r\n").as_bytes());
            break;
        }
        match state() {
            HUNG => continue,
            AWAY => break,
            NARROW if carried > NARROWLY => break,
            _ if to.write_all(&bytes[..read]).is_err() => break,
            _ => {}
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
