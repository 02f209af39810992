//! `cms serve` with visitors: killed while they answer, what was acknowledged is there, once. Their
//! sessions stand in no log.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use cms_http::client::Ask;
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{
    TestDatabase, leads,
    process::{self, Served},
    search, with,
};

/// Visitors at once.
const VISITORS: usize = 4;
/// The server is killed after so many acknowledged calls, three times.
const CALLS: usize = 40;

/// `cms serve` with a published funnel.
async fn serve(database: &TestDatabase, funnel: Json, log: &str) -> Served {
    let key = process::init(database);
    let served = Served::start(database, log);
    let client = served.client(&key);
    let action = |action: &str| Ask::post("/api/backend/formfunnel").query("action", action);
    client.send(action("create").json(&funnel)).await.unwrap();
    client.send(action("publish").json(&json!({"id": 1}))).await.unwrap();
    served
}

/// A visitor's call: the status and the reply. None: the server is gone.
async fn call(url: &str, action: &str, body: Json) -> Option<(u16, Json)> {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).await.ok()?;
    let body = body.to_string();
    let request = format!(
        "POST /api/formfunnel/{action} HTTP/1.1\r\nhost: cms.test\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let length = head.to_lowercase().split_once("content-length: ").map(|(_, rest)| {
        rest.lines().next().and_then(|length| length.trim().parse().ok()).unwrap_or(usize::MAX)
    });
    // A reply that broke off is none.
    if length.is_some_and(|length| length != body.len()) {
        return None;
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}

/// What a visitor was told.
#[derive(Clone, Debug)]
struct Told {
    session: String,
    name: String,
    /// Steps whose answers were acknowledged: 0 to 2.
    steps: usize,
    reference: Option<Json>,
}

impl Told {
    /// The next call of the visit, as a page makes it that sends again what got no reply.
    async fn go_on(&mut self, url: &str) -> Option<()> {
        let answers = match self.steps {
            0 => json!({"name": self.name}),
            _ => json!({"budget": 1}),
        };
        let body = json!({"session_uuid": self.session, "answers": answers});
        if self.steps < 2 {
            let (status, reply) = call(url, "step", body).await?;
            assert_eq!(status, 200, "{reply}");
            self.steps += 1;
            return Some(());
        }
        let body = json!({"session_uuid": self.session});
        let (status, reply) = call(url, "complete", body).await?;
        assert_eq!(status, 200, "{reply}");
        self.reference = Some(reply["reference"].clone());
        Some(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_and_doubles_nothing() {
    let database = TestDatabase::new().await;
    let mails = json!([{"recipients": "a@example.org", "subject": "{{ name }}"}]);
    let funnel = with(leads(), json!({"email_routings": mails}));
    let mut served = serve(&database, funnel, "warn").await;
    let all: Arc<Mutex<Vec<Told>>> = Arc::default();
    for _ in 0..3 {
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let visitors: Vec<_> = (0..VISITORS)
            .map(|_| {
                let (url, all, count) = (served.url.clone(), all.clone(), acknowledged.clone());
                tokio::spawn(async move {
                    while let Some((status, started)) =
                        call(&url, "start", json!({"funnel_id": "leads"})).await
                    {
                        assert_eq!(status, 201, "{started}");
                        let session = started["session_uuid"].as_str().unwrap().to_owned();
                        let name = format!("Ada {}", &session[..8]);
                        let mut told = Told { session, name, steps: 0, reference: None };
                        while told.reference.is_none() && told.go_on(&url).await.is_some() {
                            count.fetch_add(1, Ordering::SeqCst);
                        }
                        all.lock().unwrap().push(told);
                    }
                })
            })
            .collect();
        let began = Instant::now();
        while acknowledged.load(Ordering::SeqCst) < CALLS {
            assert!(began.elapsed() < Duration::from_secs(120), "visitors get no replies");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        served.kill();
        for visitor in visitors {
            visitor.await.unwrap();
        }
        served = Served::start(&database, "warn");
    }
    let mut visits = all.lock().unwrap().clone();
    for told in &mut visits {
        // Whoever was told of the end is told the same; the others go on where they were.
        let first = told.reference.clone();
        let body = json!({"session_uuid": told.session});
        let at = call(&served.url, "resume", body).await.unwrap();
        match at.0 {
            200 => {
                assert_eq!(first, None, "an acknowledged end is lost");
                let answered = at.1["progress"]["answered"].as_u64().unwrap() as usize;
                assert!(answered >= told.steps, "{told:?} {}", at.1);
            }
            status => assert_eq!(status, 409, "{}", at.1),
        }
        if at.0 == 409 {
            told.steps = 2;
        }
        while told.steps < 2 || told.reference.is_none() {
            told.go_on(&served.url).await.unwrap();
        }
        told.go_on(&served.url).await.unwrap();
        assert!(first.is_none() || first == told.reference, "{told:?}");
        let kept = format!(
            "cms_formfunnel_submissions where session_uuid = '{}' \
             and status = 'completed' and answers_json like '%\"{}\"%'",
            told.session, told.name
        );
        assert_eq!(database.rows(&kept).await, 1, "{told:?}");
    }
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0), "{log}");
    // Visits whose start got no reply are there too, but nobody can go on with them.
    let completed = visits.len() as i64;
    let of_kind = |kind: &str| {
        format!(
            "cms_formfunnel_events e join cms_formfunnel_submissions s on s.id = e.submission_id \
             where s.status = 'completed' and e.kind = '{kind}'"
        )
    };
    let events = |name: &str| format!("cms_events where name = 'formfunnel.{name}'");
    for (rows, times) in [
        (of_kind("started"), 1),
        (of_kind("answered"), 2),
        (of_kind("completed"), 1),
        (of_kind("mail"), 1),
        (of_kind("rewound"), 0),
        (events("step_completed"), 2),
        (events("completed"), 1),
        ("cms_mails".to_owned(), 1),
        ("(select distinct subject from cms_mails) subjects".to_owned(), 1),
    ] {
        assert_eq!(database.rows(&rows).await, times * completed, "{rows}");
    }
}

/// The session is the visitor's secret: it stands in its own column, and nowhere else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_stands_in_no_log_and_in_no_table_but_its_own() {
    let database = TestDatabase::new().await;
    let saving = json!({
        "save_abandoned": 1, "settings_json": {"page_url": "https://example.org/offer"},
        "email_routings": [
            {"recipients": "a@example.org", "subject": "{{*}} {{_submission.url}}"},
            {"recipients": "b@example.org", "subject": "{{*}}", "trigger_event": "abandoned",
             "body_html": "{{_resume_url}}"}],
    });
    let served = serve(&database, with(leads(), saving), "debug").await;
    let send = async |action: &str, body: Json| call(&served.url, action, body).await.unwrap();
    let started = send("start", json!({"funnel_id": "leads"})).await.1;
    let session = started["session_uuid"].as_str().unwrap().to_owned();
    for (action, body, status) in [
        ("step", json!({"answers": {}}), 422),
        ("step", json!({"answers": {"name": "Ada"}, "node_id": 999}), 409),
        ("step", json!({"answers": {"name": "Ada"}, "more": 1}), 422),
        ("step", json!({"answers": {"name": "Ada"}}), 200),
        ("abandon", json!({}), 204),
        ("resume", json!({}), 200),
        ("complete", json!({}), 422),
        ("complete", json!({"answers": {"budget": 1}}), 200),
        ("complete", json!({}), 200),
        ("step", json!({"answers": {"budget": 1}}), 409),
    ] {
        let reply = send(action, with(body.clone(), json!({"session_uuid": session}))).await;
        assert_eq!(reply.0, status, "{action} {body} {}", reply.1);
        assert!(action == "start" || !reply.1.to_string().contains(&session));
    }
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0));
    assert!(log.contains("formfunnel"), "the log tells of the calls");
    assert!(!log.contains(&session));
    let holders = search::holders(&database, &session).await;
    assert_eq!(holders, ["cms_formfunnel_submissions"]);
    let hidden = "update cms_formfunnel_submissions set session_uuid = 'x'";
    database.run(hidden).await;
    assert!(search::holders(&database, &session).await.is_empty());
}
