//! The three views, over visits whose figures are known.

use cms_core::{Actor, funnels::WhichFunnel};
use serde_json::json;

use super::replay::past;
use crate::support::{Site, visits::leads};

/// Answers, how many hours ago the visit began.
async fn visited(site: &Site) {
    let mut funnel = leads();
    funnel["save_abandoned"] = 1.into();
    site.funnel(funnel).await;
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
    let replay = site.cms.funnels().replay(&WhichFunnel::from("leads".to_owned())).await.unwrap();
    let mut change = site.cms.change(Actor::System).await.unwrap();
    for mut one in all {
        one.started_at -= 180_000;
        replay.add(&mut change, one).await.unwrap();
    }
    change.commit().await.unwrap();
    let spam = "update cms_formfunnel_submissions set is_spam = (1 = 1) where id = 5";
    site.database.run(spam.to_owned()).await;
    // The window of thirty days moves with this.
    site.cms.funnels().process_abandoned().await.unwrap();
}

/// Those that the figures count: of the last thirty days, and of people.
#[tokio::test]
async fn the_views_count_visits_by_step_and_by_branch() {
    let site = Site::open().await;
    visited(&site).await;
    let dropoff = async |node: &str, column: &str| {
        let view = "from cms_v_funnel_dropoff_30d where node_name";
        site.database.count(&format!("select cast({column} as bigint) {view} = '{node}'")).await
    };
    for (node, figures) in [
        // entered, answered, exited, waiting, rewound, refused answers, percent of all visits.
        ("who", [5, 4, 0, 1, 0, 0, 100]),
        ("budget", [4, 2, 1, 1, 1, 1, 80]),
        ("sorry", [2, 2, 0, 0, 0, 0, 40]),
        // Whoever went back has not been there.
        ("call", [0, 0, 0, 0, 0, 0, 0]),
    ] {
        let columns = [
            "entered",
            "answered",
            "exited",
            "waiting",
            "rewound",
            "validation_errors",
            "round(reach_pct)",
        ];
        for (column, figure) in columns.into_iter().zip(figures) {
            assert_eq!(dropoff(node, column).await, figure, "{column} of {node}");
        }
    }
    assert_eq!(dropoff("who", "avg_dwell_s").await, 60);
    assert_eq!(dropoff("budget", "round(dropoff_pct)").await, 25);
    let worst = "select top_error_field from cms_v_funnel_dropoff_30d where node_name = 'budget'";
    assert_eq!(site.database.text(worst).await, "budget");
    let law = "select count(*) from cms_v_funnel_dropoff_30d where entered <> answered + exited + \
               waiting or entered < 0 or answered < 0 or exited < 0 or waiting < 0";
    assert_eq!(site.database.count(law).await, 0);

    let branch = async |from: &str, to: &str, column: &str| {
        let view = format!("from cms_v_funnel_branches_30d where from_name = '{from}'");
        let sql = format!("select cast({column} as bigint) {view} and to_name = '{to}'");
        site.database.count(&sql).await
    };
    assert_eq!(branch("who", "budget", "sessions").await, 4);
    assert_eq!(branch("who", "budget", "round(conversion_pct)").await, 50);
    assert_eq!(branch("rich?", "sorry", "sessions").await, 2);
    assert_eq!(branch("rich?", "sorry", "share_pct").await, 100);
    let left = "select count(*) from cms_v_funnel_branches_30d where to_name = 'call'";
    assert_eq!(site.database.count(left).await, 0);

    // The inbox has all of them.
    let inbox = async |wheres: &str| {
        let sql = format!("select count(*) from cms_v_funnel_inbox where {wheres}");
        site.database.count(&sql).await
    };
    assert_eq!(inbox("funnel_name = 'Leads' and utm_source = 'fair'").await, 7);
    let done = "status = 'completed' and contact_email = 'ada@example.com' and progress_pct = 100 \
                and last_node_name = 'sorry' and duration_s between 120 and 180";
    assert_eq!(inbox(done).await, 4);
    assert_eq!(inbox("status = 'abandoned' and last_node_name = 'budget'").await, 1);
}
