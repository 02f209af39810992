//! Visits of the past, as a demonstration stores them.

use cms_core::{
    Actor,
    funnels::{PastEnd, PastInbox, PastStep, PastVisit, WhichFunnel},
};
use serde_json::{Value as Json, json};

use crate::support::{Site, Visit, site::NOW};

const HOUR: i64 = 3_600_000;

/// A visit that began so many hours ago; each call a minute after the one before.
pub(super) fn past(hours: i64, steps: &[(usize, Json)]) -> PastVisit {
    let step = |(back, answers): &(usize, Json)| PastStep {
        after: 60_000,
        back: *back,
        answers: answers.as_object().unwrap().clone(),
    };
    let start = json!({"funnel_id": "leads", "utm_source": "fair"});
    PastVisit {
        start: serde_json::from_value(start).unwrap(),
        started_at: NOW - hours * HOUR,
        steps: steps.iter().map(step).collect(),
        inbox: Some(PastInbox { status: "qualified", touched_at: NOW - 1 }),
    }
}

/// Stores visits of the past, each three minutes earlier; where they end.
pub(super) async fn replayed<const N: usize>(site: &Site, all: [PastVisit; N]) -> Vec<PastEnd> {
    let replay = site.cms.funnels().replay(&WhichFunnel::from("leads".to_owned())).await.unwrap();
    let mut change = site.cms.change(Actor::System).await.unwrap();
    let mut ends = Vec::new();
    for mut one in all {
        one.started_at -= 180_000;
        ends.push(replay.add(&mut change, one).await.unwrap());
    }
    change.commit().await.unwrap();
    ends
}

#[tokio::test]
async fn visits_of_the_past_are_led_as_all_are_and_told_to_nobody() {
    let site = Site::open().await;
    let mails = json!([{"recipients": "sales@example.org"},
                       {"recipients": "a@example.org", "trigger_event": "abandoned"}]);
    site.leads(json!({"save_abandoned": 1, "email_routings": mails})).await;
    let who = || (0, json!({"name": "Ada", "mail": "ada@example.com"}));
    let all = [
        past(30, &[who(), (0, json!({"budget": "much"})), (0, json!({"budget": 10}))]),
        past(9, &[who(), (0, json!({"budget": 9000})), (1, json!({"budget": 1}))]),
        past(9, &[who()]),
        past(0, &[who()]),
    ];
    use PastEnd::{Abandoned, Completed, InProgress};
    let ends = replayed(&site, all).await;
    assert_eq!(ends, [Completed, Completed, Abandoned, InProgress]);
    let count = async |wheres: &str| {
        site.database.rows(&format!("cms_formfunnel_submissions where {wheres}")).await
    };
    let at = NOW - 30 * HOUR;
    let ended =
        format!("started_at = {at} - 180000 and completed_at = {at} and utm_source = 'fair'");
    assert_eq!(count(&ended).await, 1);
    let triaged = "status = 'completed' and inbox_status = 'qualified' and reference is not null \
                   and contact_email = 'ada@example.com'";
    assert_eq!(count(triaged).await, 2);
    let gone =
        format!("abandoned_at = {NOW} - 9 * {HOUR} - 120000 + {HOUR} and inbox_status = 'new'");
    assert_eq!(count(&gone).await, 1);
    // What happened, when.
    let kinds = async |kind: &str| {
        site.database.rows(&format!("cms_formfunnel_events where kind = '{kind}'")).await
    };
    for (kind, times) in
        [("invalid", 1), ("rewound", 1), ("completed", 2), ("abandoned", 1), ("started", 4)]
    {
        assert_eq!(kinds(kind).await, times, "{kind}");
    }
    assert_eq!(site.database.rows(&format!("cms_formfunnel_events where at >= {NOW}")).await, 0);
    for event in ["started", "step_completed", "completed", "abandoned"] {
        assert_eq!(site.raised(&format!("formfunnel.{event}")).await, 0, "{event}");
    }
    assert_eq!(site.database.rows("cms_mails").await, 0);
    // The one under way goes on.
    let uuid = "select session_uuid from cms_formfunnel_submissions where status = 'in_progress'";
    let session = site.database.text(uuid).await;
    let visit = Visit { site: &site, session };
    visit.answers(json!({"budget": 9000})).await;
    let reached = visit.answers(json!({"phone": "030 123456"})).await;
    assert_eq!(reached["node"]["name"], "thanks");
    visit.complete(None).expect(200).await;
}
