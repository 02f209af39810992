//! `/api/backend/formfunnel`: what visitors sent, for the staff.

mod analytics;
mod bulk;
mod detail;
mod erase;
mod export;
mod large;
mod list;
mod rights;
mod search;
mod update;

use serde_json::{Value as Json, json};

pub use crate::support::with_leads as site;
use crate::support::{Reply, Site, Visit, with};

/// The address of an action.
pub fn at(method: &str, action: &str) -> String {
    format!("{method} /api/backend/formfunnel?action={action}")
}

/// A visit that has come to its end. Returns the id of the submission.
pub async fn sent(site: &Site, name: &str, budget: i64) -> i64 {
    let visit = site.visit("leads").await;
    let mail = format!("{}@example.org", name.to_lowercase());
    visit.answers(json!({"name": name, "mail": mail})).await;
    visit.answers(json!({"budget": budget})).await;
    if budget >= 5000 {
        visit.answers(json!({"phone": "030 123456"})).await;
    }
    visit.complete(None).expect(200).await;
    id(&visit).await
}

/// As [`sent`], by each of these.
pub async fn all_sent<const N: usize>(site: &Site, names: [&str; N]) -> [i64; N] {
    let mut ids = [0; N];
    for (id, name) in ids.iter_mut().zip(names) {
        *id = sent(site, name, 10).await;
    }
    ids
}

/// Changes members of a submission.
pub async fn update(site: &Site, id: i64, members: Json) -> Json {
    let body = with(members, json!({"id": id}));
    site.staff("submission_update", body).expect(200).await.data()
}

/// Changes many submissions.
pub async fn bulk(site: &Site, body: Json) -> Json {
    site.staff("submissions_bulk", body).expect(200).await.data()
}

/// Every step of a revision was told.
pub async fn revisions_are_told(site: &Site) -> i64 {
    let revisions = "select cast(sum(inbox_rev) as bigint) from cms_formfunnel_submissions";
    let told = site.raised("formfunnel.submission_updated").await;
    assert_eq!(site.database.count(revisions).await, told);
    told
}

/// The id of a visit's submission.
pub async fn id(visit: &Visit<'_>) -> i64 {
    visit.column("id").await
}

/// A page of submissions.
pub async fn page(site: &Site, query: &str) -> Reply {
    site.admin(&at("GET", &format!("submissions{query}"))).expect(200).await
}

/// How many there are in each state.
pub async fn counts(site: &Site, query: &str) -> Json {
    page(site, query).await.json()["meta"]["counts"].take()
}

/// The ids of a page.
pub async fn ids(site: &Site, query: &str) -> Vec<i64> {
    let page = page(site, query).await.data();
    page.as_array().unwrap().iter().map(|row| row["submission_id"].as_i64().unwrap()).collect()
}

/// One submission.
pub async fn get(site: &Site, id: i64) -> Json {
    site.admin(&at("GET", &format!("submission_get&id={id}"))).expect(200).await.data()
}
