//! A right that fixes a filter reaches nothing that the filter leaves out: every list × every
//! filter × an id beside it.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::{
    forms::{open, submit},
    support::{Site, visits::leads},
};

/// Of a list these choose nothing.
const PLAIN: [&str; 4] = ["id", "limit", "cursor", "count"];
/// Their filters count for one record too.
const ITEMS: &str = "/api/backend/item/";

/// A value that the parameter takes.
fn value(schema: &Json) -> String {
    if let Some(one) = schema["enum"].get(0).or(schema["examples"].get(0)) {
        return one.as_str().map_or(one.to_string(), str::to_owned);
    }
    let one = match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("boolean"), _) => "true",
        (Some("integer"), _) => "1",
        (_, Some("date-time")) => "2026-11-21T09:30:00Z",
        _ => "sent",
    };
    one.to_owned()
}

/// Each list that also shows one by its id, with a filter and a value for it.
async fn lists(site: &Site) -> Vec<(String, String, String)> {
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let schema = |one: &Json| match one["schema"]["$ref"].as_str() {
        Some(at) => document.pointer(at.trim_start_matches('#')).unwrap().clone(),
        None => one["schema"].clone(),
    };
    // The other name of one thing, which the document leaves out.
    let users = ["/api/backend/users", "username", "sent"].map(str::to_owned);
    let mut found = vec![users.into()];
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(parameters) = methods["get"]["parameters"].as_array() else { continue };
        let shows_one = document["paths"][format!("{path}/{{id}}")]["get"].is_object();
        if !shows_one || path.starts_with(ITEMS) {
            continue;
        }
        for one in parameters.iter().filter(|one| one["in"] == "query") {
            let name = one["name"].as_str().unwrap();
            if !PLAIN.contains(&name) {
                found.push((path.clone(), name.to_owned(), value(&schema(one))));
            }
        }
    }
    found
}

#[tokio::test]
async fn an_id_leads_past_no_filter() {
    let site = Site::open().await;
    let lists = lists(&site).await;
    for path in ["forms/submissions", "webhooks/deliveries", "webhooks/queue", "webhooks/messages"]
        .into_iter()
        .chain(["media", "mail/log", "tasks/history", "users"])
    {
        let path = format!("/api/backend/{path}");
        assert!(lists.iter().any(|(list, ..)| *list == path), "{path} is not tried");
    }
    for (path, name, value) in lists {
        let bound = site.key(&[&format!("GET {path}?{name}={value}")]).await;
        let sent = utf8_percent_encode(&value, NON_ALPHANUMERIC);
        for id in ["1", "999"] {
            let line = format!("GET {path}?{name}={sent}&id={id}");
            let refused = site.ask(&line).key(&bound).refused(400, "bad_query").await.json();
            let detail = refused["detail"].as_str().unwrap();
            assert!(detail.contains("id") && detail.contains(&name), "{line}: {detail}");
            let other = format!("GET {path}?id={id}");
            site.ask(&other).key(&bound).refused(401, "api_key_forbidden").await;
        }
    }
}

#[tokio::test]
async fn a_key_for_one_form_reads_no_answers_of_another() {
    let site = Site::open().await;
    for name in ["contact", "applications"] {
        open(&site, name, json!({})).await;
        let answers = json!({"name": "Ana", "message": name});
        submit(&site, json!({"form": name, "answers": answers})).expect(201).await;
    }
    let list = "GET /api/backend/forms/submissions";
    let key = site.key(&[&format!("{list}?form=contact")]).await;
    let other = format!("{list}?form=applications");
    let id = site.admin(&other).expect(200).await.data()[0]["id"].clone();
    let own = format!("{list}?form=contact");
    assert_eq!(site.ask(&own).key(&key).expect(200).await.data().as_array().unwrap().len(), 1);
    site.ask(&format!("{own}&id={id}")).key(&key).refused(400, "bad_query").await;
    site.admin(&format!("{list}?id={id}")).expect(200).await;
}

#[tokio::test]
async fn a_key_for_one_funnel_names_no_other_by_another_parameter() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let mut other = leads();
    other["slug"] = json!("other");
    site.funnel(other).await;
    for (action, body) in
        [("preview", json!({})), ("email_routing_save", json!({"email_routings": []}))]
    {
        let line = format!("POST /api/backend/formfunnel?action={action}&id=1");
        let key = site.key(&[&line]).await;
        let reply = site.ask(&format!("{line}&funnel_id=2")).key(&key).json(body.clone());
        let refused = reply.refused(400, "bad_query").await.json();
        assert!(refused["detail"].as_str().unwrap().contains("funnel_id"), "{refused}");
    }
}
