//! Submissions listed: filtered, sorted, searched, counted; lists saved as views.

use serde_json::json;

use super::{at, counts, ids, page, sent, site, update};
use crate::support::{each, has, with};

#[tokio::test]
async fn a_list_shows_what_the_view_holds_and_no_secret() {
    let site = site().await;
    let id = sent(&site, "Ada", 9000).await;
    let reply = page(&site, "").await;
    let row = &reply.data()[0];
    has!(row, {"submission_id": id, "funnel_name": "Leads", "status": "completed",
               "inbox_status": "new", "is_spam": false, "assigned_to": null,
               "contact_email": "ada@example.org", "contact_phone": "+4930123456",
               "steps_answered": 3, "progress_pct": 100, "end_kind": "thank_you",
               "last_node_name": "thanks", "started_at": "2026-11-21T09:30:00Z",
               "completed_at": "2026-11-21T09:30:00Z", "duration_s": 0, "abandoned_at": null,
               "inbox_rev": 0});
    let secret = site.database.text("select session_uuid from cms_formfunnel_submissions").await;
    let detail = site.admin(&at("GET", &format!("submission_get&id={id}"))).expect(200).await;
    for shown in [reply.text(), detail.text()] {
        assert!(!shown.contains("session") && !shown.contains(&secret), "{shown}");
        assert!(!shown.contains("client_hash"), "{shown}");
    }
}

#[tokio::test]
async fn conditions_choose_and_columns_sort() {
    let site = site().await;
    let ada = sent(&site, "Ada", 9000).await;
    site.clock.advance(60_000);
    let bob = sent(&site, "Bob", 10).await;
    site.clock.advance(60_000);
    let cy = super::id(&site.visit("leads").await).await;
    update(&site, bob, json!({"inbox_status": "rejected"})).await;
    for (query, expected) in [
        ("", vec![cy, bob, ada]),
        ("&sort=started_at", vec![ada, bob, cy]),
        ("&sort=-contact_name", vec![bob, ada, cy]),
        ("&filter[inbox_status]=rejected", vec![bob]),
        ("&filter[inbox_status][ne]=rejected", vec![cy, ada]),
        ("&filter[inbox_status][in]=rejected,new", vec![cy, bob, ada]),
        ("&filter[status]=in_progress", vec![cy]),
        ("&filter[end_kind]=redirect", vec![bob]),
        ("&filter[contact_email][null]=true", vec![cy]),
        ("&filter[is_spam]=false", vec![cy, bob, ada]),
        ("&filter[is_test]=true", vec![]),
        ("&filter[started_at][gte]=2026-11-21T09:31:00Z", vec![cy, bob]),
        ("&filter[started_at][lt]=2026-11-21T09:31:00%2B00:00", vec![ada]),
        ("&filter[assigned_to][null]=false", vec![]),
        ("&filter[funnel_id]=1&filter[version]=1", vec![cy, bob, ada]),
        ("&filter[language_short]=en", vec![]),
        ("&search=ADA", vec![ada]),
        ("&search=%2B4930", vec![ada]),
        ("&search=9000", vec![ada]),
        ("&search=nobody", vec![]),
    ] {
        assert_eq!(ids(&site, query).await, expected, "{query}");
    }
    let reference = "select reference from cms_formfunnel_submissions where id = 1";
    let reference = site.database.text(reference).await;
    assert_eq!(ids(&site, &format!("&search={reference}")).await, [ada]);
}

#[tokio::test]
async fn whatever_cannot_be_read_is_refused() {
    let site = site().await;
    #[rustfmt::skip]
    let wrong = [
        "&filter[inbox_state]=new", "&filter[inbox_status]=nwe", "&filter[inbox_status][is]=new",
        "&filter[inbox_status][contains]=n", "&filter[session_uuid][starts_with]=a",
        "&filter[client_hash]=a", "&filter[answers_json][contains]=a", "&filter[is_spam]=maybe",
        "&filter[assigned_to]=ana", "&filter[score][gt]=much", "&filter[started_at][gte]=yesterday",
        "&sort=session_uuid", "&inbox_status=new", "&limit=501", "&cursor=cabc", "&offset=1",
        "&count=maybe", "&expand=assigned_to", "&fields=submission_id",
    ];
    for query in wrong {
        site.admin(&at("GET", &format!("submissions{query}"))).refused(400, "bad_query").await;
    }
}

#[tokio::test]
async fn pages_follow_one_another_in_every_order() {
    let site = site().await;
    for number in 0..7 {
        sent(&site, &format!("N{}", number % 3), 10).await;
        if number % 2 == 0 {
            site.clock.advance(1000);
        }
    }
    for sort in ["-started_at", "started_at", "contact_name", "-contact_phone,score", "-score"] {
        let whole = ids(&site, &format!("&sort={sort}")).await;
        assert_eq!(whole.len(), 7);
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let query = format!("&sort={sort}&limit=2{cursor}");
            paged.extend(ids(&site, &query).await);
            let reply = page(&site, &query).await.json();
            let meta = &reply["meta"];
            assert_eq!(meta.get("counts").is_some(), cursor.is_empty(), "on the first page");
            match meta["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(paged, whole, "{sort}");
    }
    let next = page(&site, "&limit=2").await.json()["meta"]["next"].clone();
    let foreign = format!("submissions&sort=score&cursor={}", next.as_str().unwrap());
    site.admin(&at("GET", &foreign)).refused(400, "bad_query").await;
}

#[tokio::test]
async fn counts_are_of_all_states_under_the_other_conditions() {
    let site = site().await;
    for (number, status) in ["new", "qualified", "qualified", "rejected"].into_iter().enumerate() {
        let id = sent(&site, if number < 3 { "Ada" } else { "Bob" }, 10).await;
        update(&site, id, json!({"inbox_status": status})).await;
    }
    let all = json!({"new": 1, "qualified": 2, "contacted": 0, "converted": 0, "rejected": 1});
    let adas = with(all.clone(), json!({"rejected": 0}));
    for (query, expected) in [
        ("", &all),
        ("&filter[inbox_status]=new", &all),
        ("&search=ada", &adas),
        ("&filter[inbox_status]=rejected&filter[contact_name]=Ada", &adas),
    ] {
        assert_eq!(counts(&site, query).await, *expected, "{query}");
    }
}

#[tokio::test]
async fn all_that_match_are_counted() {
    let site = site().await;
    for name in ["Ada", "Bob", "Ada"] {
        sent(&site, name, 10).await;
    }
    let total = async |query: &str| page(&site, query).await.json()["meta"]["total"].clone();
    assert_eq!(total("").await, json!(null));
    assert_eq!(total("&count=false").await, json!(null));
    for (query, expected) in [
        ("", 3),
        ("&limit=1", 3),
        ("&filter[contact_name]=Ada", 2),
        ("&filter[inbox_status]=new", 3),
        ("&filter[inbox_status]=rejected", 0),
        ("&search=ada", 2),
        ("&search=bob@", 1),
        ("&search=ada&filter[contact_name]=Bob", 0),
    ] {
        assert_eq!(total(&format!("&count=true{query}")).await, expected, "{query}");
    }
    let first = page(&site, "&count=true&limit=2").await.json();
    let next = first["meta"]["next"].as_str().unwrap();
    assert_eq!(total(&format!("&count=true&limit=2&cursor={next}")).await, 3, "on every page");
}

#[tokio::test]
async fn a_count_ends_at_ten_thousand() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(10_000)).await;
    assert_eq!(counts(&site, "").await["new"], 10_001, "exact without conditions");
    has!(counts(&site, "&filter[is_spam]=false").await, {"new": "10k+", "qualified": 0});
}

/// A statement that copies the first submission.
pub fn copies(number: usize) -> String {
    format!(
        "insert into cms_formfunnel_submissions (funnel_id, version_id, version, session_uuid, \
         status, inbox_status, summary, started_at, last_activity_at, expires_at, contact_email) \
         select s.funnel_id, s.version_id, s.version, 'copy-' || n.n, s.status, 'new', s.summary, \
         s.started_at + n.n, s.last_activity_at, s.expires_at, s.contact_email \
         from cms_formfunnel_submissions s, (with recursive c(n) as (select 1 union all \
         select n + 1 from c where n < {number}) select n from c) n where s.id = 1"
    )
}

#[tokio::test]
async fn nothing_of_a_deleted_funnel_is_shown() {
    let site = site().await;
    let ada = sent(&site, "Ada", 10).await;
    // More than a change removes: the funnel is gone, its submissions go in the background.
    site.database.run(copies(600)).await;
    site.leads(json!({"slug": "other"})).await;
    let kept = super::id(&site.visit("other").await).await;
    site.staff("delete", json!({"id": 1})).expect(200).await;
    let left = "cms_formfunnel_submissions where funnel_id = 1";
    assert_eq!(site.database.rows(left).await, 601, "not yet removed");
    assert_eq!(ids(&site, "").await, [kept]);
    assert_eq!(counts(&site, "").await["new"], 1);
    site.admin(&at("GET", &format!("submission_get&id={ada}"))).refused(404, "not_found").await;
    for (action, body) in [
        ("submission_update", json!({"id": ada, "inbox_notes": "a"})),
        ("submission_delete", json!({"id": ada})),
        ("submissions_bulk", json!({"op": "set_status", "ids": [ada], "value": "rejected"})),
    ] {
        site.staff(action, body).refused(404, "not_found").await;
    }
    let all = json!({"op": "delete", "filter": {}, "expected": 1});
    let done = site.staff("submissions_bulk", all).expect(200).await.data();
    assert_eq!(done, json!({"matched": 1, "changed": 1}));
    assert_eq!(site.database.rows(left).await, 601, "only what is shown is met");
}

#[tokio::test]
async fn pages_are_read_by_indexes() {
    use cms_core::funnels::InboxQuery;
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(5000)).await;
    site.database.run("analyze").await;
    for query in [
        &[][..],
        &[("filter[funnel_id]", "1")],
        &[("filter[inbox_status]", "qualified")],
        &[("filter[assigned_to]", "3")],
    ] {
        let parsed = InboxQuery::parse(query.iter().copied()).unwrap();
        let plan = site.cms.funnels().inbox_plan(&parsed).await.unwrap().join("\n");
        assert!(plan.contains("cms_formfunnel_submissions_by_"), "{query:?}: {plan}");
        // Only how a double is written sorts something, further down.
        let list = plan.split("SCAN t\n").next().unwrap();
        let sorted = list.contains("USE TEMP B-TREE") || list.contains("Sort");
        assert!(!sorted, "{query:?}: {plan}");
    }
}

#[tokio::test]
async fn a_view_is_saved_replaced_and_deleted() {
    let site = site().await;
    let query = json!({"filter": {"inbox_status": "new", "search": "ada"}, "sort": "-score"});
    let saved = site.staff("views", json!({"name": "Mine", "query": query})).expect(200).await;
    let id = saved.data()["id"].clone();
    site.staff("views", json!({"name": "All"})).expect(200).await;
    let list = async || site.admin(&at("GET", "views")).expect(200).await.data();
    let listed = list().await;
    assert_eq!(each(&listed, "name"), ["All", "Mine"]);
    has!(listed, {"/0/query": {"filter": {}}, "/1/query": query});
    let other = json!({"filter": {"is_spam": false}});
    let again = site.staff("views", json!({"name": "Mine", "query": other})).expect(200).await;
    has!(again.data(), {"id": id, "query": other});
    let delete = at("DELETE", &format!("views&id={id}"));
    site.admin(&delete).expect(204).await;
    site.admin(&delete).refused(404, "not_found").await;
    assert_eq!(each(&list().await, "name"), ["All"]);
}

#[tokio::test]
async fn everybody_has_views_of_their_own() {
    let site = site().await;
    let rights = json!(["formfunnel_inbox_view", "formfunnel_inbox_edit"]);
    let (ana, bob) = (site.person("ana", rights.clone()).await, site.person("bob", rights).await);
    let view = json!({"name": "Mine"});
    let line = at("POST", "views");
    let saved = site.ask(&line).bearer(&ana.token).json(view.clone()).expect(200).await.data();
    site.ask(&line).bearer(&bob.token).json(view).expect(200).await;
    let delete = at("DELETE", &format!("views&id={}", saved["id"]));
    site.ask(&delete).bearer(&bob.token).refused(404, "not_found").await;
    for person in [&ana, &bob] {
        let list = site.ask(&at("GET", "views")).bearer(&person.token).expect(200).await;
        assert_eq!(list.data().as_array().unwrap().len(), 1);
    }
    assert_eq!(site.admin(&at("GET", "views")).expect(200).await.data(), json!([]));
    site.delete(&format!("/api/backend/users?id={}", ana.id)).await;
    assert_eq!(site.database.rows("cms_formfunnel_views").await, 1, "they go with their user");
}

#[tokio::test]
async fn what_could_not_be_listed_is_not_saved() {
    let site = site().await;
    for view in [
        json!({"name": ""}),
        json!({"name": " a"}),
        json!({"name": "a\u{1b}b"}),
        json!({"name": "x".repeat(101)}),
        json!({"name": "a", "query": {"filter": {"inbox_state": "new"}}}),
        json!({"name": "a", "query": {"filter": {"inbox_status": "nwe"}}}),
        json!({"name": "a", "query": {"filter": {"is_spam": "maybe"}}}),
        json!({"name": "a", "query": {"sort": "session_uuid"}}),
        json!({"name": "a", "query": {"limit": 5}}),
        json!({"name": "a", "filter": {}}),
    ] {
        site.staff("views", view).refused(422, "validation_failed").await;
    }
    for number in 0..100 {
        site.staff("views", json!({"name": number.to_string()})).expect(200).await;
    }
    site.staff("views", json!({"name": "100"})).refused(422, "validation_failed").await;
    site.staff("views", json!({"name": "99"})).expect(200).await;
}
