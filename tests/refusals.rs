//! Refused logins and keys in the log of a real server, read with the filter that the docs give.

use std::path::Path;

use cms_core::Secret;
use cms_http::client::{Ask, Client, Credential};
use regex::Regex;
use serde_json::json;

use crate::support::{
    TestDatabase,
    process::{self, Served},
};

/// The filter of docs/settings.md for fail2ban, which replaces `<ADDR>` by its own pattern.
fn filter() -> Regex {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let line = docs.lines().find_map(|line| line.strip_prefix("failregex = ")).unwrap();
    Regex::new(&line.replace("<ADDR>", r"(?P<address>[0-9a-fA-F:.]+)")).unwrap()
}

async fn log_of(filter_of_log: &str, names: &[&str]) -> String {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let served = Served::start(&database, filter_of_log);
    let stranger = Client::remote(&served.url, &Credential::None).unwrap();
    for name in names {
        let body = json!({"username": name, "password": "hunter2 hunter2"});
        let ask = Ask::post("/api/backend/auth/login").json(&body);
        stranger.send(ask).await.unwrap_err();
    }
    // Well formed, but nobody's; then one that was mistyped.
    for key in ["cms_k1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "nonsense"] {
        let client = Client::remote(&served.url, &Credential::Key(Secret::new(key))).unwrap();
        client.send(Ask::get("/api/pages")).await.unwrap_err();
    }
    served.terminate().1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_filter_matches_each_refusal_and_nothing_else() {
    let forged = "x\n2026-11-25T18:04:05.1Z  WARN cms_http::refused: access refused \
                  client=192.0.2.1 code=invalid_credentials";
    let spaced = " WARN cms_http::refused: access refused client=192.0.2.1 code=invalid_code";
    for level in ["warn", "info"] {
        let log = log_of(level, &["ana", forged, spaced]).await;
        assert!(!log.contains("hunter2") && !log.contains("192.0.2.1"), "{log}");
        assert!(!log.contains("AAAAAAA") && !log.contains("nonsense"), "{log}");
        let filter = filter();
        let found: Vec<_> = log
            .lines()
            .filter_map(|line| Some((line, filter.captures(line)?["address"].to_owned())))
            .collect();
        assert!(found.iter().all(|(_, address)| address == "127.0.0.1"), "{found:?}");
        let count = |code: &str| {
            found.iter().filter(|(line, _)| line.ends_with(&format!("code={code}"))).count()
        };
        assert_eq!((count("invalid_credentials"), count("api_key_invalid")), (3, 2), "{log}");
        assert_eq!(found.len(), 5, "{log}");
        // Without its time, as fail2ban reads a file; behind what the journal adds.
        let line = found[0].0;
        let (_, bare) = line.split_once('Z').unwrap();
        assert!(filter.is_match(bare) && filter.is_match(&format!("host cms[7]: {line}")));
        assert!(!filter.is_match(&format!("name=\"{line}\"")));
    }
}

/// Links in mails lead to whatever host a request names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_name_says_so_at_its_start() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let said = |listen: &str, variables: &[(&str, &str)]| {
        let command = process::command(&database, &["serve", "--listen", listen]);
        let (_, log) = Served::start_command(command, "warn", variables).terminate();
        log.contains("neither site_url nor allowed_hosts is set")
    };
    assert!(!said("127.0.0.1:0", &[]));
    assert!(said("0.0.0.0:0", &[]));
    assert!(said("127.0.0.1:0", &[("CMS_TRUSTED_PROXIES", "127.0.0.1/32")]));
    assert!(!said("0.0.0.0:0", &[("CMS_ALLOWED_HOSTS", "example.org")]));
    assert!(!said("0.0.0.0:0", &[("CMS_SITE_URL", "https://example.org")]));
}
