//! `/api/backend/tasks`: listed, asked for, their history.

use std::sync::atomic::Ordering;

use cms_core::plugins::Handlers;
use serde_json::json;

use crate::{
    support::{Site, has, visits::leads},
    tasks::{Program, counting},
};

#[tokio::test]
async fn a_task_is_run_when_asked_and_its_schedule_stays() {
    let (program, runs) = counting();
    let site = Site::builder().await.program(program).open().await;
    let ana = site.person("ana", json!("0")).await;
    let list = async || {
        let mut list = site.admin("GET /api/backend/tasks").expect(200).await.json();
        // The service's own are not of this test.
        list["data"].as_array_mut().unwrap().retain(|task| task["plugin"] == "shop");
        list
    };
    assert_eq!(
        list().await,
        json!({"data": [{
            "plugin": "shop", "name": "count", "interval_s": 60, "next_due_at": null,
            "state": "waiting", "last_run": null,
        }], "meta": {"limit": 50, "next": null}})
    );
    let begun = site.clock.now();
    let run = "POST /api/backend/tasks/run?name=count";
    let first = site.ask(run).bearer(&ana.token).expect(200).await.data();
    let actor = json!({"kind": "user", "id": ana.id, "name": "ana"});
    let started = cms_core::rfc3339(begun);
    has!(first, {"outcome": "done", "actor": actor, "started_at": started});
    let due = list().await["data"][0]["next_due_at"].clone();
    site.clock.advance(5_000);
    let second = site.admin(run).expect(200).await.data();
    assert_eq!(list().await["data"][0]["next_due_at"], due, "the beat stays");
    assert_eq!(list().await["data"][0]["last_run"], second);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let audits = "select count(*) from cms_audit where table_name = 'tasks' and action = 'run'";
    assert_eq!(site.database.count(audits).await, 2);
    let page = site.admin("GET /api/backend/tasks/history?limit=1").expect(200).await.json();
    assert_eq!(page["data"], json!([second]));
    let next = page["meta"]["next"].as_str().unwrap();
    let history = "/api/backend/tasks/history";
    let second_page = site.get(&format!("{history}?limit=1&cursor={next}")).await;
    assert_eq!(second_page, json!([first]));
    assert_eq!(site.get(&format!("{history}?id={}", first["id"])).await, first);
}

#[tokio::test]
async fn abandoned_visits_are_a_task_of_the_service() {
    let site = Site::open().await;
    let mut saving = leads();
    saving["save_abandoned"] = 1.into();
    site.funnel(saving).await;
    let visit = site.visit("leads").await;
    let own = [
        ("formfunnel", "cleanup_old_submissions", 86_400),
        ("formfunnel", "process_abandoned", 300),
        ("media", "sweep", 86_400),
        ("pages", "schedule", 60),
    ];
    let own = own.map(|(plugin, name, interval_s)| {
        json!({
            "plugin": plugin, "name": name, "interval_s": interval_s, "next_due_at": null,
            "state": "waiting", "last_run": null,
        })
    });
    assert_eq!(site.get("/api/backend/tasks").await, json!(own));
    let away = "case status when 'abandoned' then 1 else 0 end";
    let mut scheduler = site.cms.tasks().own_scheduler();
    assert_eq!(scheduler.step().await.unwrap(), 4, "the first round is at once");
    assert!(site.database.count("select since from cms_formfunnel_window").await > 0);
    site.clock.advance(299_000);
    assert_eq!(scheduler.step().await.unwrap(), 1, "the pages, each minute");
    // Another scheduler, as after a restart: the beat stays.
    site.clock.advance(3_600_000);
    assert_eq!(site.cms.tasks().own_scheduler().step().await.unwrap(), 2);
    assert_eq!(visit.column(away).await, 1);
    assert_eq!(site.cms.tasks().scheduler().step().await.unwrap(), 0, "no plugin's");
    let other = site.visit("leads").await;
    site.clock.advance(3_600_000);
    let run = site.admin("POST /api/backend/tasks/run?name=process_abandoned").expect(200).await;
    assert_eq!(run.data()["outcome"], "done");
    assert_eq!(other.column(away).await, 1);
    let history = "GET /api/backend/tasks/history?name=process_abandoned&plugin=formfunnel";
    assert_eq!(site.admin(history).expect(200).await.data().as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_repeated_request_runs_nothing_again() {
    let (program, runs) = counting();
    let site = Site::builder().await.program(program).open().await;
    let run = || {
        let ask = site.admin("POST /api/backend/tasks/run?name=count");
        ask.header("idempotency-key", "one").expect(200)
    };
    let (first, second) = (run().await, run().await);
    assert_eq!(first.data()["outcome"], "done");
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(second.data()["id"], first.data()["id"]);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_cannot_run_is_refused() {
    let (program, _) = counting();
    let endless = Handlers::default().task("count", |_| std::future::pending());
    let site = Site::builder().await.program(Program(program.0, endless)).open().await;
    for (line, status, code) in [
        ("POST /api/backend/tasks/run?name=nothing", 404, "not_found"),
        ("POST /api/backend/tasks/run?name=count&plugin=other", 404, "not_found"),
        ("POST /api/backend/tasks/run", 400, "bad_query"),
        ("GET /api/backend/tasks/history?name=nothing", 404, "not_found"),
        ("GET /api/backend/tasks/history?plugin=shop", 400, "bad_query"),
        ("GET /api/backend/tasks/history?id=7", 404, "not_found"),
    ] {
        site.admin(line).refused(status, code).await;
    }
    let other = site.admin("POST /api/backend/tasks/run?name=count&plugin=other");
    let refused = other.refused(404, "not_found").await.json();
    assert_eq!(refused["detail"], "There is no task named \"count\" of the plugin \"other\".");
    assert_eq!(site.database.rows("cms_task_runs").await, 0);
    // Who asks has gone: the run goes on, and a second one is refused.
    let asked = site.admin("POST /api/backend/tasks/run?name=count").send();
    let waited = tokio::time::timeout(std::time::Duration::from_secs(1), asked).await;
    assert!(waited.is_err(), "it runs");
    site.admin("POST /api/backend/tasks/run?name=count").refused(409, "conflict").await;
    let runs = site.get("/api/backend/tasks/history?name=count").await;
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["outcome"]), (1, &json!("running")));
    site.cms.close().await;
    assert_eq!(site.database.rows("cms_task_runs where outcome = 'stopped'").await, 1);
}
