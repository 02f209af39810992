use std::time::Duration;

use serde_json::{Value as Json, json};
use sqlx::{Connection as _, Executor as _};

use crate::{
    funnels::{drawn, made},
    support::{Site, each, media::png, plugins::plugin, site::NOW, visits::leads, with},
};

const MEDIA: &str = "/api/backend/media";

/// Reads that wait for the table.
const WAITING: &str =
    "select count(*) from pg_locks where not granted and relation = 'cms_settings'::regclass";

async fn site() -> Site {
    let goods = "name text, text richtext_editor, blocks json, colour color, weight number";
    Site::builder().await.plugin(plugin("shop", [("goods", goods)])).open().await
}

/// The places of a file, as its deletion tells them.
async fn places(site: &Site, id: i64) -> String {
    let refused = site.admin(&format!("DELETE {MEDIA}?id={id}")).refused(409, "conflict").await;
    let told = refused.json()["detail"].as_str().unwrap().to_owned();
    let told = told.strip_prefix("The file is in use: ").expect("places").to_owned();
    told.split_once(". Change these").expect("what to do").0.to_owned()
}

async fn uses(site: &Site, id: i64) -> Json {
    site.get(&format!("{MEDIA}/uses?id={id}")).await
}

#[tokio::test]
async fn a_path_is_found_however_it_is_written() {
    let site = site().await;
    let file = site.upload("a.png", &png(8, 5, 1)).await.data();
    let other = site.upload("b.png", &png(8, 5, 2)).await.data();
    let path = file["path"].as_str().unwrap();
    let escaped = path.replace('/', "\\/");
    let gallery = json!([{"title": "A"}, {"pictures": [{"src": format!("{path}?w=320")}]}]);
    let form = |name: &str, more: Json| {
        let field = with(json!({"id": "a", "type": "statement"}), more);
        json!({"name": name, "fields": [field]})
    };
    let menu = json!({"menu": "main", "title": "Terms", "language_short": "en"});
    for (table, record, part) in [
        ("goods", json!({"blocks": {"picture": path}}), "blocks"),
        ("goods", json!({"blocks": gallery}), "blocks"),
        ("goods", json!({"blocks": format!("https://cms.example.org{path}")}), "blocks"),
        ("goods", json!({"blocks": {"html": format!("<img src='{path}'>")}}), "blocks"),
        ("goods", json!({"name": path}), "name"),
        ("goods", json!({"text": format!("<p data-a=\"{escaped}\">")}), "text"),
        ("menu_items", with(menu, json!({"url": path})), "url"),
        ("settings", json!({"name": "logo", "value": path}), "value"),
        ("forms", form("a", json!({"html": format!("<img src=\"{path}\">")})), "fields"),
        ("forms", form("b", json!({"html": "<p>b</p>", "media_id": file["id"]})), "fields"),
    ] {
        let made = site.insert(table, record.clone()).await;
        // The key of settings is their name.
        let name = || made["name"].as_str().unwrap().to_owned();
        let id = made["id"].as_i64().map_or_else(name, |id| id.to_string());
        assert_eq!(places(&site, 1).await, format!("{table} {id} ({part})"), "{record}");
        let told = json!([{"what": "record", "table": table, "id": id, "part": part}]);
        assert_eq!(uses(&site, 1).await, json!({"uses": told, "hidden": 0}), "{record}");
        site.remove(&format!("{table}&id={id}")).await;
        assert_eq!(uses(&site, 1).await["uses"], json!([]), "{record}");
    }
    // What only looks alike.
    let digits = &other["path"].as_str().unwrap()[10..];
    let alike = json!([
        {"name": &path[..60], "blocks": {"media_id": 1, "picture": &path[..70]}},
        {"text": path.to_uppercase(), "blocks": [digits]},
    ]);
    site.insert("goods", alike).await;
    site.insert("forms", form("c", json!({"html": "<p>c</p>", "media_id": 11}))).await;
    assert_eq!(uses(&site, 1).await, json!({"uses": [], "hidden": 0}));
    let last = site.database.count("select max(id) from goods").await;
    assert_eq!(places(&site, 2).await, format!("goods {last} (blocks)"));
    site.delete(&format!("{MEDIA}?id=1")).await;
    site.admin(&format!("GET {MEDIA}/uses?id=1")).refused(404, "not_found").await;
}

#[tokio::test]
async fn funnels_keep_what_they_show() {
    let site = site().await;
    for n in 1..=4 {
        site.upload("a.png", &png(8, 5, n)).await;
    }
    let path = async |id: i64| {
        let file = site.get(&format!("{MEDIA}?id={id}")).await;
        file["path"].as_str().unwrap().to_owned()
    };
    let mut funnel = drawn();
    funnel["settings_json"] = json!({"logo": path(1).await});
    funnel["nodes"][0]["config_json"]["media_id"] = json!(2);
    let html = format!("<img src=\"{}\">", path(3).await);
    funnel["nodes"][2]["config_json"] = json!({"html": html});
    funnel["email_routings"][0]["body_html"] = json!(format!("<p>{}</p>", path(4).await));
    let id = made(&site, &funnel).await["id"].clone();
    for (file, part) in [(1, "settings"), (2, "nodes"), (3, "nodes"), (4, "mails")] {
        assert_eq!(places(&site, file).await, format!("funnel {id} ({part})"));
    }
    site.publish(id.as_i64().unwrap()).await;
    assert_eq!(places(&site, 3).await, format!("funnel {id} (nodes), funnel {id} (published)"));
    // Who may not see funnels does not learn of them.
    let rights = ["GET /api/backend/media", "GET /api/backend/media/uses"];
    let key = site.key(&rights).await;
    let read = || site.ask(&format!("GET {MEDIA}/uses?id=3"));
    let hidden = read().key(&key).expect(200).await.data();
    assert_eq!(hidden, json!({"uses": [], "hidden": 2}));
    let seeing = [rights[1], "GET /api/backend/formfunnel?action=list"];
    let seen = read().key(&site.key(&seeing).await).expect(200).await.data();
    let expected = json!({"what": "funnel", "table": null, "id": id.to_string(), "part": "nodes"});
    assert_eq!(seen["uses"][0], expected);
    site.post("/api/backend/formfunnel?action=delete", json!({"id": id})).await;
    assert_eq!(uses(&site, 3).await["uses"], json!([]));
}

/// A visit goes on with the version that it began with.
#[tokio::test]
async fn visits_keep_what_their_version_shows() {
    let site = site().await;
    let file = site.upload("a.png", &png(8, 5, 1)).await.data();
    let mut funnel = leads();
    funnel["nodes"][1]["config_json"]["media_id"] = file["id"].clone();
    let funnel = site.funnel(funnel).await;
    let visit = site.visit(funnel.id).await;
    let mut drawn = site.get(&format!("/api/backend/formfunnel?action=get&id={}", funnel.id)).await;
    for node in drawn["nodes"].as_array_mut().unwrap() {
        node["client_id"] = node["id"].clone();
        node["config_json"].as_object_mut().unwrap().remove("media_id");
    }
    let saved = json!({"id": funnel.id, "rev": drawn["rev"], "nodes": drawn["nodes"]});
    site.post("/api/backend/formfunnel?action=save", saved).await;
    let id = funnel.id;
    assert_eq!(places(&site, 1).await, format!("funnel {id} (published)"));
    site.publish(id).await;
    assert_eq!(places(&site, 1).await, format!("funnel {id} (visits)"));
    visit.resume().expect(200).await;
    // It has expired: nobody goes on with it.
    let expires = site.database.count("select expires_at from cms_formfunnel_submissions").await;
    site.clock.advance(expires - NOW);
    assert_eq!(uses(&site, 1).await["uses"], json!([]));
}

/// One read goes on, others wait for their turn and are told so. Only PostgreSQL lets a test stop a
/// read.
#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_read_whole_are_read_one_at_a_time() {
    let site = site().await;
    let file = site.upload("a.png", &png(8, 5, 1)).await.data();
    // The key of settings is their name.
    let logo = json!({"name": "logo", "value": file["path"]});
    site.insert("settings", logo).await;
    let expected = json!([{"what": "record", "table": "settings", "id": "logo", "part": "value"}]);
    assert_eq!(uses(&site, 1).await["uses"], expected);
    let Some(url) = &site.database.url else { return };
    let mut other = sqlx::PgConnection::connect(url).await.unwrap();
    let lock = "begin; lock table cms_settings in access exclusive mode";
    other.execute(sqlx::raw_sql(lock)).await.unwrap();
    let media = site.cms.media();
    let mut told = std::pin::pin!(futures_util::future::join_all((0..4).map(|_| media.uses(1))));
    let mut most = 0;
    let told = loop {
        tokio::select! {
            told = &mut told => break told,
            () = tokio::time::sleep(Duration::from_millis(20)) => {
                let waiting: i64 = sqlx::query_scalar(WAITING).fetch_one(&mut other).await.unwrap();
                most = most.max(waiting);
            }
        }
    };
    assert_eq!(most, 1, "one waits for the lock at a time");
    // For 5 s each. The time of the others is over before their turn, or just as it comes.
    let waited: Vec<_> = told.into_iter().map(|one| one.unwrap_err()).collect();
    assert!(waited.iter().all(|error| error.code() == cms_core::Code::Unavailable), "{waited:?}");
    let late = |error: &&cms_core::Error| error.to_string().contains("Other requests");
    let late: Vec<_> = waited.iter().filter(late).collect();
    assert!((1..4).contains(&late.len()), "{waited:?}");
    assert!(late.iter().all(|error| error.retry_after_s() == Some(10)));
    other.close().await.unwrap();
}

/// `CMS_TEST_ROWS` makes the table larger and tells how long the look takes.
#[tokio::test]
async fn at_most_twenty_places_are_told_and_all_slices_are_looked_through() {
    // Two slices and a piece, with gaps between the keys, a kilobyte a row.
    let rows = std::env::var("CMS_TEST_ROWS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_100);
    let site = site().await;
    let path = site.upload("a.png", &png(8, 5, 1)).await.data()["path"].clone();
    let path = path.as_str().unwrap();
    let text = match site.database.is_postgres() {
        true => "repeat('x', 1000)",
        false => "hex(zeroblob(500))",
    };
    let insert = format!("insert into goods (id, name, text) select i * 3, '', {text}");
    site.database.fill(&insert, rows).await;
    let ids = async || each(&uses(&site, 1).await["uses"], "id");
    let show = async |rows: &str| {
        site.database.run(format!("update goods set name = '{path}' where {rows}")).await;
    };
    let began = std::time::Instant::now();
    assert_eq!(ids().await, Vec::<Json>::new());
    println!("{rows} rows of a kilobyte looked through in {:.1?}", began.elapsed());
    show("id in (3, 30000, 30003, 60000, 60300)").await;
    let mut found = ids().await;
    found.sort_by_key(Json::to_string);
    assert_eq!(found, ["3", "30000", "30003", "60000", "60300"]);
    show("id > 59000").await;
    assert_eq!(ids().await.len(), 20);
}
