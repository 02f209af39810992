//! `/api/formfunnel`: each call by itself.

use serde_json::{Value as Json, json};

use crate::support::{Site, each, has, leads, site::NOW, with, with_leads};

/// Visitors see this node.
#[track_caller]
fn shows(reply: &Json, name: &str, kind: &str) {
    let is_end = kind == "end";
    has!(reply, {"/node/name": name, "node_type": kind, "can_complete": is_end});
}

#[tokio::test]
async fn start_shows_the_first_step() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    for which in [json!("leads"), json!(funnel.id), json!(funnel.id.to_string())] {
        let started = site.visitor("start", json!({"funnel_id": which})).expect(201).await.json();
        let session = started["session_uuid"].as_str().unwrap();
        assert_eq!((session.len(), &session[14..15]), (36, "4"), "a random uuid");
        has!(started, {"/funnel/slug": "leads", "/funnel/version": 1, "/node/name": "who",
                       "/node/id": funnel.node("who"),
                       "progress": {"answered": 0, "remaining_max": 3},
                       "expires_at": "2026-11-22T09:30:00Z"});
        assert_eq!(started["node"]["config"]["fields"].as_array().unwrap()[0]["id"], "name");
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
        has!(refused["errors"][0], {"field": field, "code": code});
    }
}

/// What a body is about is looked for before the rest of it is read.
#[tokio::test]
async fn a_session_comes_before_the_answers() {
    let site = with_leads().await;
    let visit = site.visit("leads").await;
    let other = "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10";
    for action in ["step", "complete"] {
        let wrong = |session: &str| json!({"session_uuid": session, "answers": 7, "x": 1});
        site.visitor(action, wrong(other)).refused(404, "not_found").await;
        site.visitor(action, wrong(&visit.session)).refused(422, "validation_failed").await;
        for (body, status, code) in [
            (json!({}), 422, "validation_failed"),
            (json!({"session_uuid": 7}), 422, "validation_failed"),
            (json!([visit.session]), 400, "bad_json"),
        ] {
            site.visitor(action, body).refused(status, code).await;
        }
        for (first, last, status) in [(&*visit.session, other, 404), (other, &*visit.session, 422)]
        {
            let names = format!("\"session_uuid\":\"{first}\",\"session_uuid\":\"{last}\"");
            let body = format!("{{{names},\"answers\":{{\"name\":7}}}}");
            site.ask(&format!("POST /api/formfunnel/{action}")).body(body).expect(status).await;
        }
    }
    let form = json!({"form": "none", "answers": 7});
    site.ask("POST /api/form/submit").json(form).refused(404, "not_found").await;
}

#[tokio::test]
async fn start_takes_where_the_visitor_comes_from() {
    let site = with_leads().await;
    for (body, campaign) in [
        (json!({"hidden": {"campaign": "spring"}}), "spring"),
        (json!({"source_url": "https://example.org/?c=autumn&x=1"}), "autumn"),
        (json!({"hidden": {"campaign": "a"}, "source_url": "https://x.org/?c=b"}), "a"),
        (json!({"hidden": {"campaign": ["no text"]}}), "none"),
        (json!({"source_url": "no address"}), "none"),
    ] {
        let more = json!({"funnel_id": "leads", "utm_source": "x".repeat(1000)});
        let visit = site.begun(site.visitor("start", with(body.clone(), more))).await;
        let answer = format!("\"campaign\":\"{campaign}\"");
        assert!(visit.holds(&answer).await, "{body}");
        assert_eq!(visit.column("length(utm_source)").await, 255);
        // The first value counts: steps do not change it.
        let ignored = visit.answers(json!({"name": "Ada", "campaign": "other"})).await;
        assert_eq!(ignored["ignored"], json!(["campaign"]));
        assert!(visit.holds(&answer).await, "{body}");
    }
}

#[tokio::test]
async fn start_keeps_no_text_that_deceives_its_reader() {
    let site = with_leads().await;
    for (page, kept) in [
        ("https://example.org/\u{202e}a", "source_url = 'https://example.org/a'"),
        ("javascript:alert(1)", "source_url is null"),
        ("no address", "source_url is null"),
    ] {
        let body = json!({"funnel_id": "leads", "source_url": page,
                          "utm_source": "m\u{1b}\u{202e}ail"});
        let visit = site.begun(site.visitor("start", body)).await;
        assert!(visit.is(&format!("{kept} and utm_source = 'mail'")).await, "{page:?}");
    }
}

#[tokio::test]
async fn step_leads_on_by_the_answers() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let budget = visit.answers(json!({"name": " Ada ", "colour": "red"})).await;
    shows(&budget, "budget", "step");
    has!(budget, {"ignored": ["colour"], "progress": {"answered": 1, "remaining_max": 2}});
    let call = visit.step(Some(funnel.node("budget")), json!({"budget": "5000"}));
    let call = call.expect(200).await.json();
    shows(&call, "call", "step");
    let thanks = visit.answers(json!({"phone": "030 123456"})).await;
    shows(&thanks, "thanks", "end");
    assert_eq!(thanks["progress"], json!({"answered": 3, "remaining_max": 0}));
    assert_eq!(site.raised("formfunnel.step_completed").await, 3);
    for (kind, times) in [("started", 1), ("presented", 4), ("answered", 3), ("edge", 4)] {
        assert_eq!(visit.happened(kind).await, times, "{kind}");
    }
    let poor = site.visit("leads").await;
    poor.answers(json!({"name": "Bob"})).await;
    let sorry = poor.answers(json!({"budget": 4999.99})).await;
    shows(&sorry, "sorry", "end");
}

#[tokio::test]
async fn step_tells_all_that_is_wrong_and_stays() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let refused = visit.step(None, json!({"name": " ", "mail": "ada"}));
    let refused = refused.refused(422, "validation_failed").await.json();
    assert_eq!(each(&refused["errors"], "field"), ["name", "mail"]);
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
    site.leads(json!({"settings_json": {"strict": true}})).await;
    let visit = site.visit("leads").await;
    let refused = visit.step(None, json!({"name": "Ada", "colour": "red"}));
    let refused = refused.refused(422, "validation_failed").await.json();
    assert_eq!(refused["errors"][0]["field"], "colour");
    visit.answers(json!({"name": "Ada"})).await;
}

#[tokio::test]
async fn complete_answers_once_and_the_same_again() {
    let site = with_leads().await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada", "mail": "ada@example.org"})).await;
    visit.answers(json!({"budget": 9000})).await;
    let first = visit.complete(Some(json!({"phone": "030 123456"}))).expect(200).await.json();
    has!(first, {"status": "completed", "/node/name": "thanks", "redirect_url": null});
    assert_eq!(first["reference"].as_str().unwrap().len(), 9);
    assert_eq!(visit.complete(None).expect(200).await.json(), first);
    assert_eq!(visit.complete(Some(json!({"phone": 7}))).expect(200).await.json(), first);
    assert_eq!(site.raised("formfunnel.completed").await, 1);
    assert_eq!(visit.happened("completed").await, 1);
    visit.step(None, json!({"phone": "1"})).refused(409, "already_completed").await;
    visit.resume().refused(409, "already_completed").await;
    visit.abandon().await;
    assert!(visit.is("status = 'completed'").await);
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
    has!(early, {"node_id": funnel.node("who"), "/errors/0/field": "name"});
    // Valid answers are taken, and the visit goes on.
    let early =
        visit.complete(Some(json!({"name": "Ada"}))).refused(422, "incomplete").await.json();
    assert_eq!(early["node_id"], funnel.node("budget"));
    assert_eq!(visit.resume().expect(200).await.json()["node"]["name"], "budget");
    visit.answers(json!({"budget": 9000})).await;
    assert!(visit.is("status = 'in_progress'").await);
    // The last step asks for nothing that is required.
    visit.complete(None).expect(200).await;
}

#[tokio::test]
async fn resume_shows_where_the_visitor_stands() {
    let site = with_leads().await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    let shown = visit.resume().expect(200).await.json();
    shows(&shown, "budget", "step");
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
    let site = with_leads().await;
    site.leads(json!({"slug": "saving", "save_abandoned": 1})).await;
    let abandoned = "status = 'abandoned'";
    let silent = site.visit("leads").await;
    silent.abandon().await;
    assert!(!silent.is(abandoned).await);
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
    assert!(visit.is(abandoned).await);
    site.clock.advance(3_600_000);
    site.process_abandoned().await;
    assert_eq!(site.raised("formfunnel.abandoned").await, 1);
    // Who comes back goes on; leaving again is told to nobody.
    let next = visit.answers(json!({"name": "Ada"})).await;
    assert_eq!(next["node"]["name"], "budget");
    assert!(!visit.is(abandoned).await);
    assert!(visit.is("abandoned_at is not null").await);
    visit.abandon().await;
    assert!(visit.is(abandoned).await);
    site.clock.advance(3_600_000);
    site.process_abandoned().await;
    let told = (site.raised("formfunnel.abandoned").await, visit.happened("abandoned").await);
    assert_eq!(told, (1, 2));
}

#[tokio::test]
async fn upload_takes_files_for_a_field_of_the_visit() {
    let site = with_leads().await;
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
        assert_eq!(refused.status, 422, "{field}");
        assert_eq!(refused.json()["errors"][0]["code"], code, "{field}");
    }
    let taken = visit.upload("paper", pdf).await;
    assert_eq!(taken.status, 201, "{}", taken.text());
    let taken = taken.json();
    has!(taken, {"media_type": "application/pdf", "size": 16});
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
    assert_eq!(other.upload("paper", pdf).await.status, 201);
    site.clock.advance(25 * 3_600_000);
    site.process_abandoned().await;
    // What no answer holds is removed.
    assert_eq!(site.database.rows("cms_formfunnel_uploads").await, 1);
}

/// The language asked for, else a broader one, that of the base, the site's first.
#[tokio::test]
async fn start_speaks_the_languages_that_are_published() {
    let site = Site::open().await;
    let base = site.leads(json!({"language_short": "pt-BR"})).await;
    let version = async |language: &str, slug: &str| {
        site.leads(json!({"base_id": base.id, "language_short": language, "slug": slug})).await.id
    };
    let (english, german) = (version("en", "leads-en").await, version("de", "leads-de").await);
    let begins = async |which: Json, language: Option<&str>| {
        let language = language.map_or(json!({}), |language| json!({"language": language}));
        let body = with(json!({"funnel_id": which}), language);
        let started = site.visitor("start", body).expect(201).await.json();
        started["funnel"]["id"].as_i64().unwrap()
    };
    for (which, language, expected) in [
        (json!("leads"), None, base.id),
        (json!("leads-de"), None, german),
        (json!("leads"), Some("de"), german),
        (json!(english), Some("pt-br"), base.id),
        (json!(german), Some("DE"), german),
        // Without its region, on every way that leads to the family.
        (json!("leads"), Some("en-US"), english),
        (json!(german), Some("en-latn-us"), english),
        (json!("leads-en"), Some("EN-gb"), english),
        (json!("leads"), Some("pt-PT"), base.id),
        // Nobody speaks it: the base does.
        (json!(german), Some("it"), base.id),
        (json!("leads-de"), Some("it"), base.id),
    ] {
        assert_eq!(begins(which.clone(), language).await, expected, "{which} {language:?}");
    }
    // The site's first language, then what was named.
    for (off, expected) in [(base.id, english), (english, german)] {
        site.staff("save", json!({"id": off, "funnel": {"status": "archived"}})).expect(200).await;
        assert_eq!(begins(json!(german), Some("it")).await, expected);
    }
}

/// Notes of authors stay here; what the page needs stands in named members.
#[tokio::test]
async fn start_shows_of_a_step_what_is_meant_for_visitors() {
    let site = Site::open().await;
    let mut funnel = leads();
    let config = &mut funnel["nodes"][0]["config_json"];
    *config = with(
        config.take(),
        json!({
            "title": "Welcome", "notes": "ask sales first", "notify": "sales@example.org",
            "public": {"image": "/media/a.png"}, "html": "<p onclick=x>Hi<script>x</script>",
        }),
    );
    site.funnel(funnel).await;
    let started = site.visitor("start", json!({"funnel_id": "leads"})).expect(201).await.json();
    let shown = started["node"]["config"].clone();
    let names: Vec<_> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["fields", "html", "public", "title"]);
    has!(shown, {"html": "<p>Hi</p>", "/public/image": "/media/a.png"});
}
