//! The worst that each route may get.

use std::io::Cursor;

use image::{ImageFormat, RgbImage};
use serde_json::json;

use crate::server::Server;

#[rustfmt::skip]
pub const NAMES: &[&str] = &[
    "start", "step", "living-step", "complete", "resume", "abandon", "upload", "submit", "login",
    "verify", "create-items", "change-item", "save-funnel", "emit", "script", "script-output",
    "media", "query", "pictures",
];

/// Close to the limit of a body, 1 MiB.
const SIZE: usize = 1_040_000;
/// Values that a body may hold, in general and of answers.
const VALUES: usize = 20_000;
const ANSWERS: usize = 5_000;
const VISIT: &str = "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10";
const BOUNDARY: &str = "multipart/form-data; boundary=XX";

/// Requests of one route.
pub struct Case {
    pub verb: &'static str,
    pub head: Vec<(&'static str, String)>,
    /// Targets and bodies.
    pub requests: Vec<(String, Vec<u8>)>,
}

impl Case {
    pub fn of(name: &str, server: &Server) -> Self {
        let answers =
            |of: &str| json_bodies(&format!("{{{of},\"answers\":{{\"x\":["), "]}}", ANSWERS);
        let data = |of: &str, most| json_bodies(&format!("{{{of}["), "]}", most);
        let visit = format!("\"session_uuid\":\"{VISIT}\"");
        let key = ("x-api-key", server.key.clone());
        let post = |target: &str, bodies: Vec<Vec<u8>>| Self {
            verb: "POST",
            head: vec![("content-type", "application/json".to_owned()), key.clone()],
            requests: bodies.into_iter().map(|body| (target.to_owned(), body)).collect(),
        };
        let anonymous = |target: &str, bodies| {
            let mut case = post(target, bodies);
            case.head.truncate(1);
            case
        };
        let own = |target: &str, of: &str| anonymous(target, data(of, VALUES));
        let form = |target: &str, is_anonymous: bool| {
            let mut case = post(target, form_bodies());
            case.head[0].1 = BOUNDARY.to_owned();
            case.head.truncate(2 - usize::from(is_anonymous));
            case
        };
        match name {
            "start" => anonymous(
                "/api/formfunnel/start",
                json_bodies("{\"funnel_id\":\"load\",\"hidden\":{\"x\":[", "]}}", ANSWERS),
            ),
            "step" => anonymous("/api/formfunnel/step", answers(&visit)),
            "living-step" => {
                let visit = format!("\"session_uuid\":\"{}\"", begin_visit(server));
                anonymous("/api/formfunnel/step", answers(&visit))
            }
            "complete" => anonymous("/api/formfunnel/complete", answers(&visit)),
            "resume" => own("/api/formfunnel/resume", &format!("{visit},\"token\":")),
            "abandon" => own("/api/formfunnel/abandon", &format!("{visit},\"x\":")),
            "upload" => form("/api/formfunnel/upload", true),
            "submit" => {
                let field = json!({"id": "x", "type": "short_text"});
                let body = json!({"name": "load", "title": "Load", "fields": [field]});
                // It is there already at the server that all routes share.
                server.send(
                    "POST",
                    "/api/backend/item?table=forms",
                    &[("content-type", "application/json"), ("x-api-key", &server.key)],
                    body.to_string().as_bytes(),
                );
                anonymous("/api/form/submit", answers("\"form\":\"load\""))
            }
            "login" => own("/api/backend/auth/login", "\"username\":\"ana\",\"password\":"),
            "verify" => own("/api/backend/auth/verify", "\"pending_token\":\"a\",\"code\":"),
            "create-items" => {
                let begin = "[{\"name\":\"load\",\"value\":[";
                post("/api/backend/item?table=settings", json_bodies(begin, "]}]", 100_000))
            }
            "change-item" => {
                let head = [("content-type", "application/json"), ("x-api-key", &server.key)];
                let made = b"{\"name\":\"load\"}";
                // It is there already at the server that all routes share.
                server.send("POST", "/api/backend/item?table=settings", &head, made);
                let mut case = post(
                    "/api/backend/item?table=settings&id=load",
                    json_bodies("{\"value\":[", "]}", VALUES),
                );
                case.verb = "PATCH";
                case
            }
            "save-funnel" => {
                let begin = "{\"id\":1,\"rev\":1,\"nodes\":[";
                let bodies = json_bodies(begin, "]}", 100_000);
                post("/api/backend/formfunnel?action=save", bodies)
            }
            "emit" => {
                let bodies = data("\"event\":\"custom.load\",\"data\":", VALUES);
                post("/api/backend/webhooks/emit", bodies)
            }
            "script" => {
                let bodies = data("\"plugin\":\"shop\",\"button_id\":\"none\",\"data\":", VALUES);
                post("/api/backend/actions/script", bodies)
            }
            "script-output" => {
                let body = json!({"plugin": "shop", "button_id": "large"}).to_string();
                post("/api/backend/actions/script", vec![body.into()])
            }
            "media" => form("/api/backend/media", false),
            "query" => {
                let mut case = post("", Vec::new());
                case.verb = "GET";
                case.requests = queries().into_iter().map(|target| (target, Vec::new())).collect();
                case
            }
            "pictures" => pictures(server),
            _ => panic!("no route {name}: there are {}", NAMES.join(", ")),
        }
    }
}

/// JSON of each bad kind between two parts of a body, as large as bodies may be.
fn json_bodies(begin: &str, end: &str, most: usize) -> Vec<Vec<u8>> {
    let room = SIZE - begin.len() - end.len();
    let filled = |part: &str| {
        let times = room / part.len();
        format!("{begin}{}{end}", part.repeat(times).trim_end_matches(','))
    };
    // As many values as are taken, and text for the rest.
    let padded = |part: &str, values: usize| {
        let times = (most.saturating_sub(20) / values).min((room - 10) / part.len());
        let many = part.repeat(times);
        let text = "x".repeat(room - 2 - many.len());
        format!("{begin}{many}\"{text}\"{end}")
    };
    let mut bodies = vec![
        padded("{\"a\":1},", 2),
        padded("\"a\",", 1),
        padded("[[1]],", 3),
        filled("{\"a\":1},"),
        filled("\"a\","),
        filled("1,"),
        format!("{begin}\"{}\"{end}", "x".repeat(room - 2)),
        format!("{begin}\"{}\"{end}", "\\u0061".repeat(room / 6 - 1)),
        format!("{begin}{}", "[".repeat(room)),
        format!("{begin}{}", "{\"a\":".repeat(room / 5)),
    ];
    // No JSON, as is found out at the end.
    bodies.push(bodies[0].replace(end, "!"));
    bodies.into_iter().map(String::into_bytes).collect()
}

/// Forms with files.
fn form_bodies() -> Vec<Vec<u8>> {
    let part = |head: &str, content: &str| {
        format!("--XX\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    };
    let field = |name: &str, size: usize| part(&format!("name=\"{name}\""), &"x".repeat(size));
    let many: String = (0..99).map(|n| field(&format!("f{n}"), 10_000)).collect();
    let files = part("name=\"f\"; filename=\"a\"", "").repeat(SIZE / 100);
    let visit = part("name=\"session_uuid\"", VISIT) + &field("field", 3);
    let file = part("name=\"file\"; filename=\"a.png\"", &"x".repeat(5_000_000));
    [
        field("field", SIZE),
        many,
        files,
        format!("--XX\r\n{}", "a: b\r\n".repeat(SIZE / 6)),
        field(&"n".repeat(SIZE), 1),
        format!("{visit}{file}"),
        "-".repeat(SIZE),
    ]
    .into_iter()
    .map(|form| (form + "--XX--\r\n").into_bytes())
    .collect()
}

/// Queries as long as heads may be.
fn queries() -> Vec<String> {
    let list = "/api/backend/item?table=settings";
    let many: String =
        (0..190).map(|n| format!("&filter[name][c{n}]={}", "x".repeat(100))).collect();
    let maps = "{%22a%22:1},".repeat(2500);
    [
        format!("{list}{many}"),
        format!("{list}&filter[value][eq]=[{maps}1]"),
        format!("{list}&filter[value][eq]={}", "[".repeat(30_000)),
        format!("{list}&filter[name][in]={}", "a,".repeat(15_000)),
        format!("{list}&fields={}", "name,".repeat(6_000)),
        format!("{list}&sort={}", "name,".repeat(6_000)),
        format!("{list}&search={}", "%41".repeat(10_000)),
        format!("/api/pages?path={}", "x".repeat(30_000)),
    ]
    .into()
}

fn begin_visit(server: &Server) -> String {
    let node = |id: i64, kind: &str, fields: serde_json::Value| {
        let name = format!("n{id}");
        json!({"client_id": id, "type": kind, "name": name, "config_json": fields})
    };
    let fields = json!({"fields": [{"id": "x", "type": "short_text"}]});
    let slug = format!("load{}", std::process::id());
    let funnel = json!({
        "name": "Load", "slug": slug, "start_node_id": -1,
        "nodes": [node(-1, "step", fields), node(-2, "end", json!({}))],
        "edges": [{"from_node_id": -1, "to_node_id": -2}],
    });
    let made = server.call("/api/backend/formfunnel?action=create", &funnel);
    let id = &made["data"]["id"];
    server.call("/api/backend/formfunnel?action=publish", &json!({"id": id}));
    let started = server.call("/api/formfunnel/start", &json!({"funnel_id": id}));
    started["session_uuid"].as_str().expect("a session").to_owned()
}

/// Every width of pictures with as many pixels as are taken.
fn pictures(server: &Server) -> Case {
    let mut requests = Vec::new();
    for (format, kind) in [(ImageFormat::Png, "png"), (ImageFormat::Jpeg, "jpg")] {
        let mut file = Cursor::new(Vec::new());
        RgbImage::new(5700, 4400).write_to(&mut file, format).expect("a picture");
        let disposition = format!("name=\"file\"; filename=\"a.{kind}\"");
        let head = format!("--XX\r\nContent-Disposition: form-data; {disposition}\r\n\r\n");
        let form = [head.as_bytes(), file.get_ref(), b"\r\n--XX--\r\n"].concat();
        let head = [("content-type", BOUNDARY), ("x-api-key", &server.key)];
        let (status, reply) = server.send("POST", "/api/backend/media", &head, &form);
        assert!((200..300).contains(&status), "{status} {reply}");
        let reply: serde_json::Value = serde_json::from_str(&reply).expect("JSON");
        let url = reply["data"]["url"].as_str().or(reply["data"]["path"].as_str());
        let url = url.unwrap_or_else(|| panic!("no address in {reply}")).to_owned();
        for width in [160, 320, 640, 960, 1280, 1920, 2560] {
            requests.push((format!("{url}?w={width}"), Vec::new()));
        }
    }
    Case { verb: "GET", head: Vec::new(), requests }
}
