//! Logins at real processes: nothing secret is left anywhere, and wrong ones count in all of them.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value as Json, json};

use crate::support::{
    TestDatabase,
    people::{PASSWORD, code, wrong_code},
    process::{self, Served},
    search,
};

/// One request on a connection of its own: status and body.
fn ask(served: &Served, line: &str, header: &str, body: &Json) -> (u16, Json) {
    let host = served.url.trim_start_matches("http://");
    let (method, path) = line.split_once(' ').unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{header}content-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or(Json::Null))
}

fn now() -> i64 {
    cms_core::Clock::system().now()
}

/// A served site with the user `ana`, and the header of a key that may do everything.
fn site(database: &TestDatabase) -> (Served, String) {
    process::run(database, &["init"]);
    let made: Json = serde_json::from_str(&process::run(
        database,
        &["--json", "keys", "create", "--name", "test", "--right", "*"],
    ))
    .unwrap();
    let key = format!("x-api-key: {}\r\n", made["data"]["key"].as_str().unwrap());
    let served = Served::start(database, "trace");
    let group = json!({"name": "editors", "rights": []});
    assert_eq!(ask(&served, "POST /api/backend/user_groups", &key, &group).0, 201);
    let user = json!({"username": "ana", "password": PASSWORD, "groups": ["editors"]});
    assert_eq!(
        ask(&served, "POST /api/backend/users", &format!("{key}idempotency-key: once\r\n"), &user)
            .0,
        201
    );
    (served, key)
}

fn begin(served: &Served, password: &str) -> (u16, Json) {
    ask(
        served,
        "POST /api/backend/auth/login",
        "",
        &json!({"username": "ana", "password": password}),
    )
}

fn verify(served: &Served, pending: &Json, proof: Json) -> (u16, Json) {
    let mut body = proof;
    body["pending_token"] = pending.clone();
    ask(served, "POST /api/backend/auth/verify", "", &body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_a_login_on_disk_or_in_a_log() {
    let database = TestDatabase::new().await;
    let (served, _) = site(&database);
    let begun = begin(&served, PASSWORD).1["data"].clone();
    let secret = begun["setup"]["secret"].as_str().unwrap();
    let wrong =
        verify(&served, &begun["pending_token"], json!({"code": wrong_code(secret, now())}));
    assert_eq!(wrong.0, 401);
    let shown = code(secret, now());
    let done = verify(&served, &begun["pending_token"], json!({"code": shown})).1["data"].clone();
    let token = done["token"].as_str().unwrap_or_else(|| panic!("{done}"));
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert_eq!(ask(&served, "GET /api/backend/auth/me", &bearer, &Json::Null).0, 200);
    let second = begin(&served, PASSWORD).1["data"].clone();
    let recovery = done["recovery_codes"][0].as_str().unwrap();
    assert_eq!(
        verify(&served, &second["pending_token"], json!({"recovery_code": recovery})).0,
        200
    );
    assert_eq!(begin(&served, "a wrong password").0, 401);
    assert_eq!(
        ask(
            &served,
            "POST /api/backend/auth/login",
            "",
            &json!({"username": 5, "password": PASSWORD})
        )
        .0,
        422
    );
    assert_eq!(ask(&served, "POST /api/backend/auth/logout", &bearer, &Json::Null).0, 204);
    let (status, log) = served.terminate();
    assert_eq!(status, Some(0));
    let mut secrets = vec![
        PASSWORD,
        "a wrong password",
        secret,
        begun["setup"]["otpauth_url"].as_str().unwrap(),
        token,
    ];
    secrets.extend([&begun, &second].map(|begun| begun["pending_token"].as_str().unwrap()));
    secrets.extend(
        done["recovery_codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()),
    );
    let bare = recovery.replace('-', "");
    secrets.push(&bare);
    search::nowhere(&database, &log, &secrets).await;
    // Six digits may stand somewhere by chance: here they are looked for where they would be said.
    assert!(
        !log.lines().any(|line| line.contains("code") && line.contains(&shown)),
        "a code stands in the log"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_logins_count_in_every_process_and_after_a_restart() {
    let database = TestDatabase::new().await;
    let (first, _) = site(&database);
    let second = Served::start(&database, "warn");
    for n in 0..7 {
        assert_eq!(begin(&first, "a wrong password").0, 401, "{n}");
        assert_eq!(begin(&second, "a wrong password").0, 401, "{n}");
    }
    let begun = begin(&second, PASSWORD).1["data"].clone();
    let secret = begun["setup"]["secret"].as_str().unwrap();
    assert_eq!(
        verify(&first, &begun["pending_token"], json!({"code": wrong_code(secret, now())})).0,
        401
    );
    first.terminate();
    let third = Served::start(&database, "warn");
    for served in [&second, &third] {
        let locked = begin(served, PASSWORD);
        assert_eq!((locked.0, &locked.1["error"]), (429, &json!("login_locked")));
        assert_eq!(
            verify(served, &begun["pending_token"], json!({"code": code(secret, now())})).0,
            429
        );
    }
}
