//! Replies as bytes for Redis: one line of JSON, then the body.

use bytes::Bytes;
use cms_core::{Cms, crypto, settings::Settings};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::entry::{Answer, Entry, Freshness, Lookup};

/// The version of the format. It is part of the name, as is the version of the service, so that
/// another version never reads these entries.
const FORM: u32 = 1;
/// The largest reply that is shared, because all answers of Redis share one connection.
const MAX_BYTES: usize = 256 << 10;

#[derive(Serialize, Deserialize)]
struct Head {
    at: i64,
    last_clear: i64,
    epochs: Vec<(String, i64)>,
    headers: Vec<(String, String)>,
}

/// The replies in Redis that processes with the same settings share.
pub(super) struct Shared {
    /// A digest of the settings that replies depend on.
    settings: String,
}

impl Shared {
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { site_url, api_url, product, languages, timezone, http, .. } = settings;
        // Handlers of the service read `site_url`, `languages`, `timezone` and the limit of a page.
        // Handlers of plugins may read `api_url` and `product`.
        let read = json!([site_url, api_url, product, languages, timezone, http.page_limit_bytes]);
        Self { settings: crypto::sha256_hex(read.to_string().as_bytes())[..16].to_owned() }
    }

    fn name(&self, key: &[u8]) -> String {
        let (version, key) = (cms_core::VERSION, crypto::sha256_hex(key));
        format!("reply:{FORM}:{version}:{}:{key}", self.settings)
    }

    /// The reply that some process has shared, if it is still fresh.
    pub(super) async fn find(&self, cms: &Cms, lookup: &Lookup<'_>) -> Option<Entry> {
        let is_shared = cms.cache().shares_replies() && lookup.freshness.is_shared();
        let tables = lookup.shared_tables().filter(|_| is_shared)?;
        let found = decode(cms.cache().shared_reply(&self.name(&lookup.key)).await?, tables)?;
        found.is_fresh(lookup).then_some(found)
    }

    /// Gives a reply to other processes, if it may be kept.
    pub(super) async fn share(&self, cms: &Cms, lookup: &Lookup<'_>, entry: &Entry) {
        let tables = lookup.shared_tables().filter(|_| cms.cache().shares_replies());
        if let Some(bytes) = tables.and_then(|tables| encode(entry, tables)) {
            let ttl_s = lookup.rules.settings.ttl_s;
            cms.cache().share_reply(&self.name(&lookup.key), &bytes, ttl_s).await;
        }
    }
}

fn encode(entry: &Entry, tables: &[&str]) -> Option<Vec<u8>> {
    let Answer::Reply(headers, body) = &entry.answer else { return None };
    if !entry.is_shared() {
        return None;
    }
    let Freshness { epochs, last_clear, at, .. } = &entry.freshness;
    let handler_epochs = entry.handler_epochs.iter().cloned();
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    let head = Head {
        at: *at,
        last_clear: *last_clear,
        epochs: tables
            .iter()
            .map(ToString::to_string)
            .zip(epochs.iter().copied())
            .chain(handler_epochs)
            .collect(),
        headers: headers.iter().map(text).collect::<Option<_>>()?,
    };
    let bytes = [&serde_json::to_vec(&head).ok()?[..], b"\n", body].concat();
    (bytes.len() <= MAX_BYTES).then_some(bytes)
}

/// None for bytes that this version has not written.
fn decode(bytes: Vec<u8>, tables: &[&str]) -> Option<Entry> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
    let Head { at, last_clear, mut epochs, headers } = head;
    if !epochs.iter().map(|(table, _)| table).take(tables.len()).eq(tables) {
        return None;
    }
    // Epochs of tables that only the handler knew follow those of the route.
    let handler_epochs = epochs.split_off(tables.len());
    let mut map = HeaderMap::with_capacity(headers.len() + 8);
    for (name, value) in headers {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).ok()?,
            HeaderValue::from_str(&value).ok()?,
        );
    }
    let epochs = epochs.into_iter().map(|(_, epoch)| epoch).collect();
    // `known` matters only to requests that wait for a fill; this entry is there already.
    let freshness = Freshness { epochs, known: 0, last_clear, at };
    Some(Entry {
        freshness,
        handler_epochs,
        answer: Answer::Reply(map, Bytes::from(bytes).slice(end + 1..)),
    })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    const TABLES: &[&str] = &["pages", "menu_items"];

    fn entry(body: impl Into<Bytes>) -> Entry {
        let mut headers = HeaderMap::new();
        headers.append("vary", HeaderValue::from_static("a"));
        headers.append("vary", HeaderValue::from_static("b"));
        let freshness = Freshness { epochs: vec![5, 0], known: 0, last_clear: 3, at: 1_000 };
        let handler_epochs = vec![("blog".to_owned(), 7)];
        Entry { freshness, handler_epochs, answer: Answer::Reply(headers, body.into()) }
    }

    #[test]
    fn what_is_shared_is_read_again() {
        let kept = entry("line\n{\"data\":1}");
        let found = decode(encode(&kept, TABLES).expect("bytes"), TABLES).expect("an entry");
        assert_eq!(
            (&found.freshness, &found.handler_epochs),
            (&kept.freshness, &kept.handler_epochs)
        );
        assert_eq!(format!("{:?}", found.answer), format!("{:?}", kept.answer));
    }

    #[test]
    fn nothing_foreign_is_read() {
        let bytes = encode(&entry("x"), TABLES).expect("bytes");
        assert!(decode(bytes.clone(), &["menu_items"]).is_none(), "made from other tables");
        for end in 0..bytes.len() - 2 {
            assert!(decode(bytes[..end].to_vec(), TABLES).is_none());
        }
        let foreign: [&[u8]; 4] = [
            b"",
            b"\n",
            b"{}\n",
            b"{\"at\":1,\"last_clear\":0,\"epochs\":[],\"headers\":[[\"a b\",\"\"]]}\n",
        ];
        assert!(foreign.iter().all(|bytes| decode(bytes.to_vec(), &[]).is_none()));
    }

    #[test]
    fn numbers_of_one_process_are_not_shared() {
        let own = |epoch| Freshness { epochs: vec![5, epoch], known: 0, last_clear: 3, at: 1_000 };
        assert!(encode(&Entry { freshness: own(1), ..entry("x") }, TABLES).is_some());
        assert!(encode(&Entry { freshness: own(-1), ..entry("x") }, TABLES).is_none());
        let handler_epochs = vec![("blog".to_owned(), -1)];
        assert!(encode(&Entry { handler_epochs, ..entry("x") }, TABLES).is_none());
    }

    #[test]
    fn settings_that_replies_depend_on_change_the_name() {
        let name = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            Shared::new(&settings).name(b"key")
        };
        let changes: [fn(&mut Settings); 6] = [
            |s| s.site_url = Some("https://a.example".to_owned()),
            |s| s.api_url = Some("https://a.example".to_owned()),
            |s| s.product = "a".to_owned(),
            |s| s.languages.insert(0, "xx".to_owned()),
            |s| s.timezone = "Asia/Tokyo".to_owned(),
            |s| s.http.page_limit_bytes += 1,
        ];
        let mut names: Vec<_> = changes.into_iter().map(name).collect();
        names.push(name(|_| {}));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), changes.len() + 1);
        let other_machine = name(|s| s.listen = "10.0.0.7:80".to_owned());
        assert!(names.contains(&other_machine));
    }

    #[test]
    fn what_is_too_large_or_special_is_not_shared() {
        assert!(encode(&entry(vec![b'x'; MAX_BYTES]), TABLES).is_none());
        let answer = Answer::Once(StatusCode::OK, HeaderMap::new(), Bytes::new());
        assert!(encode(&Entry { answer, ..entry("") }, TABLES).is_none());
    }
}
