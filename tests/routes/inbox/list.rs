//! Submissions listed: filtered, sorted, searched, counted.

use serde_json::json;

use super::{at, ids, page, post, sent, site};
use crate::support::visits::leads;

#[tokio::test]
async fn a_list_shows_what_the_view_holds_and_no_secret() {
    let site = site().await;
    let id = sent(&site, "Ada", 9000).await;
    let reply = page(&site, "").await;
    let row = &reply.data()[0];
    for (column, value) in [
        ("submission_id", json!(id)),
        ("funnel_name", json!("Leads")),
        ("status", json!("completed")),
        ("inbox_status", json!("new")),
        ("is_spam", json!(false)),
        ("assigned_to", json!(null)),
        ("contact_email", json!("ada@example.org")),
        ("contact_phone", json!("+4930123456")),
        ("steps_answered", json!(3)),
        ("progress_pct", json!(100)),
        ("end_kind", json!("thank_you")),
        ("last_node_name", json!("thanks")),
        ("started_at", json!("2026-11-21T09:30:00Z")),
        ("completed_at", json!("2026-11-21T09:30:00Z")),
        ("duration_s", json!(0)),
        ("abandoned_at", json!(null)),
        ("inbox_rev", json!(0)),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
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
    post(&site, "submission_update", json!({"id": bob, "inbox_status": "rejected"}))
        .expect(200)
        .await;
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
    let reference =
        site.database.text("select reference from cms_formfunnel_submissions where id = 1");
    assert_eq!(ids(&site, &format!("&search={}", reference.await)).await, [ada]);
}

#[tokio::test]
async fn whatever_cannot_be_read_is_refused() {
    let site = site().await;
    for query in [
        "&filter[inbox_state]=new",
        "&filter[inbox_status]=nwe",
        "&filter[inbox_status][is]=new",
        "&filter[inbox_status][contains]=n",
        "&filter[session_uuid][starts_with]=a",
        "&filter[client_hash]=a",
        "&filter[answers_json][contains]=a",
        "&filter[is_spam]=maybe",
        "&filter[assigned_to]=ana",
        "&filter[score][gt]=much",
        "&filter[started_at][gte]=yesterday",
        "&sort=session_uuid",
        "&inbox_status=new",
        "&limit=501",
        "&cursor=cabc",
        "&offset=1",
        "&count=maybe",
        "&expand=assigned_to",
        "&fields=submission_id",
    ] {
        let ask = site.admin(&at("GET", &format!("submissions{query}")));
        ask.refused(400, "bad_query").await;
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
        let update = json!({"id": id, "inbox_status": status});
        post(&site, "submission_update", update).expect(200).await;
    }
    let counts = async |query: &str| page(&site, query).await.json()["meta"]["counts"].clone();
    let all = json!({"new": 1, "qualified": 2, "contacted": 0, "converted": 0, "rejected": 1});
    assert_eq!(counts("").await, all);
    assert_eq!(counts("&filter[inbox_status]=new").await, all);
    let adas = json!({"new": 1, "qualified": 2, "contacted": 0, "converted": 0, "rejected": 0});
    assert_eq!(counts("&search=ada").await, adas);
    assert_eq!(counts("&filter[inbox_status]=rejected&filter[contact_name]=Ada").await, adas);
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
    let counts = page(&site, "").await.json()["meta"]["counts"]["new"].clone();
    assert_eq!(counts, 10_001, "exact without conditions");
    let counts = page(&site, "&filter[is_spam]=false").await.json()["meta"]["counts"].clone();
    assert_eq!((&counts["new"], &counts["qualified"]), (&json!("10k+"), &json!(0)));
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
    let mut other = leads();
    other["slug"] = json!("other");
    site.funnel(other).await;
    let kept = super::id(&site.visit("other").await).await;
    post(&site, "delete", json!({"id": 1})).expect(200).await;
    let left = "select count(*) from cms_formfunnel_submissions where funnel_id = 1";
    assert_eq!(site.database.count(left).await, 601, "not yet removed");
    assert_eq!(ids(&site, "").await, [kept]);
    let counts = page(&site, "").await.json()["meta"]["counts"]["new"].clone();
    assert_eq!(counts, 1);
    let one = at("GET", &format!("submission_get&id={ada}"));
    site.admin(&one).refused(404, "not_found").await;
    for (action, body) in [
        ("submission_update", json!({"id": ada, "inbox_notes": "a"})),
        ("submission_delete", json!({"id": ada})),
        ("submissions_bulk", json!({"op": "set_status", "ids": [ada], "value": "rejected"})),
    ] {
        post(&site, action, body).refused(404, "not_found").await;
    }
    let all = json!({"op": "delete", "filter": {}, "expected": 1});
    let done = post(&site, "submissions_bulk", all).expect(200).await.data();
    assert_eq!(done, json!({"matched": 1, "changed": 1}));
    assert_eq!(site.database.count(left).await, 601, "only what is shown is met");
}

#[tokio::test]
async fn pages_are_read_by_indexes() {
    use cms_core::funnels::InboxQuery;
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(5000)).await;
    site.database.run("analyze".to_owned()).await;
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
