//! `/api/formfunnel`: each call by itself.

use serde_json::{Value as Json, json};

use crate::support::{
    Site,
    site::NOW,
    visits::{Visit, leads},
};

/// What visitors see of a node.
fn names(reply: &Json) -> (Json, Json, Json) {
    (reply["node"]["name"].clone(), reply["node_type"].clone(), reply["can_complete"].clone())
}

#[tokio::test]
async fn start_shows_the_first_step() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    for which in [json!("leads"), json!(funnel.id), json!(funnel.id.to_string())] {
        let started = site.visitor("start", json!({"funnel_id": which})).expect(201).await.json();
        let session = started["session_uuid"].as_str().unwrap();
        assert_eq!((session.len(), &session[14..15]), (36, "4"), "a random uuid");
        assert_eq!(started["funnel"]["slug"], "leads");
        assert_eq!(started["funnel"]["version"], 1);
        assert_eq!(started["node"]["name"], "who");
        assert_eq!(started["node"]["id"], funnel.node("who"));
        assert_eq!(started["progress"], json!({"answered": 0, "remaining_max": 3}));
        assert_eq!(started["expires_at"], "2026-11-22T09:30:00Z");
        let fields = started["node"]["config"]["fields"].as_array().unwrap();
        assert_eq!(fields[0]["id"], "name");
    }
    assert_eq!(site.raised("formfunnel.started").await, 3);
    for which in [json!("gone"), json!(99)] {
        let start = site.visitor("start", json!({"funnel_id": which}));
        start.refused(404, "funnel_not_available").await;
    }
    for (body, field, code) in [
        (json!({}), "funnel_id", "required"),
        (json!({"funnel_id": "leads", "hidden": []}), "hidden", "type"),
        (json!({"funnel_id": "leads", "colour": 1}), "colour", "unexpected"),
    ] {
        let refused = site.visitor("start", body).refused(422, "validation_failed").await.json();
        let first = &refused["errors"][0];
        assert_eq!((&first["field"], &first["code"]), (&json!(field), &json!(code)), "{refused}");
    }
}

/// What a body is about is looked for before the rest of it is read.
#[tokio::test]
async fn a_session_comes_before_the_answers() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let other = "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10";
    for action in ["step", "complete"] {
        let wrong = |session: &str| json!({"session_uuid": session, "answers": 7, "x": 1});
        site.visitor(action, wrong(other)).refused(404, "not_found").await;
        site.visitor(action, wrong(&visit.session)).refused(422, "validation_failed").await;
        for body in [json!({}), json!({"session_uuid": 7}), json!([visit.session])] {
            let status =
                if body.is_array() { (400, "bad_json") } else { (422, "validation_failed") };
            site.visitor(action, body).refused(status.0, status.1).await;
        }
        let line = format!("POST /api/formfunnel/{action}");
        for (first, last, status) in [(&*visit.session, other, 404), (other, &*visit.session, 422)]
        {
            let names = format!("\"session_uuid\":\"{first}\",\"session_uuid\":\"{last}\"");
            let body = format!("{{{names},\"answers\":{{\"name\":7}}}}");
            site.ask(&line)
                .header("content-type", "application/json")
                .body(body)
                .expect(status)
                .await;
        }
    }
    let form = |form: Json| json!({"form": form, "answers": 7});
    site.ask("POST /api/form/submit").json(form(json!("none"))).refused(404, "not_found").await;
}

#[tokio::test]
async fn start_takes_where_the_visitor_comes_from() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    for (body, campaign) in [
        (json!({"hidden": {"campaign": "spring"}}), "spring"),
        (json!({"source_url": "https://example.org/?c=autumn&x=1"}), "autumn"),
        (json!({"hidden": {"campaign": "a"}, "source_url": "https://x.org/?c=b"}), "a"),
        (json!({"hidden": {"campaign": ["no text"]}}), "none"),
        (json!({"source_url": "no address"}), "none"),
    ] {
        let mut body = body;
        body["funnel_id"] = "leads".into();
        body["utm_source"] = "x".repeat(1000).into();
        let started = site.visitor("start", body.clone()).expect(201).await.json();
        let session = started["session_uuid"].as_str().unwrap().to_owned();
        let visit = Visit { site: &site, session };
        let column = format!("(answers_json like '%\"campaign\":\"{campaign}\"%')");
        let column = format!("case when {column} then 1 else 0 end");
        assert_eq!(visit.column(&column).await, 1, "{body}");
        assert_eq!(visit.column("length(utm_source)").await, 255);
        // The first value counts: steps do not change it.
        let ignored = visit.answers(json!({"name": "Ada", "campaign": "other"})).await;
        assert_eq!(ignored["ignored"], json!(["campaign"]));
        assert_eq!(visit.column(&column).await, 1, "{body}");
    }
}

#[tokio::test]
async fn step_leads_on_by_the_answers() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let budget = visit.answers(json!({"name": " Ada ", "colour": "red"})).await;
    assert_eq!(names(&budget), (json!("budget"), json!("step"), json!(false)));
    assert_eq!(budget["ignored"], json!(["colour"]));
    assert_eq!(budget["progress"], json!({"answered": 1, "remaining_max": 2}));
    let call = visit.step(Some(funnel.node("budget")), json!({"budget": "5000"}));
    let call = call.expect(200).await.json();
    assert_eq!(names(&call), (json!("call"), json!("step"), json!(false)));
    let thanks = visit.answers(json!({"phone": "030 123456"})).await;
    assert_eq!(names(&thanks), (json!("thanks"), json!("end"), json!(true)));
    assert_eq!(thanks["progress"], json!({"answered": 3, "remaining_max": 0}));
    assert_eq!(site.raised("formfunnel.step_completed").await, 3);
    for (kind, times) in [("started", 1), ("presented", 4), ("answered", 3), ("edge", 4)] {
        assert_eq!(visit.happened(kind).await, times, "{kind}");
    }
    let poor = site.visit("leads").await;
    poor.answers(json!({"name": "Bob"})).await;
    let sorry = poor.answers(json!({"budget": 4999.99})).await;
    assert_eq!(names(&sorry), (json!("sorry"), json!("end"), json!(true)));
}

#[tokio::test]
async fn step_tells_all_that_is_wrong_and_stays() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let refused = visit.step(None, json!({"name": " ", "mail": "ada"}));
    let refused = refused.refused(422, "validation_failed").await.json();
    let told: Vec<_> = refused["errors"].as_array().unwrap().iter().map(|e| &e["field"]).collect();
    assert_eq!(told, ["name", "mail"]);
    assert_eq!(refused["node_id"], funnel.node("who"));
    assert_eq!((visit.happened("invalid").await, visit.happened("answered").await), (2, 0));
    assert_eq!(visit.column("length(answers_json)").await, r#"{"campaign":"none"}"#.len() as i64);
    assert_eq!(site.raised("formfunnel.step_completed").await, 0);
    let unknown = json!({"session_uuid": "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10"});
    for action in ["step", "complete", "resume"] {
        site.visitor(action, unknown.clone()).refused(404, "not_found").await;
        site.visitor(action, json!({"session_uuid": "x"})).refused(404, "not_found").await;
    }
}

#[tokio::test]
async fn a_strict_funnel_refuses_what_it_does_not_ask() {
    let site = Site::open().await;
    let mut strict = leads();
    strict["settings_json"] = json!({"strict": true});
    site.funnel(strict).await;
    let visit = site.visit("leads").await;
    let refused = visit.step(None, json!({"name": "Ada", "colour": "red"}));
    let refused = refused.refused(422, "validation_failed").await.json();
    assert_eq!(refused["errors"][0]["field"], "colour");
    visit.answers(json!({"name": "Ada"})).await;
}

#[tokio::test]
async fn complete_answers_once_and_the_same_again() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada", "mail": "ada@example.org"})).await;
    visit.answers(json!({"budget": 9000})).await;
    let first = visit.complete(Some(json!({"phone": "030 123456"}))).expect(200).await.json();
    assert_eq!(first["status"], "completed");
    assert_eq!(first["node"]["name"], "thanks");
    assert_eq!(first["redirect_url"], json!(null));
    assert_eq!(first["reference"].as_str().unwrap().len(), 9);
    assert_eq!(visit.complete(None).expect(200).await.json(), first);
    assert_eq!(visit.complete(Some(json!({"phone": 7}))).expect(200).await.json(), first);
    assert_eq!(site.raised("formfunnel.completed").await, 1);
    assert_eq!(visit.happened("completed").await, 1);
    visit.step(None, json!({"phone": "1"})).refused(409, "already_completed").await;
    visit.resume().refused(409, "already_completed").await;
    visit.abandon().await;
    assert_eq!(visit.column("case status when 'completed' then 1 else 0 end").await, 1);
    let poor = site.visit("leads").await;
    poor.answers(json!({"name": "Bob"})).await;
    let done = poor.complete(Some(json!({"budget": 1}))).expect(200).await.json();
    assert_eq!(done["redirect_url"], "https://example.org/else");
}

#[tokio::test]
async fn complete_names_the_first_step_that_is_not_finished() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let early = visit.complete(None).refused(422, "incomplete").await.json();
    assert_eq!(
        (&early["node_id"], &early["errors"][0]["field"]),
        (&json!(funnel.node("who")), &json!("name"))
    );
    // Valid answers are taken, and the visit goes on.
    let early =
        visit.complete(Some(json!({"name": "Ada"}))).refused(422, "incomplete").await.json();
    assert_eq!(early["node_id"], funnel.node("budget"));
    assert_eq!(visit.resume().expect(200).await.json()["node"]["name"], "budget");
    visit.answers(json!({"budget": 9000})).await;
    assert_eq!(visit.column("case status when 'in_progress' then 1 else 0 end").await, 1);
    // The last step asks for nothing that is required.
    visit.complete(None).expect(200).await;
}

#[tokio::test]
async fn resume_shows_where_the_visitor_stands() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    let shown = visit.resume().expect(200).await.json();
    assert_eq!(names(&shown), (json!("budget"), json!("step"), json!(false)));
    assert_eq!(visit.happened("resumed").await, 1);
    // Each call renews the time.
    for _ in 0..3 {
        site.clock.advance(23 * 3_600_000);
        visit.resume().expect(200).await;
    }
    site.clock.advance(24 * 3_600_000);
    visit.resume().refused(410, "session_expired").await;
    visit.step(None, json!({"budget": 1})).refused(410, "session_expired").await;
    visit.complete(None).refused(410, "session_expired").await;
    assert!(site.clock.now() > NOW);
}

#[tokio::test]
async fn abandon_marks_only_where_the_funnel_says_so() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let mut saving = leads();
    saving["slug"] = "saving".into();
    saving["save_abandoned"] = 1.into();
    site.funnel(saving).await;
    let abandoned = "case status when 'abandoned' then 1 else 0 end";
    let silent = site.visit("leads").await;
    silent.abandon().await;
    assert_eq!(silent.column(abandoned).await, 0);
    let visit = site.visit("saving").await;
    let session = &visit.session;
    for (kind, body) in [
        ("application/json", format!("{{\"session_uuid\":\"{session}\"}}")),
        ("text/plain;charset=UTF-8", session.clone()),
        ("application/x-www-form-urlencoded", format!("session_uuid={session}")),
        ("text/plain", "x".repeat(200_000)),
        ("application/json", "{".to_owned()),
        ("application/octet-stream", String::new()),
        ("text/plain", "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10".to_owned()),
    ] {
        let ask = site.ask("POST /api/formfunnel/abandon").header("content-type", kind);
        ask.body(body).expect(204).await;
    }
    assert_eq!(visit.column(abandoned).await, 1);
    site.clock.advance(3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    assert_eq!(site.raised("formfunnel.abandoned").await, 1);
    // Who comes back goes on; leaving again is told to nobody.
    let next = visit.answers(json!({"name": "Ada"})).await;
    assert_eq!(next["node"]["name"], "budget");
    assert_eq!(visit.column(abandoned).await, 0);
    assert_eq!(visit.column("case when abandoned_at is null then 0 else 1 end").await, 1);
    visit.abandon().await;
    assert_eq!(visit.column(abandoned).await, 1);
    site.clock.advance(3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    assert_eq!(
        (site.raised("formfunnel.abandoned").await, visit.happened("abandoned").await),
        (1, 2)
    );
}

#[tokio::test]
async fn upload_takes_files_for_a_field_of_the_visit() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    let pdf = b"%PDF-1.7 content";
    assert_eq!(visit.upload("paper", pdf).await.status, 422, "not presented yet");
    visit.answers(json!({"budget": 9000})).await;
    for (field, content, code) in [
        ("name", &pdf[..], "unknown"),
        ("gone", &pdf[..], "unknown"),
        ("paper", &b"<script>"[..], "media_type"),
        ("paper", &[&pdf[..], &[b'x'; 1000]].concat()[..], "too_large"),
    ] {
        let refused = visit.upload(field, content).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["errors"][0]["code"]),
            (422, &json!(code)),
            "{field}"
        );
    }
    let taken = visit.upload("paper", pdf).await;
    assert_eq!(taken.status, 201, "{}", taken.text());
    let taken = taken.json();
    assert_eq!((&taken["media_type"], &taken["size"]), (&json!("application/pdf"), &json!(16)));
    // A file is the answer of its own session only.
    let other = site.visit("leads").await;
    other.answers(json!({"name": "Bob"})).await;
    other.answers(json!({"budget": 9000})).await;
    let stolen = other.step(None, json!({"paper": [taken["file"]]}));
    let stolen = stolen.refused(422, "validation_failed").await.json();
    assert_eq!(stolen["errors"][0]["code"], "unknown_upload");
    let end = visit.answers(json!({"paper": [taken["file"]]})).await;
    assert_eq!(end["node"]["name"], "thanks");
    visit.complete(None).expect(200).await;
    let lost = other.upload("paper", pdf).await;
    assert_eq!(lost.status, 201);
    site.clock.advance(25 * 3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    let files = "select count(*) from cms_formfunnel_uploads";
    assert_eq!(site.database.count(files).await, 1, "what no answer holds is removed");
}

/// The language asked for, else that of the base, else the site's first.
#[tokio::test]
async fn start_speaks_the_languages_that_are_published() {
    let site = Site::open().await;
    let mut base = leads();
    base["language_short"] = "pt-BR".into();
    let base = site.funnel(base).await;
    let version = async |language: &str, slug: &str| {
        let mut funnel = leads();
        funnel["base_id"] = base.id.into();
        funnel["language_short"] = language.into();
        funnel["slug"] = slug.into();
        site.funnel(funnel).await.id
    };
    let (english, german) = (version("en", "leads-en").await, version("de", "leads-de").await);
    let begins = async |which: Json, language: Option<&str>| {
        let mut body = json!({"funnel_id": which});
        if let Some(language) = language {
            body["language"] = language.into();
        }
        let started = site.visitor("start", body).expect(201).await.json();
        started["funnel"]["id"].as_i64().unwrap()
    };
    for (which, language, expected) in [
        (json!("leads"), None, base.id),
        (json!("leads-de"), None, german),
        (json!("leads"), Some("de"), german),
        (json!(english), Some("pt-br"), base.id),
        (json!(german), Some("DE"), german),
        // Nobody speaks it: the base does.
        (json!(german), Some("it"), base.id),
        (json!("leads-de"), Some("it"), base.id),
    ] {
        assert_eq!(begins(which.clone(), language).await, expected, "{which} {language:?}");
    }
    let line = "POST /api/backend/formfunnel?action=save";
    let off = json!({"id": base.id, "funnel": {"status": "archived"}});
    site.admin(line).json(off).expect(200).await;
    assert_eq!(begins(json!(german), Some("it")).await, english, "the site's first language");
    let off = json!({"id": english, "funnel": {"status": "archived"}});
    site.admin(line).json(off).expect(200).await;
    assert_eq!(begins(json!(german), Some("it")).await, german, "what was named");
}

/// Notes of authors stay here; what the page needs stands in named members.
#[tokio::test]
async fn start_shows_of_a_step_what_is_meant_for_visitors() {
    let site = Site::open().await;
    let mut funnel = leads();
    let config = &mut funnel["nodes"][0]["config_json"];
    config["title"] = "Welcome".into();
    config["notes"] = "ask sales first".into();
    config["notify"] = "sales@example.org".into();
    config["public"] = json!({"image": "/media/a.png"});
    config["html"] = "<p onclick=x>Hi<script>x</script>".into();
    site.funnel(funnel).await;
    let started = site.visitor("start", json!({"funnel_id": "leads"})).expect(201).await.json();
    let shown = started["node"]["config"].as_object().unwrap().clone();
    let names: Vec<_> = shown.keys().map(String::as_str).collect();
    assert_eq!(names, ["fields", "html", "public", "title"]);
    assert_eq!(
        (&shown["html"], &shown["public"]["image"]),
        (&json!("<p>Hi</p>"), &json!("/media/a.png"))
    );
}
