//! The three views, over visits whose figures are known.

use serde_json::json;

use super::replay::{past, replayed};
use crate::support::{Site, leads};

/// Answers, how many hours ago the visit began.
async fn visited(site: &Site) {
    site.leads(json!({"save_abandoned": 1})).await;
    let who = || (0, json!({"name": "Ada", "mail": "ada@example.com"}));
    let budget = |back, budget: serde_json::Value| (back, json!({"budget": budget}));
    let all = [
        past(40 * 24, &[who(), budget(0, 10.into())]),
        past(30, &[who(), budget(0, "much".into()), budget(0, 10.into())]),
        past(20, &[who(), budget(0, 9000.into()), budget(1, 1.into())]),
        past(9, &[who()]),
        past(1, &[who(), budget(0, 1.into())]),
        past(0, &[]),
        past(0, &[who()]),
    ];
    replayed(site, all).await;
    let spam = "update cms_formfunnel_submissions set is_spam = (1 = 1) where id = 5";
    site.database.run(spam).await;
    // The window of thirty days moves with this.
    site.process_abandoned().await;
}

/// Those that the figures count: of the last thirty days, and of people.
#[tokio::test]
async fn the_views_count_visits_by_step_and_by_branch() {
    let site = Site::open().await;
    visited(&site).await;
    let dropoff = async |node: &str, columns: &str| {
        let columns = columns.split(' ').map(|column| format!("cast({column} as bigint)"));
        let line = columns.collect::<Vec<_>>().join(" || ' ' || ") + " || ''";
        let view = "from cms_v_funnel_dropoff_30d where node_name";
        site.database.text(&format!("select {line} {view} = '{node}'")).await
    };
    let columns = "entered answered exited waiting rewound validation_errors round(reach_pct)";
    for (node, columns, figures) in [
        ("who", columns, "5 4 0 1 0 0 100"),
        ("budget", columns, "4 2 1 1 1 1 80"),
        ("sorry", columns, "2 2 0 0 0 0 40"),
        // Whoever went back has not been there.
        ("call", columns, "0 0 0 0 0 0 0"),
        ("who", "avg_dwell_s", "60"),
        ("budget", "round(dropoff_pct)", "25"),
    ] {
        assert_eq!(dropoff(node, columns).await, figures, "{columns} of {node}");
    }
    let worst = "select top_error_field from cms_v_funnel_dropoff_30d where node_name = 'budget'";
    assert_eq!(site.database.text(worst).await, "budget");
    let law = "cms_v_funnel_dropoff_30d where entered <> answered + exited + \
               waiting or entered < 0 or answered < 0 or exited < 0 or waiting < 0";
    assert_eq!(site.database.rows(law).await, 0);

    for (from, to, column, figure) in [
        ("who", "budget", "sessions", 4),
        ("who", "budget", "round(conversion_pct)", 50),
        ("rich?", "sorry", "sessions", 2),
        ("rich?", "sorry", "share_pct", 100),
    ] {
        let view = format!("from cms_v_funnel_branches_30d where from_name = '{from}'");
        let sql = format!("select cast({column} as bigint) {view} and to_name = '{to}'");
        assert_eq!(site.database.count(&sql).await, figure, "{column} from {from} to {to}");
    }
    assert_eq!(site.database.rows("cms_v_funnel_branches_30d where to_name = 'call'").await, 0);

    // The inbox has all of them.
    let inbox = async |wheres: &str| {
        site.database.rows(&format!("cms_v_funnel_inbox where {wheres}")).await
    };
    assert_eq!(inbox("funnel_name = 'Leads' and utm_source = 'fair'").await, 7);
    let done = "status = 'completed' and contact_email = 'ada@example.com' and progress_pct = 100 \
                and last_node_name = 'sorry' and duration_s between 120 and 180";
    assert_eq!(inbox(done).await, 4);
    assert_eq!(inbox("status = 'abandoned' and last_node_name = 'budget'").await, 1);
}

/// Two funnels and two versions, counted by hand: nobody is counted with others.
///
/// Version 1 of `leads`: A and B complete at `sorry`, C leaves at `budget` after a refused answer,
/// D is at `call`. Version 2: E completes at `thanks`. `other`: F leaves at `who`.
#[tokio::test]
async fn versions_and_funnels_are_counted_apart() {
    let site = Site::open().await;
    let mut saving = leads();
    saving["save_abandoned"] = 1.into();
    let mut other = saving.clone();
    other["slug"] = "other".into();
    let funnel = site.funnel(saving).await;
    site.funnel(other).await;
    let visit = async |slug: &str, answers: &[serde_json::Value]| {
        let visit = site.visit(slug).await;
        for one in answers {
            visit.step(None, one.clone()).send().await;
        }
        visit
    };
    let name = || json!({"name": "Ada"});
    for _ in 0..2 {
        visit("leads", &[name(), json!({"budget": 1})]).await.complete(None).expect(200).await;
    }
    visit("leads", &[name(), json!({"budget": "x"})]).await.abandon().await;
    visit("leads", &[name(), json!({"budget": 9000})]).await;
    visit("other", &[]).await.abandon().await;
    let rename = json!({"id": funnel.id, "funnel": {"settings_json": {"min_seconds": 0}}});
    site.staff("save", rename).expect(200).await;
    site.publish(funnel.id).await;
    let last = visit("leads", &[name(), json!({"budget": 9000}), json!({})]).await;
    last.complete(None).expect(200).await;
    site.process_abandoned().await;

    let whole = |column: &str| format!("cast(round({column}) as bigint)");
    let columns =
        ["entered", "answered", "exited", "waiting", "validation_errors"].join(" || ' ' || ");
    let dropoff = format!(
        "f.slug || ' ' || d.version || ' ' || d.node_name || ': ' || {columns} || ', ' || {} || \
         ' ' || {}",
        whole("dropoff_pct"),
        whole("reach_pct")
    );
    let columns = ["sessions", "completed"].join(" || ' ' || ");
    let branches = format!(
        "f.slug || ' ' || d.version || ' ' || d.from_name || ' ' || d.to_name || ': ' || {columns} \
         || ', ' || {} || ' ' || {}",
        whole("share_pct"),
        whole("conversion_pct")
    );
    let lines = async |line: &str, view: &str| {
        let joined = match site.database.is_postgres() {
            true => "string_agg(line, chr(10) order by line collate \"C\")",
            false => "group_concat(line, char(10))",
        };
        let sql = format!(
            "select {joined} from (select {line} as line from {view} d join cms_formfunnels f on \
             f.id = d.funnel_id order by 1) lines"
        );
        site.database.text(&sql).await
    };
    // entered answered exited waiting refused, percent that left, percent of all visits.
    let expected = [
        "leads 1 budget: 4 3 1 0 1, 25 100",
        "leads 1 call: 1 0 0 1 0, 0 25",
        "leads 1 sorry: 2 2 0 0 0, 0 50",
        "leads 1 who: 4 4 0 0 0, 0 100",
        "leads 2 budget: 1 1 0 0 0, 0 100",
        "leads 2 call: 1 1 0 0 0, 0 100",
        "leads 2 thanks: 1 1 0 0 0, 0 100",
        "leads 2 who: 1 1 0 0 0, 0 100",
        "other 1 who: 1 0 1 0 0, 100 100",
    ];
    assert_eq!(lines(&dropoff, "cms_v_funnel_dropoff_30d").await, expected.join("\n"));
    // visits completed, percent of those who left the node, percent of these that completed.
    let expected = [
        "leads 1 budget rich?: 3 2, 100 67",
        "leads 1 rich? call: 1 0, 33 0",
        "leads 1 rich? sorry: 2 2, 67 100",
        "leads 1 who budget: 4 2, 100 50",
        "leads 2 budget rich?: 1 1, 100 100",
        "leads 2 call thanks: 1 1, 100 100",
        "leads 2 rich? call: 1 1, 100 100",
        "leads 2 who budget: 1 1, 100 100",
    ];
    assert_eq!(lines(&branches, "cms_v_funnel_branches_30d").await, expected.join("\n"));
    let inbox = "f.slug || ' ' || d.version || ' ' || d.status || ' ' || d.last_node_name || ' ' \
                 || d.steps_answered || ' ' || d.progress_pct";
    let expected = [
        "leads 1 abandoned budget 1 33",
        "leads 1 completed sorry 2 100",
        "leads 1 completed sorry 2 100",
        "leads 1 in_progress call 2 66",
        "leads 2 completed thanks 3 100",
        "other 1 abandoned who 0 0",
    ];
    assert_eq!(lines(inbox, "cms_v_funnel_inbox").await, expected.join("\n"));
}

/// Whoever sees a step again stays there again, and a visit that has expired waits nowhere.
#[tokio::test]
async fn each_stay_divides_the_time_and_an_expired_visit_has_left() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let (name, rich) = (|name: &str| json!({"name": name}), || json!({"budget": 9000}));
    let back = Some(funnel.node("who"));
    for (node, answers) in
        [(None, name("Ada")), (None, rich()), (back, name("Eve")), (None, rich())]
    {
        site.clock.advance(10_000);
        visit.step(node, answers).expect(200).await;
    }
    let figure = async |column: &str, node: &str| {
        let view = format!("from cms_v_funnel_dropoff_30d where node_name = '{node}'");
        site.database.count(&format!("select cast({column} as bigint) {view}")).await
    };
    assert_eq!(figure("avg_dwell_s", "budget").await, 10);
    assert_eq!((figure("exited", "call").await, figure("waiting", "call").await), (0, 1));
    site.clock.advance(24 * 3_600_000);
    site.process_abandoned().await;
    assert_eq!((figure("exited", "call").await, figure("waiting", "call").await), (1, 0));
}

/// A view of one funnel reads its rows, not those of all others.
#[tokio::test]
async fn the_views_read_by_index() {
    let site = Site::open().await;
    let many = site.funnel(leads()).await.id;
    let few = site.leads(json!({"slug": "small"})).await.id;
    for slug in ["leads", "small"] {
        let visit = site.visit(slug).await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 1})).await;
        visit.complete(None).expect(200).await;
    }
    // Twenty thousand visits of the other funnel, with their events.
    site.copy_visits(20_000, "s.id = 1", "status, last_node_id").await;
    site.copy_events().await;
    for view in ["cms_v_funnel_dropoff_30d", "cms_v_funnel_branches_30d", "cms_v_funnel_inbox"] {
        let of = |funnel| format!("select * from {view} where funnel_id = {funnel}");
        let plan = site.database.plan(&of(few)).await;
        for table in ["cms_formfunnel_submissions", "s", "cms_formfunnel_events", "e"] {
            assert!(!plan.iter().any(|one| one == table), "{view} scans {table}: {plan:?}");
        }
        let count = format!("select count(*) from ({}) v", of(many));
        assert!(site.database.count(&count).await > 0, "{view}");
    }
}
