//! A right that fixes `fields` tells nothing of other columns, and one that fixes `id` nothing of
//! other records: every parameter of a read × every operator × every hidden column.
//!
//! Nobody lists what could leak. The same calls are made twice, with other values in the hidden
//! columns; the replies must not differ.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::support::Site;

const ITEM: &str = "/api/backend/item";
const FIELDS: &str = "id,title";

/// Hidden columns, with a value before and after.
fn hidden() -> Vec<(&'static str, &'static str, Json, Json)> {
    vec![
        ("body", "text", json!("amber"), json!("zinc")),
        ("price", "integer", json!(5), json!(50)),
        ("cost", "decimal", json!("1.5"), json!("9.5")),
        ("ratio", "number", json!(0.5), json!(2.5)),
        ("sold", "boolean", json!(true), json!(false)),
        ("day", "date", json!("2026-01-01"), json!("2026-12-31")),
        ("at", "time", json!("01:00:00"), json!("23:00:00")),
        ("seen", "datetime", json!("2026-01-01T00:00:00Z"), json!("2026-12-31T00:00:00Z")),
        ("tags", "json", json!(["amber"]), json!(["zinc"])),
        ("near", "integer", json!(1), json!(2)),
        ("base_id", "", json!(4), json!(2)),
        ("language_short", "", json!("en"), json!("de")),
    ]
}

async fn site() -> Site {
    let mut columns = vec![json!({"name": "title", "type": "text"})];
    for (name, kind, ..) in hidden().iter().filter(|(_, kind, ..)| !kind.is_empty()) {
        let mut column = json!({"name": name, "type": kind});
        if *name == "near" {
            column["references"] = json!("goods");
        }
        columns.push(column);
    }
    let goods = json!({"name": "goods", "multilanguage": true, "columns": columns});
    let site = Site::builder().await.plugin(json!({"id": "shop", "tables": [goods]})).open().await;
    // The base of the others comes first.
    for (id, language) in [(4, "pt"), (1, "fr"), (2, "it"), (3, "es")] {
        let body = json!({"id": id, "title": format!("t{id}"), "base_id": 4, "price": 7,
            "language_short": language, "body": "copper"});
        site.insert("goods", body).await;
    }
    site
}

/// Gives one record its hidden values.
async fn fill(site: &Site, value: impl Fn(&(&str, &str, Json, Json)) -> Json) {
    let body: serde_json::Map<String, Json> =
        hidden().iter().map(|column| (column.0.to_owned(), value(column))).collect();
    site.update("goods&id=2", Json::Object(body)).await;
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The operators, as the service names them.
async fn operators(site: &Site) -> Vec<String> {
    let line = format!("GET {ITEM}?table=goods&filter[price][nothing]=1");
    let detail = site.admin(&line).refused(400, "bad_query").await.json()["detail"].clone();
    let (_, list) = detail.as_str().unwrap().rsplit_once("there are ").unwrap();
    let all: Vec<_> = list.trim_end_matches('.').split(", ").map(str::to_owned).collect();
    assert!(all.len() >= 12, "{all:?}");
    all
}

/// Parameters of a read, from the OpenAPI document, each with what it could ask of a hidden column.
async fn questions(site: &Site) -> Vec<String> {
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let read = &document["paths"][format!("{ITEM}/goods")]["get"]["parameters"];
    let mut all = Vec::new();
    let names = read.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
    // Filters as a whole: those of hidden columns are tried by every operator.
    let names = names.filter(|name| !name.starts_with("filter["));
    for name in names.chain(["id"]) {
        for (column, _, before, after) in hidden() {
            let text = |value: &Json| value.as_str().map_or(value.to_string(), str::to_owned);
            let values = [text(&before), text(&after)];
            match name {
                "table" | "fields" => {}
                "id" => all.push("id=2".to_owned()),
                "limit" => all.push("limit=1".to_owned()),
                "offset" => all.push("offset=1".to_owned()),
                "count" => all.push("count=true".to_owned()),
                "cursor" => all.push("limit=1&cursor={next}".to_owned()),
                "sort" => {
                    all.extend(["", "-"].map(|down| format!("sort={down}{column}&limit=1")));
                    all.push(format!("sort=title,{column}"));
                }
                "expand" => all.push(format!("expand={column}")),
                "search" => all.extend(values.map(|value| format!("search={}", encoded(&value)))),
                "language" => {
                    for value in values {
                        all.push(format!("language={}", encoded(&value)));
                        all.push(format!("id=2&language={}", encoded(&value)));
                        all.push(format!("id=1&language={}", encoded(&value)));
                    }
                }
                "filter" => {
                    for op in operators(site).await {
                        for value in values.iter().chain([&"true".to_owned()]) {
                            all.push(format!("filter[{column}][{op}]={}", encoded(value)));
                            all.extend(combined(column, &op, value));
                        }
                    }
                    all.extend(values.map(|v| format!("filter[{column}]={}", encoded(&v))));
                }
                _ => panic!("what could {name} ask of a hidden column?"),
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The same comparison as JSON: alone, and where other conditions hold already.
fn combined(column: &str, op: &str, value: &str) -> [String; 2] {
    let value = match op {
        "in" | "nin" => json!([value]),
        _ => json!(value),
    };
    let is = json!({column: {op: value}});
    let hidden = json!({"title": {"eq": "t2"}, "or": [{"id": {"lt": 0}}, {"not": is}]});
    [is, hidden].map(|filter| format!("filter={}", encoded(&filter.to_string())))
}

/// Status, tag and text of every answer.
async fn answers(site: &Site, key: &str, fixed: &str, questions: &[String]) -> Vec<String> {
    let page = format!("GET {ITEM}?table=goods&{fixed}limit=1");
    let next = site.ask(&page).key(key).send().await.json_or_null()["meta"]["next"].clone();
    let next = next.as_str().unwrap_or("none").to_owned();
    let mut answers = Vec::new();
    for question in questions {
        let question = question.replace("{next}", &next);
        let line = format!("GET {ITEM}?table=goods&{fixed}{question}");
        let reply = site.ask(&line).key(key).send().await;
        assert_ne!(reply.status, 500, "{line}");
        let mut body = reply.json_or_null();
        body.as_object_mut().map(|body| body.remove("request_id"));
        answers.push(format!(
            "{question}: {} {:?} {body}",
            reply.status,
            reply.headers.get("etag")
        ));
    }
    answers
}

#[tokio::test]
async fn nothing_tells_of_a_column_that_the_right_hides() {
    let site = site().await;
    let questions = questions(&site).await;
    assert!(questions.len() > 300, "{}", questions.len());
    let right = format!("GET {ITEM}?table=goods&fields={FIELDS}");
    let bound = site.key(&[&right]).await;
    let free = site.key(&[&format!("GET {ITEM}?table=goods")]).await;
    let fixed = format!("fields={FIELDS}&");
    let mut seen = Vec::new();
    for second in [false, true] {
        fill(&site, |column| if second { column.3.clone() } else { column.2.clone() }).await;
        seen.push((
            answers(&site, &bound, &fixed, &questions).await,
            answers(&site, &free, &fixed, &questions).await,
        ));
    }
    let [(before, all_before), (after, all_after)] = &seen[..] else { panic!() };
    for (one, other) in before.iter().zip(after) {
        assert_eq!(one, other);
    }
    // The questions are good: who may read everything gets other answers to many.
    let told = all_before.iter().zip(all_after).filter(|(one, other)| one != other).count();
    assert!(told > 100, "only {told} of {} questions tell a difference", questions.len());
    // What is shown may still be asked for.
    for ask in ["sort=-title", "filter[title][contains]=t", "search=t1", "count=true", "id=1"] {
        let line = format!("GET {ITEM}?table=goods&{fixed}{ask}");
        site.ask(&line).key(&bound).expect(200).await;
    }
    let line = format!("GET {ITEM}?table=goods&{fixed}search=t1");
    assert_eq!(site.ask(&line).key(&bound).expect(200).await.data().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_right_to_one_record_does_not_reach_another() {
    let site = site().await;
    let row = format!("{ITEM}?table=goods&id=1");
    let key = site.key(&[&format!("GET,PATCH,DELETE {row}")]).await;
    site.patch(&format!("{ITEM}?table=goods&id=2"), json!({"base_id": 2, "language_short": "de"}))
        .await;
    let before = site.traces().await;
    for body in [json!({"base_id": 2}), json!({"base_id": null}), json!({"id": 9})] {
        let ask = site.ask(&format!("PATCH {row}")).key(&key).json(body);
        ask.refused(401, "api_key_forbidden").await;
    }
    for method in ["GET", "PATCH", "DELETE"] {
        let ask = site.ask(&format!("{method} {row}&language=de")).key(&key);
        ask.json(json!({"title": "x"})).refused(401, "api_key_forbidden").await;
    }
    assert_eq!(site.traces().await, before);
    // The same base is no change of it.
    let kept = site.ask(&format!("GET {row}")).key(&key).expect(200).await.data();
    let body = json!({"title": "mine", "base_id": kept["base_id"], "id": 1});
    let reply = site.ask(&format!("PATCH {row}")).key(&key).json(body).expect(200).await;
    assert_eq!(reply.data()["title"], "mine");
    // Nobody saves or passes on a row that reaches further.
    let keys = "POST /api/backend/keys";
    let with = |query: Json| {
        let row = json!({"endpoint": ITEM, "query": query, "methods": ["GET"]});
        json!({"name": "x", "rights": [row]})
    };
    let wrong = with(json!({"table": "goods", "id": "1", "language": "de"}));
    site.admin(keys).json(wrong).refused(422, "validation_failed").await;
    site.admin(keys).json(with(json!({"fields": ","}))).refused(422, "validation_failed").await;
    let held = format!("GET {ITEM}?table=goods&fields=title");
    let clerk = site.key(&[keys, &held]).await;
    let wider = with(json!({"table": "goods", "fields": "title", "filter[body]": "amber"}));
    site.ask(keys).key(&clerk).json(wider).refused(403, "permission_denied").await;
    let same = with(json!({"table": "goods", "fields": "title", "filter[title]": "t1"}));
    site.ask(keys).key(&clerk).json(same).expect(201).await;
}

#[tokio::test]
async fn a_right_to_one_record_does_not_tell_which_others_there_are() {
    let site = site().await;
    let key = site.key(&["PATCH /api/backend/item?table=goods&id=2"]).await;
    let patch =
        |body: Json| site.ask("PATCH /api/backend/item?table=goods&id=2").key(&key).json(body);
    for column in ["id", "base_id"] {
        let mut told = Vec::new();
        // One that is there, with its own language; one that is not; no number.
        for value in [json!(1), json!(3), json!(99), json!("99"), json!("x"), Json::Null] {
            let refused = patch(json!({column: value})).refused(401, "api_key_forbidden").await;
            told.push(refused.json()["detail"].clone());
        }
        assert!(told.iter().all(|one| *one == told[0]), "{column}: {told:?}");
    }
    patch(json!({"id": 2, "base_id": 4, "title": "mine"})).expect(200).await;
    patch(json!({"id": "2", "title": "mine too"})).expect(200).await;
}

#[tokio::test]
async fn a_write_shows_the_record_only_to_who_may_read_it() {
    let site = site().await;
    let (post, patch) = (format!("POST {ITEM}?table=goods"), format!("PATCH {ITEM}?table=goods"));
    let writer = site.key(&[&post, &patch]).await;
    let some = site.key(&[&post, &patch, &format!("GET {ITEM}?table=goods&fields=id")]).await;
    let one = site.key(&[&post, &patch, &format!("GET {ITEM}?table=goods&id=1")]).await;
    let line = format!("{patch}&id=1");
    for (key, shown) in [(&writer, false), (&some, false), (&one, true), (&site.admin, true)] {
        let reply = site.ask(&line).key(key).json(json!({"title": "x"})).expect(200).await;
        assert_eq!(reply.data()["body"] == "copper", shown, "{}", reply.text());
        assert_eq!((&reply.data()["id"], reply.headers.contains_key("etag")), (&json!(1), shown));
        if !shown {
            assert_eq!(reply.json(), json!({"data": {"id": 1}}));
        }
    }
    let reply = site.ask(&post).key(&writer).json(json!([{"title": "a"}, {"title": "b"}]));
    let made = reply.expect(201).await.data();
    assert_eq!(made.as_array().unwrap().len(), 2);
    for record in made.as_array().unwrap() {
        assert_eq!(record.as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
    }
    // A user with the permission to change, but not to see.
    let editor = site.person("ed", json!(["pages_pages_edit"])).await;
    let ask = site.ask(&format!("POST {ITEM}?table=pages")).bearer(&editor.token);
    let reply =
        ask.json(json!({"title": "a", "view": "a", "url_rewrite": "/a"})).expect(201).await.json();
    assert_eq!(reply, json!({"data": {"id": reply["data"]["id"]}}));
}

/// Who writes without seeing everything cannot guess what is hidden: only who has read a record
/// has its tag.
#[tokio::test]
async fn no_entity_tag_can_be_guessed() {
    let site = site().await;
    let row = format!("{ITEM}?table=goods&id=1");
    let blind = site.key(&[&format!("PATCH {ITEM}?table=goods"), "DELETE /api/backend/item"]).await;
    let read = site.admin(&format!("GET {row}")).expect(200).await;
    let whole = read.text();
    let record = whole.strip_prefix("{\"data\":").unwrap().strip_suffix('}').unwrap();
    let guess = cms_core::items::etag(record);
    let write = |line: &str, tag: &str| {
        let ask = site.ask(&format!("{line} {row}")).key(&blind).header("if-match", tag);
        ask.json(json!({}))
    };
    for line in ["PATCH", "DELETE"] {
        write(line, &guess).refused(412, "stale").await;
        let many = [guess.as_str(); 9].join(", ");
        write(line, &many).refused(400, "bad_query").await;
    }
    let tag = read.header("etag").to_owned();
    write("PATCH", &format!("{}{tag}", "\"x\", ".repeat(7))).expect(200).await;
    // Nor does an equal record of another table have it, and every process of the site knows it.
    let items = site.cms.items();
    assert_eq!(items.etag("goods", record), tag);
    assert_ne!(items.etag("other", record), tag);
    let other = cms_core::Cms::open(site.database.settings()).await.unwrap();
    assert_eq!(other.items().etag("goods", record), tag);
}

/// A cursor tells nothing of the row that it is made of, and nobody can make one.
#[tokio::test]
async fn cursors_are_sealed() {
    let site = site().await;
    let next = async |line: &str| {
        let page = site.admin(&format!("GET {line}")).expect(200).await.json();
        page["meta"]["next"].as_str().expect(line).to_owned()
    };
    let sorted = format!("{ITEM}?table=goods&sort=body&limit=1");
    let cursor = next(&sorted).await;
    let bytes = data_encoding::BASE64URL_NOPAD.decode(&cursor.as_bytes()[1..]).unwrap();
    assert!(!bytes.windows(6).any(|part| part == b"copper"));
    assert!(cursor.len() < 64, "{cursor}");
    for (line, status) in [
        (format!("{sorted}&cursor={cursor}"), 200),
        (format!("{sorted}&cursor={cursor}&limit=2").replacen("&limit=1", "", 1), 200),
        (format!("{ITEM}?table=goods&sort=-body&cursor={cursor}"), 400),
        (format!("{ITEM}?table=goods&sort=title&cursor={cursor}"), 400),
        (format!("{ITEM}?table=goods&sort=body&search=a&cursor={cursor}"), 400),
        (format!("{ITEM}?table=goods&sort=body&filter[title]=a&cursor={cursor}"), 400),
        (format!("{ITEM}?table=goods&cursor={cursor}"), 400),
        (format!("{ITEM}?table=goods&sort=body&cursor="), 400),
        (format!("{ITEM}?table=pages&sort=title&cursor={cursor}"), 400),
        (format!("{ITEM}?table=pages&cursor={cursor}"), 400),
        (format!("/api/backend/keys?cursor={cursor}"), 400),
    ] {
        let reply = site.admin(&format!("GET {line}")).expect(status).await;
        assert!(status == 200 || reply.json()["error"] == "bad_query", "{line}");
    }
    // The same text for the same page, and another process of the site reads on.
    assert_eq!(next(&sorted).await, cursor);
    let other = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let api = cms_http::Api::new(other).unwrap();
    let list = async |cursor: &str| {
        let line = format!("/api/backend/keys?limit=1&cursor={cursor}");
        let request = http::Request::get(line)
            .header("host", "cms.test")
            .header("x-api-key", &site.admin)
            .body(http_body_util::Empty::<bytes::Bytes>::new());
        api.handle(request.unwrap()).await.status().as_u16()
    };
    site.key(&[]).await;
    assert_eq!(list(&next("/api/backend/keys?limit=1").await).await, 200);
    // As they were made before: readable and guessable.
    for forged in [
        data_encoding::BASE64URL_NOPAD.encode(b"k\0\0\0\0\0\0\0\x01"),
        format!("c{}", data_encoding::BASE64URL_NOPAD.encode(b"0123456789ab[\"x\",1]")),
        format!("c{}", "x".repeat(60)),
        cursor[1..].to_owned(),
        "x".to_owned(),
        "AAAA".to_owned(),
        "W10".to_owned(),
    ] {
        for list in ["/api/backend/keys?", &format!("{ITEM}?table=goods&")] {
            let line = format!("GET {list}cursor={forged}");
            site.admin(&line).refused(400, "bad_query").await;
        }
    }
}
