//! `cms api`

use serde_json::Value as Json;

use crate::support::{Served, both_ways, cms, cms_with, site};

#[test]
fn any_endpoint_is_called_here_and_over_the_network() {
    let dir = site();
    let server = Served::start(dir.path(), &[]);
    for (id, at) in (1..).zip(both_ways(dir.path(), &server)) {
        let run = |args: &str, input| cms_with(dir.path(), &format!("api {args} {at}"), input);
        let notes = "/api/backend/item?table=notes";
        let made = run(&format!("post {notes} -"), r#"{"text": "a b"}"#).json();
        assert_eq!(made["data"]["id"], id);
        let found = run(&format!("GET {notes}&filter[text][eq]=a%20b&sort=-id"), "").json();
        assert_eq!(found["data"][0]["id"], id);
        let one = format!("{notes}&id={id}");
        let file = dir.path().join("body.json");
        std::fs::write(&file, r#"{"text": "c"}"#).expect("written");
        let file = file.to_str().expect("a path");
        run(&format!("PATCH {one} {file} --if-match \"other\""), "").fails(6);
        assert_eq!(run(&format!("PATCH {one} {file}"), "").json()["data"]["text"], "c");
        // Bytes as they are.
        let document = run("GET /api/openapi.json", "").ok();
        assert!(document.starts_with('{') && document.contains("\"openapi\":\"3.1"));
        assert_eq!(run(&format!("DELETE {one}"), "").ok(), "");

        let gone = run(&format!("GET {one}"), "").fails(5);
        let problem: Json = serde_json::from_str(&gone.err).expect("a problem document");
        assert_eq!((&problem["error"], &problem["exit"]), (&"not_found".into(), &5.into()));
        assert_eq!(gone.out, "");
        run("GET /api/backend/nothing", "").fails(5);
        run(&format!("POST {notes} -"), "{").fails(1);
        for wrong in ["GET api/pages", "GET https://example.org/", "'G T' /"] {
            run(wrong, "").fails(2);
        }
    }
}

/// What everybody may read needs no login.
#[test]
fn strangers_call_what_is_public() {
    let dir = site();
    let server = Served::start(dir.path(), &[]);
    let run = |path: &str| cms(dir.path(), &format!("api GET {path} --url {}", server.url));
    assert!(run("/api/pages").json()["data"].is_array());
    run("/healthz").ok();
    run("/api/backend/keys").fails(4).tells("cms login");
    run("/api/nothing").fails(4).tells("cms login");
}
