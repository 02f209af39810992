//! `create`, `list`, `get`, `duplicate`, `delete`, `field_types`.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::{
    funnels::{ACTION, drawn, get, made, without_ids},
    support::{Site, each, faults, has, leads, pick, with},
};

#[tokio::test]
async fn a_funnel_is_made_shown_and_listed() {
    let site = Site::open().await;
    let create = |body: Json| site.staff("create", body);
    let funnel = create(json!({"name": "Lead Funnel"})).expect(201).await.data();
    has!(funnel, {"id": 1, "slug": "lead-funnel", "status": "draft", "rev": 1, "save_abandoned": 0,
                  "abandon_after_min": 60, "start_node_id": null, "version": null,
                  "settings_json": {}, "created_at": "2026-11-21T09:30:00Z", "nodes": [],
                  "edges": [], "email_routings": [], "id_map": {}});
    // The slug of another is not taken.
    let second = create(json!({"name": "Lead Funnel"})).expect(201).await.data();
    assert_eq!(second["slug"], "lead-funnel-2");
    let taken = json!({"name": "A", "slug": "lead-funnel"});
    create(taken.clone()).refused(409, "conflict").await;
    let french = with(taken, json!({"language_short": "fr", "base_id": 1}));
    let french = create(french).expect(201).await.data();
    has!(french, {"slug": "lead-funnel", "base_id": 1});
    let other = json!({"name": "B", "language_short": "fr", "base_id": 1});
    create(other).refused(409, "conflict").await;
    create(json!({"name": "B", "base_id": 99})).refused(422, "validation_failed").await;

    let list = async |query: &str| {
        let page = site.admin(&format!("GET {ACTION}=list{query}")).expect(200).await.json();
        let rows = page["data"].as_array().unwrap();
        assert!(rows.iter().all(|row| row.get("nodes").is_none()), "{query}");
        (each(&page["data"], "id"), page["meta"]["next"].as_str().map(str::to_owned))
    };
    // PostgreSQL counts a refused one too.
    let last = french["id"].as_i64().unwrap();
    for (query, ids) in [
        // Without a language those of the site's first, and those of none.
        ("", vec![1, 2]),
        ("&language=*", vec![1, 2, last]),
        ("&language=fr", vec![last]),
        ("&language=FR", vec![last]),
        ("&language=fr&filter[status]=draft&count=true", vec![last]),
        ("&status=published&filter[status]=draft&language=*", vec![]),
        // Those of the first language and of none, unless another is asked for.
        ("&filter[language_short]=fr", vec![]),
        ("&status=draft&language=fr", vec![last]),
        ("&status=published", vec![]),
    ] {
        assert_eq!(list(query).await.0, ids, "{query}");
    }
    let (first, next) = list("&limit=2&language=*").await;
    let rest = list(&format!("&limit=2&language=*&cursor={}", next.unwrap())).await;
    assert_eq!((first, rest), (vec![json!(1), json!(2)], (vec![json!(last)], None)));
    for (query, status, code) in [
        ("list&status=gone", 400, "bad_query"),
        ("list&limit=0", 400, "bad_query"),
        ("list&colour=red", 400, "bad_query"),
        ("get", 400, "bad_query"),
        ("get&id=99", 404, "not_found"),
        ("get&id=none", 404, "not_found"),
        ("nothing", 404, "not_found"),
    ] {
        site.admin(&format!("GET {ACTION}={query}")).refused(status, code).await;
    }
    let mut shown = funnel;
    shown.as_object_mut().unwrap().retain(|name, _| !["id_map", "warnings"].contains(&&**name));
    assert_eq!(get(&site, "1").await, shown);
    assert_eq!(get(&site, "lead-funnel").await["id"], 1);
}

#[tokio::test]
async fn an_id_in_the_query_needs_no_body() {
    let site = Site::open().await;
    site.staff("create", json!({"name": "A"})).expect(201).await;
    for (action, status) in [("duplicate", 201), ("publish", 422), ("delete", 200)] {
        site.admin(&format!("POST {ACTION}={action}&id=1")).expect(status).await;
    }
    site.admin(&format!("POST {ACTION}=submission_delete&id=9")).refused(404, "not_found").await;
}

#[tokio::test]
async fn a_language_is_found_in_any_capitals_beside_fifty_filters() {
    let site = Site::open().await;
    let funnel = json!({"name": "A", "language_short": "zh-Hans"});
    site.staff("create", funnel).expect(201).await;
    let some = json!({"and": vec![json!({"id": {"gte": 1}}); 49]}).to_string();
    let some = utf8_percent_encode(&some, NON_ALPHANUMERIC);
    for (query, found) in [
        ("language=zh-HANS", 1),
        (&format!("language=zh-hans&status=draft&filter={some}"), 1),
        ("language=zh-han_", 0),
    ] {
        let page = site.admin(&format!("GET {ACTION}=list&{query}")).expect(200).await.json();
        assert_eq!(page["data"].as_array().map(Vec::len), Some(found), "{query}");
    }
    site.admin(&format!("GET {ACTION}=list&language=zh%00hans")).refused(400, "bad_query").await;
}

#[tokio::test]
async fn spellings_of_a_language_are_sorted_and_may_come_between_two_pages() {
    let site = Site::open().await;
    let make = async |name: &str, language: &str| {
        let funnel = json!({"name": name, "language_short": language});
        site.staff("create", funnel).expect(201).await;
    };
    make("A", "de-AT").await;
    make("B", "de-at").await;
    let mut names = Vec::new();
    let mut next = Some(String::new());
    while let Some(cursor) = next {
        let query = format!("language=de-At&sort=language_short&limit=1{cursor}");
        let page = site.admin(&format!("GET {ACTION}=list&{query}")).expect(200).await.json();
        names.push(page["data"][0]["name"].as_str().unwrap().to_owned());
        if names.len() == 1 {
            make("C", "de-aT").await;
        }
        next = page["meta"]["next"].as_str().map(|next| format!("&cursor={next}"));
    }
    assert_eq!(names, ["A", "C", "B"]);
}

#[tokio::test]
async fn all_faults_of_a_new_funnel_are_told() {
    let site = Site::open().await;
    let before = site.traces().await;
    let body = json!({
        "slug": "A b", "colour": 1, "save_abandoned": 2, "settings_json": {"strict": "x"},
        "start_node_id": 7,
        "nodes": [{"client_id": 1, "type": "end"}, {"client_id": 1, "type": "end"}],
        "edges": [{"from_node_id": 1, "to_node_id": 1}],
        "email_routings": [{"recipients": "nobody"}],
    });
    let refused = site.staff("create", body).refused(422, "validation_failed").await;
    let told = faults(&refused.json());
    for expected in [
        "funnel.slug format",
        "funnel.colour unknown",
        "funnel.save_abandoned type",
        "funnel.settings_json.strict bad_config",
        "funnel.name required",
        "nodes[1].client_id duplicate_id",
        "edges[0] self_loop",
        "email_routings[0].recipients bad_recipient",
    ] {
        assert!(told.iter().any(|line| line == expected), "{expected}: {told:?}");
    }
    assert_eq!(site.traces().await, before);
    assert_eq!(site.database.rows("cms_formfunnels").await, 0);
}

#[tokio::test]
async fn a_copy_differs_in_ids_only() {
    let site = Site::open().await;
    let original = made(&site, &drawn()).await;
    site.staff("publish", json!({"id": 1})).expect(200).await;
    let duplicate = |body: Json| site.staff("duplicate", body);
    let copy = duplicate(json!({"id": 1})).expect(201).await.data();
    has!(copy, {"status": "draft", "rev": 1});
    assert_ne!(copy["slug"], original["slug"]);
    let shown = get(&site, "2").await;
    assert_eq!(without_ids(shown.clone()), without_ids(get(&site, "1").await));
    let own = get(&site, "1").await;
    for list in ["nodes", "edges"] {
        let own = each(&own[list], "id");
        assert!(each(&shown[list], "id").iter().all(|id| !own.contains(id)), "{list}");
    }
    // As the version of another language, by its slug.
    let french = json!({"id": "leads", "language_short": "fr", "name": "Prospects"});
    let french = duplicate(french.clone()).expect(201).await.data();
    has!(french, {"name": "Prospects", "slug": "leads", "language_short": "fr", "base_id": 1});
    for language in ["fr", "FR"] {
        let again = json!({"id": 1, "language_short": language});
        duplicate(again).refused(409, "conflict").await;
    }
    duplicate(json!({"id": 99})).refused(404, "not_found").await;
    duplicate(json!({})).refused(422, "validation_failed").await;
    site.invalid(&format!("POST {ACTION}=duplicate&id=2"), json!({"id": 1})).await;
}

#[tokio::test]
async fn language_versions_stay_together() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let post = |action: &str, body: Json| site.staff(action, body);
    let version = async |language: &str| {
        let body = json!({"id": 1, "language_short": language});
        post("duplicate", body).expect(201).await.data()["id"].clone()
    };
    let (fr, de) = (version("fr").await, version("de").await);
    // Nobody guesses which of them is meant.
    let told = post("delete", json!({"id": "leads"})).refused(409, "conflict").await.json();
    assert!(told["detail"].as_str().unwrap().contains(&format!("1, {fr}, {de}")), "{told}");
    post("publish", json!({"id": "leads"})).refused(409, "conflict").await;
    // A version of a version is one of the base; the base is none, and takes no version's language.
    let body = json!({"name": "Es", "slug": "es", "base_id": fr, "language_short": "es"});
    assert_eq!(post("create", body).expect(201).await.data()["base_id"], 1);
    for funnel in [json!({"base_id": fr}), json!({"language_short": "de"})] {
        post("save", json!({"id": 1, "funnel": funnel})).refused(409, "conflict").await;
    }
    post("delete", json!({"id": 1})).expect(200).await;
    let base = async |id: &Json| get(&site, &id.to_string()).await["base_id"].clone();
    assert_eq!((base(&fr).await, base(&de).await), (Json::Null, fr.clone()));
    post("save", json!({"id": de, "funnel": {"name": "Neu"}})).expect(200).await;
}

#[tokio::test]
async fn with_a_funnel_goes_all_that_belongs_to_it() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    site.post(&format!("{ACTION}=publish&id=leads"), json!({})).await;
    made(&site, &with(drawn(), json!({"slug": "other"}))).await;
    let tables = ["nodes", "edges", "email_routing", "versions", "version_nodes", "version_edges"];
    let counted = async |column: &str| {
        let mut counts = Vec::new();
        for table in tables {
            let table = format!("cms_formfunnel_{table}");
            let of = match column {
                "" => String::new(),
                column if table.contains("version_") => {
                    let versions = "select id from cms_formfunnel_versions where";
                    format!(" where version_id in ({versions} {column} = 1)")
                }
                column => format!(" where {column} = 1"),
            };
            counts.push(site.database.rows(&format!("{table}{of}")).await);
        }
        counts
    };
    assert!(counted("funnel_id").await.iter().all(|count| *count > 0));
    let delete = |id: Json| site.staff("delete", json!({"id": id}));
    site.staff("delete", json!({"id": "leads", "rev": 7})).refused(409, "rev_conflict").await;
    let gone = delete(json!("leads")).expect(200).await.data();
    assert_eq!(gone, json!({"id": 1, "deleted": true}));
    assert_eq!(counted("funnel_id").await, [0; 6]);
    assert!(counted("").await[..3].iter().all(|count| *count > 0), "the other is there");
    delete(json!(1)).refused(404, "not_found").await;
    let audit = site.get("/api/backend/audit?table=formfunnels").await;
    assert_eq!(each(&audit, "action"), ["delete", "create", "publish", "create"]);
}

#[tokio::test]
async fn every_field_type_is_told_with_its_settings() {
    let site = Site::open().await;
    let types = site.get(&format!("{ACTION}=field_types")).await;
    has!(pick(&types, "type", "email"), {"group": "contact", "/default_config/max_length": 254});
    has!(pick(&types, "type", "email"), {"answer": "an address", "example": "ada@example.org"});
    let types = types.as_array().unwrap();
    assert_eq!(types.len(), 33);
    assert!(types.iter().all(|one| one["config_schema"].is_object() && one["about"].is_string()));
}

/// A funnel that very many have visited is gone at once; what they sent follows in the background.
#[tokio::test]
async fn a_full_funnel_is_deleted_without_a_long_wait() {
    let site = Site::open().await;
    let full = site.funnel(leads()).await.id;
    let visit = site.visit("leads").await;
    let rows = format!(
        "insert into cms_formfunnel_submissions (funnel_id, version_id, version, session_uuid, \
         started_at, last_activity_at, expires_at) select {full}, 1, 1, 'u' || i, i, i, i"
    );
    site.database.fill(&rows, 1300).await;
    site.leads(json!({"slug": "other"})).await;
    site.visit("other").await;
    let count = async || site.database.rows("cms_formfunnel_submissions").await;
    let delete = |body: Json| site.staff("delete", body);
    // A refused call loses nothing.
    delete(json!({"id": full, "rev": 9})).refused(409, "rev_conflict").await;
    site.cms.upkeep().await;
    assert_eq!(count().await, 1302);
    delete(json!({"id": full})).expect(200).await;
    for line in [format!("get&id={full}"), "get&id=leads".to_owned()] {
        site.admin(&format!("GET {ACTION}={line}")).refused(404, "not_found").await;
    }
    delete(json!({"id": full})).refused(404, "not_found").await;
    let list = site.get(&format!("{ACTION}=list&language=*")).await;
    assert_eq!(list.as_array().unwrap().len(), 1);
    visit.step(None, json!({"name": "Ada"})).refused(404, "not_found").await;
    site.visitor("start", json!({"funnel_id": "leads"})).refused(404, "funnel_not_available").await;
    assert_eq!(site.process_abandoned().await, 0, "nobody is told of its visits");
    // Its slug is free.
    site.funnel(leads()).await;
    assert_eq!(count().await, 1302);
    site.cms.upkeep().await;
    assert_eq!(count().await, 1);
    assert_eq!(site.database.rows("cms_formfunnels where status = 'deleted'").await, 0);
}

/// Nobody is written to about a funnel that is gone; the mails of others stay.
#[tokio::test]
async fn mails_go_with_their_funnel() {
    let site = Site::open().await;
    let routed = |slug: &str| {
        let rule = json!({"recipients": "sales@example.org", "subject": "Lead"});
        json!({"slug": slug, "email_routings": [rule]})
    };
    let visited = async |slug: &str| {
        let visit = site.visit(slug).await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 1})).await;
        visit.complete(None).expect(200).await;
    };
    let mails = async || site.database.rows("cms_mails").await;
    site.leads(routed("other")).await;
    visited("other").await;
    // What is left at once of a funnel with few visits, and of a full one.
    for (copies, left) in [(1, 1), (600, 2)] {
        let id = site.leads(routed("leads")).await.id;
        visited("leads").await;
        visited("leads").await;
        assert_eq!(mails().await, 3);
        let sent = "update cms_mails set status = 'sent', settled_at = created_at \
                    where id = (select max(id) from cms_mails)";
        site.database.run(sent).await;
        site.copy_visits(copies, &format!("s.funnel_id = {id}"), "is_test").await;
        site.staff("delete", json!({"id": id})).expect(200).await;
        assert_eq!(mails().await, left, "{copies} copies");
        assert_eq!(site.database.rows("cms_mails where status = 'queued'").await, 1);
        site.cms.upkeep().await;
        assert_eq!(mails().await, 1, "{copies} copies");
    }
}
