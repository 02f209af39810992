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
mod spreadsheet;
mod undo;
mod update;
mod views;

use serde_json::{Value as Json, json};

use crate::support::{
    Ask, Reply, Site,
    visits::{Visit, leads},
};

/// The address of an action.
pub fn at(method: &str, action: &str) -> String {
    format!("{method} /api/backend/formfunnel?action={action}")
}

/// A call of an action.
pub fn post(site: &Site, action: &str, body: Json) -> Ask {
    site.admin(&at("POST", action)).json(body)
}

/// A site with a published funnel.
pub async fn site() -> Site {
    let site = Site::open().await;
    site.funnel(leads()).await;
    site
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

/// The id of a visit's submission.
pub async fn id(visit: &Visit<'_>) -> i64 {
    visit.column("id").await
}

/// A page of submissions.
pub async fn page(site: &Site, query: &str) -> Reply {
    site.admin(&at("GET", &format!("submissions{query}"))).expect(200).await
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
