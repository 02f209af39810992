//! A text is found wherever it stands, before the index holds it and after; counts are exact
//! whoever writes.

use std::sync::atomic::{AtomicBool, Ordering};

use cms_core::funnels::InboxQuery;
use serde_json::{Value as Json, json};

use super::{at, bulk, counts, id, ids, list::copies, page, sent, site, update};
use crate::support::{Site, has};

/// Longer than a visitor rests before the index takes what was written.
const RESTED: i64 = 200_000;

async fn search(site: &Site, text: &str) -> Vec<i64> {
    let text = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    let mut found = ids(site, &format!("&search={text}&limit=500")).await;
    found.sort_unstable();
    found
}

async fn tended(site: &Site) {
    site.clock.advance(RESTED);
    site.cms.funnels().tend_inbox().await.unwrap();
}

/// Whom a plain search by hand finds.
const HOLDS: &str = "instr(lower(coalesce(contact_name, '') || char(10) || \
    coalesce(contact_email, '') || char(10) || coalesce(contact_phone, '') || char(10) || \
    summary || char(10) || coalesce(reference, '')), lower('{}')) > 0";

async fn by_hand(site: &Site, text: &str) -> Vec<i64> {
    let mut holds = HOLDS.replace("{}", &text.replace('\'', "''"));
    if site.database.is_postgres() {
        holds = holds.replace("instr(", "strpos(").replace("char(10)", "chr(10)");
    }
    let list = match site.database.is_postgres() {
        true => "coalesce(string_agg(cast(id as text), ',' order by id), '')",
        false => "coalesce(group_concat(id), '')",
    };
    let sql = format!("select {list} from cms_formfunnel_submissions where {holds}");
    let text = site.database.text(&sql).await;
    let mut found: Vec<i64> = text.split(',').filter_map(|id| id.parse().ok()).collect();
    found.sort_unstable();
    found
}

#[rustfmt::skip]
const TEXTS: [&str; 20] = [
    "ada", "ADA", "ad", "a", "Müller", "üll", "ü", "müller@exa", "@example.org", "example.o",
    "+49", "9000", " · ", "%", "_", "100%_", "\"", "a\" OR \"b", "O'Neil", "nobody",
];

#[tokio::test]
async fn a_text_is_found_wherever_it_stands() {
    let site = site().await;
    for (name, budget) in
        [("Ada", 9000), ("Müller", 10), ("100%_\\", 11), ("a\" OR \"b*", 12), ("O'Neil", 13)]
    {
        let visit = site.visit("leads").await;
        let mail = if name.is_ascii() { "x@example.org" } else { "mueller@example.org" };
        visit.answers(json!({"name": name, "mail": mail})).await;
        visit.answers(json!({"budget": budget})).await;
        if budget >= 5000 {
            visit.answers(json!({"phone": "030 123456"})).await;
        }
        visit.complete(None).expect(200).await;
    }
    let under_way = site.visit("leads").await;
    let judge = async |when: &str| {
        for text in TEXTS {
            assert_eq!(search(&site, text).await, by_hand(&site, text).await, "{when}: {text}");
        }
        assert!(!search(&site, "ada").await.is_empty() && !search(&site, "ü").await.is_empty());
        assert_eq!(search(&site, "u\u{308}ll").await, search(&site, "üll").await, "{when}");
    };
    judge("before the index").await;
    tended(&site).await;
    judge("by the index").await;
    under_way.answers(json!({"name": "Müller-Ada"})).await;
    judge("a name is given").await;
    tended(&site).await;
    judge("and indexed").await;
    // The visitor goes back and gives another.
    let sql = "update cms_formfunnel_submissions set contact_name = 'Bob', summary = 'Bob' \
               where contact_name = 'Ada'";
    site.database.run(sql).await;
    assert_eq!(search(&site, "bob").await, [1]);
    assert!(!search(&site, "ada").await.contains(&1), "what is gone is not found");
    tended(&site).await;
    assert!(!search(&site, "ada").await.contains(&1));
    site.staff("submission_delete", json!({"id": 2})).expect(200).await;
    assert!(!search(&site, "müller").await.contains(&2));
    tended(&site).await;
    if !site.database.is_postgres() {
        // All that rests is in the index, and what is gone is not.
        for none in ["cms_formfunnel_search_late", "cms_formfunnel_search where rowid = 2"] {
            assert_eq!(site.database.rows(none).await, 0, "{none}");
        }
    }
    judge("after a deletion").await;
    if site.database.is_postgres() {
        site.database.run("drop index cms_formfunnel_submissions_search").await;
        judge("without an index").await;
        let findings = site.cms.status().await;
        let remedy = &findings.iter().find(|one| one.check == "search").unwrap().remedy;
        let (_, make) = remedy.split_once(": ").unwrap();
        assert!(!make.contains("create extension"), "it is there: {make}");
        // Whoever makes it by hand has another path.
        site.database.run(format!("set search_path to public; {make}")).await;
        let made = "pg_indexes where schemaname = current_schema() and indexname = \
                    'cms_formfunnel_submissions_search'";
        assert_eq!(site.database.rows(made).await, 1);
    }
}

#[tokio::test]
async fn what_is_found_often_is_listed_in_order_and_counted() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(6_000)).await;
    for indexed in [false, true] {
        if indexed {
            tended(&site).await;
        }
        for text in ["ada", "ad"] {
            let query = format!("&search={text}&limit=3");
            let first = page(&site, &query).await.json();
            assert_eq!(first["meta"]["counts"]["new"], 6_001, "{text}");
            let shown = ids(&site, &query).await;
            assert_eq!(shown, ids(&site, "&limit=3").await, "{text}");
            let next = format!("&cursor={}", first["meta"]["next"].as_str().unwrap());
            let deep = ids(&site, &format!("{query}{next}")).await;
            assert!(deep.iter().all(|id| !shown.contains(id)) && deep.len() == 3);
        }
    }
    let set = json!({"op": "set_status", "filter": {"search": "ADA"}, "expected": 6_001,
                     "value": "rejected"});
    assert_eq!(bulk(&site, set).await["changed"], 6_001);
    has!(counts(&site, "").await, {"new": 0, "rejected": 6_001});
}

#[tokio::test]
async fn short_texts_are_sought_among_the_newest() {
    let site = site().await;
    sent(&site, "Qx", 10).await;
    site.database.run(copies(50_000)).await;
    let hidden = "update cms_formfunnel_submissions set summary = '', contact_email = null \
                  where id > 1";
    site.database.run(hidden).await;
    assert_eq!(search(&site, "qx@").await, [1], "three characters are found anywhere");
    assert_eq!(search(&site, "qx").await, [0_i64; 0], "two among the newest 50,000");
    site.staff("submission_delete", json!({"id": 2})).expect(200).await;
    assert_eq!(search(&site, "qx").await, [1]);
}

/// Texts that too many hold for their submissions to be read one by one: of every second, and of
/// every fifth.
#[tokio::test]
async fn what_is_found_often_is_counted_by_state() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(60_000)).await;
    let texts = "update cms_formfunnel_submissions set summary = case when id % 2 = 0 then \
                 'second ' else '' end || case when id % 5 = 0 then 'fifth' else '' end, \
                 inbox_status = case when id % 60 = 0 then 'rejected' else 'new' end, \
                 is_spam = id % 7 = 0";
    site.database.run(texts).await;
    let expected = |new: Json, rejected: u32| {
        let mut counts = json!({"qualified": 0, "contacted": 0, "converted": 0});
        (counts["new"], counts["rejected"]) = (new, json!(rejected));
        counts
    };
    for is_tended in [false, true] {
        if is_tended {
            tended(&site).await;
        }
        for (query, new, rejected) in [
            ("search=second", json!("10k+"), 1_000),
            ("search=second&filter[inbox_status]=rejected", json!("10k+"), 1_000),
            ("search=second&filter[is_spam]=true", json!(4_143), 142),
            ("search=fifth", json!("10k+"), 1_000),
            ("search=fifth&filter[is_spam]=true", json!(1_572), 142),
            ("search=second%20fifth", json!(5_000), 1_000),
            ("search=second%20ada", json!(0), 0),
        ] {
            let found = counts(&site, &format!("&{query}")).await;
            if let Some(new) = new.as_i64() {
                let whole = page(&site, &format!("&{query}&count=true")).await.json();
                assert_eq!(whole["meta"]["total"], new + i64::from(rejected), "{query}");
            }
            assert_eq!(found, expected(new, rejected), "{query}, in the index: {is_tended}");
        }
    }
}

/// Searches and orders are read by an index.
#[tokio::test]
async fn searches_and_orders_use_indexes() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(5_000)).await;
    sent(&site, "Grace", 10).await;
    tended(&site).await;
    site.database.run("analyze").await;
    for (query, index) in [
        (&[("sort", "-score")][..], "_by_score"),
        (&[("sort", "-completed_at")], "_by_completion"),
        (&[("sort", "contact_name")], "_by_name"),
        (&[("sort", "-contact_email")], "_by_address"),
        (&[("filter[inbox_status]", "new"), ("sort", "-score")], "_by_inbox_score"),
        (&[("search", "grace")], "pkey"),
        (&[("search", "grace"), ("sort", "score"), ("filter[inbox_status]", "new")], "pkey"),
        (&[("search", "example.org")], "_by_start"),
    ] {
        let parsed = InboxQuery::parse(query.iter().copied()).unwrap();
        let plan = site.cms.funnels().inbox_plan(&parsed).await.unwrap().join("\n");
        let index = match (index, site.database.is_postgres()) {
            ("pkey", false) => "SEARCH s USING INTEGER PRIMARY KEY",
            (index, _) => index,
        };
        assert!(plan.contains(index), "{query:?}: {plan}");
        assert!(!plan.contains("Seq Scan on cms_formfunnel_submissions"), "{query:?}: {plan}");
    }
}

/// The counters beside the rows, in one statement: so of one moment.
const APART: &str = "select coalesce(cast(sum(abs(d)) as bigint), 0) from (select sum(n) as d from \
    (select funnel_id, inbox_status, n from cms_formfunnel_counts union all \
    select funnel_id, inbox_status, -1 from cms_formfunnel_submissions) a \
    group by funnel_id, inbox_status) b";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_are_right_at_every_instant() {
    let site = site().await;
    for number in 0..6 {
        sent(&site, "Ada", number).await;
    }
    let over = AtomicBool::new(false);
    let writes = async {
        for round in 0..12 {
            let states = ["new", "qualified", "rejected"];
            let state = json!({"inbox_status": states[round % 3]});
            let visit = site.visit("leads");
            let (one, two) = (update(&site, 1, state.clone()), update(&site, 2, state));
            let (visit, ..) = tokio::join!(visit, one, two);
            let all = json!({"op": "set_status", "ids": [3, 4, 5], "value": states[round % 3]});
            bulk(&site, all).await;
            if round % 4 == 0 {
                site.staff("submission_delete", json!({"id": id(&visit).await})).expect(200).await;
            }
            if round % 5 == 0 {
                site.staff("undo", json!({})).send().await;
            }
        }
        over.store(true, Ordering::SeqCst);
    };
    let sums = async {
        while !over.load(Ordering::SeqCst) {
            if let Some(sum) = sum(&site) {
                site.database.run(sum).await;
            }
            site.cms.funnels().tend_inbox().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let looks = async {
        let mut looks = 0;
        while !over.load(Ordering::SeqCst) {
            assert_eq!(site.database.count(APART).await, 0);
            looks += 1;
            tokio::task::yield_now().await;
        }
        assert!(looks > 3, "{looks}");
    };
    tokio::join!(writes, sums, looks);
    let whole = counts(&site, "").await;
    assert_eq!(counts(&site, "&filter[funnel_id]=1").await, whole);
    let added: i64 = whole.as_object().unwrap().values().filter_map(Json::as_i64).sum();
    assert_eq!(added, site.database.rows("cms_formfunnel_submissions").await);
    // A funnel that goes takes its numbers along.
    site.admin(&at("POST", "delete")).json(json!({"id": 1})).expect(200).await;
    assert_eq!(site.database.count(APART).await, 0);
    assert_eq!(counts(&site, "").await["new"], 0);
}

/// Adds up however little there is.
fn sum(site: &Site) -> Option<String> {
    site.database.is_postgres().then(|| {
        "with gone as (delete from cms_formfunnel_counts returning funnel_id, inbox_status, n) \
         insert into cms_formfunnel_counts select funnel_id, inbox_status, sum(n) from gone \
         group by funnel_id, inbox_status"
            .to_owned()
    })
}
