//! `cms api`

use serde_json::Value as Json;

use crate::support::{Served, cms, cms_with, command, finish, site};

#[test]
fn any_endpoint_is_called_here_and_over_the_network() {
    let dir = site();
    let key = dir.path().join("key");
    let key = key.to_str().expect("a path");
    cms(dir.path(), &["keys", "create", "--name", "k", "--right", "*", "--out", key]).ok();
    let server = Served::start(dir.path(), &[]);
    for (id, at) in [(1, &[][..]), (2, &["--url", &server.url, "--key-file", key])] {
        let run =
            |args: &[&str], input| cms_with(dir.path(), &[&["api"], args, at].concat(), input);
        let notes = "/api/backend/item?table=notes";
        let made = run(&["post", notes, "-"], r#"{"text": "a b"}"#).json();
        assert_eq!(made["data"]["id"], id);
        let found = run(&["GET", &format!("{notes}&filter[text][eq]=a%20b&sort=-id")], "").json();
        assert_eq!(found["data"][0]["id"], id);
        let one = format!("{notes}&id={id}");
        let file = dir.path().join("body.json");
        std::fs::write(&file, r#"{"text": "c"}"#).expect("written");
        let file = file.to_str().expect("a path");
        run(&["PATCH", &one, file, "--if-match", "\"other\""], "").fails(6);
        assert_eq!(run(&["PATCH", &one, file], "").json()["data"]["text"], "c");
        // Bytes as they are.
        let document = run(&["GET", "/api/openapi.json"], "").ok();
        assert!(document.starts_with('{') && document.contains("\"openapi\":\"3.1"));
        assert_eq!(run(&["DELETE", &one], "").ok(), "");

        let gone = run(&["GET", &one], "").fails(5);
        let problem: Json = serde_json::from_str(&gone.err).expect("a problem document");
        assert_eq!((&problem["error"], &problem["exit"]), (&"not_found".into(), &5.into()));
        assert_eq!(gone.out, "");
        run(&["GET", "/api/backend/nothing"], "").fails(5);
        run(&["POST", notes, "-"], "{").fails(1);
        for wrong in [["GET", "api/pages"], ["GET", "https://example.org/"], ["G T", "/"]] {
            run(&wrong, "").fails(2);
        }
    }
    let mut anonymous = command(dir.path());
    anonymous.args(["api", "GET", "/api/pages", "--url", &server.url]);
    finish(anonymous, None).fails(4);
}
