//! What authors do to a funnel while visitors are in it.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{ROUNDS, Shot, complete, open, race, saving, step};
use crate::support::{Site, Visit};

/// A funnel with three visits: at its first step, at its last, and at its end.
struct Busy {
    funnel: i64,
    first: String,
    last: String,
    end: String,
}

async fn busy(site: &Arc<Site>) -> Busy {
    let funnel = site.funnel(saving()).await.id;
    let (first, last, end) =
        (site.visit("leads").await, site.visit("leads").await, site.visit("leads").await);
    for visit in [&last, &end] {
        visit.answers(json!({"name": "Ada"})).await;
    }
    last.answers(json!({"budget": 9000})).await;
    end.answers(json!({"budget": 1})).await;
    let session = |visit: Visit<'_>| visit.session;
    Busy { funnel, first: session(first), last: session(last), end: session(end) }
}

/// Everything that happens to a funnel beside its deletion, with the replies that are right.
fn calls(busy: &Busy) -> [(&'static str, Shot, &'static [u16]); 10] {
    let id = busy.funnel;
    let start = json!({"funnel_id": "leads"});
    [
        ("start", Shot::Visitor("start", start), &[201, 404]),
        ("step", step(&busy.first, json!({"name": "Ada"})), &[200, 404]),
        ("a refused step", step(&busy.first, json!({})), &[422, 404]),
        ("upload", Shot::File(busy.last.clone()), &[201, 404]),
        ("complete", complete(&busy.end), &[200, 404]),
        ("abandon", Shot::Beacon(busy.first.clone()), &[204]),
        ("the round", Shot::Round, &[200]),
        ("publish", Shot::author("publish", json!({"id": id})), &[200, 404]),
        ("save", Shot::author("save", json!({"id": id, "funnel": {"name": "B"}})), &[200, 404]),
        ("duplicate", Shot::author("duplicate", json!({"id": id})), &[201, 404]),
    ]
}

/// Nothing is left of a funnel but what is told of it.
async fn is_gone(site: &Site, funnel: i64) {
    for table in ["nodes", "edges", "email_routing", "versions", "submissions"] {
        let rows = format!("cms_formfunnel_{table} where funnel_id = {funnel}");
        assert_eq!(site.database.rows(&rows).await, 0, "{table}");
    }
    for table in ["events", "uploads"] {
        assert_eq!(site.database.rows(&format!("cms_formfunnel_{table}")).await, 0, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_funnel_is_deleted_while_it_is_used() {
    let site = open().await;
    for number in 0..10 {
        for round in 0..ROUNDS / 2 {
            let busy = busy(&site).await;
            site.clock.advance(61 * 60_000);
            let (name, call, right) = calls(&busy)[number].clone();
            let delete = Shot::author("delete", json!({"id": busy.funnel}));
            let [deleted, other] = race(&site, [delete, call]).await;
            assert_eq!(deleted, 200, "{name} {round}");
            assert!(right.contains(&other), "{name} {round}: {other}");
            is_gone(&site, busy.funnel).await;
        }
        // Copies that came first.
        let copies = "delete from cms_formfunnels".to_owned();
        site.database.run(copies).await;
    }
}

/// All at once, on one funnel: everybody gets a reply, and what was acknowledged is there.
#[tokio::test(flavor = "multi_thread")]
async fn everything_happens_at_once() {
    let site = open().await;
    for round in 0..ROUNDS {
        let busy = busy(&site).await;
        let all = calls(&busy);
        let names: Vec<_> = all.iter().map(|(name, ..)| *name).collect();
        let right: Vec<_> = all.iter().map(|(.., right)| *right).collect();
        let statuses = race(&site, all.map(|(_, shot, _)| shot)).await;
        for ((name, right), status) in names.iter().zip(right).zip(statuses) {
            // A refused step may come to the step behind it.
            assert!(right.contains(&status) && status != 404, "{name} {round}: {status}");
        }
        let delete = Shot::author("delete", json!({"id": busy.funnel}));
        assert_eq!(race(&site, [delete]).await, [200]);
        is_gone(&site, busy.funnel).await;
        site.database.run("delete from cms_formfunnels").await;
    }
}

/// Of a full funnel nothing is found any more, and its rows go in the background.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_funnel_is_deleted_while_it_is_used() {
    let site = open().await;
    for number in 0..7 {
        let busy = busy(&site).await;
        site.copy_visits(600, &format!("s.session_uuid = '{}'", busy.first), "is_test").await;
        let (name, call, right) = calls(&busy)[number].clone();
        let delete = Shot::author("delete", json!({"id": busy.funnel}));
        let [deleted, other, sweeps] = race(&site, [delete, call, Shot::Round]).await;
        assert_eq!((deleted, sweeps), (200, 200), "{name}");
        assert!(right.contains(&other), "{name}: {other}");
        site.cms.upkeep().await;
        is_gone(&site, busy.funnel).await;
    }
}

/// A drawing that is saved while it is copied: the copy is one of the two, whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_funnel_is_copied_while_it_is_saved() {
    let site = open().await;
    let funnel = site.funnel(saving()).await.id;
    for round in 0..ROUNDS {
        let name = format!("round {round}");
        let end = json!({"client_id": -1, "type": "end", "name": name});
        let first = json!({"client_id": -2, "type": "step", "name": name});
        let edge = json!({"from_node_id": -2, "to_node_id": -1});
        let save = json!({"id": funnel, "funnel": {"name": name, "start_node_id": -2},
                          "nodes": [first, end], "edges": [edge], "email_routings": []});
        let copy = json!({"id": funnel, "slug": format!("copy{round}")});
        let shots =
            [Shot::author("save", save), Shot::author("duplicate", copy.clone()), publish(funnel)];
        assert_eq!(race(&site, shots).await, [200, 201, 200], "{round}");
        let line = format!("GET /api/backend/formfunnel?action=get&id=copy{round}");
        let made: Json = site.admin(&line).expect(200).await.data();
        let names = made["nodes"].as_array().unwrap().iter().map(|node| node["name"].clone());
        let is_new = made["name"] == name.as_str();
        let is_whole = names.into_iter().all(|one| (one == name.as_str()) == is_new);
        assert!(is_whole, "{made}");
    }
}

fn publish(funnel: i64) -> Shot {
    Shot::author("publish", json!({"id": funnel}))
}

/// Whoever saw the same `rev`: one saves, the other learns of it.
#[tokio::test(flavor = "multi_thread")]
async fn two_saves_of_one_rev() {
    let site = open().await;
    let funnel = site.funnel(saving()).await.id;
    for rev in 1..=ROUNDS {
        let save = |name: &str| {
            Shot::author("save", json!({"id": funnel, "rev": rev, "funnel": {"name": name}}))
        };
        let mut statuses = race(&site, [save("A"), save("B"), save("C")]).await;
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409], "{rev}");
    }
}

/// A form goes while it is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_deleted_while_it_is_answered() {
    let site = open().await;
    for round in 0..ROUNDS {
        let form = json!({"name": "contact", "active": true, "recipients": ["a@example.org"],
                          "fields": [{"id": "name", "type": "short_text"}]});
        let id = site.insert("forms", form).await["id"].clone();
        let answered = json!({"form": "contact", "answers": {"name": "Ada"}});
        let submit = || Shot::Author("POST /api/form/submit".to_owned(), answered.clone());
        let delete = site.admin(&format!("DELETE /api/backend/item?table=forms&id={id}")).send();
        let (deleted, sent) = tokio::join!(delete, race(&site, [submit(), submit()]));
        assert_eq!(deleted.status, 204, "{round}: {}", deleted.text());
        for sent in sent {
            assert!(matches!(sent, 201 | 404), "{round}: {sent}");
        }
        assert_eq!(site.database.rows("cms_form_submissions").await, 0);
    }
}
