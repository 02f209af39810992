//! A process that is killed while it sends: nothing is lost, and only what was under way may come
//! twice.

use std::collections::BTreeMap;

use cms_core::{Actor, Clock, Cms, Secret};
use serde_json::json;

use crate::support::{
    TestDatabase,
    mail::{Say, Smtp, mail},
    process::{self, Served},
};

const MAILS: usize = 60;
/// Mails that a process sends at once.
const SLOTS: usize = 16;

async fn open(database: &TestDatabase, smtp: &Smtp, clock: Clock) -> Cms {
    let mut settings = database.settings();
    settings.mail.from = Some("shop@example.org".to_owned());
    settings.mail.smtp_url = Some(Secret::new(&*smtp.url));
    Cms::builder(settings).clock(clock).open().await.unwrap()
}

/// A new site with some mails in its outbox.
async fn queued(smtp: &Smtp, clock: Clock, mails: usize) -> TestDatabase {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let cms = open(&database, smtp, clock).await;
    let mut change = cms.change(Actor::System).await.unwrap();
    for n in 0..mails {
        cms.mail().queue(&mut change, &mail(&format!("a{n}@example.com"))).await.unwrap();
    }
    change.commit().await.unwrap();
    cms.close().await;
    database
}

/// Cron runs this where `serve --no-worker` runs, so mails must not wait for anybody else.
#[tokio::test(flavor = "multi_thread")]
async fn process_webhooks_sends_what_is_due() {
    let smtp = Smtp::scripted(|n| if n == 0 { Say::To("450 later") } else { Say::Take }).await;
    let database = queued(&smtp, Clock::system(), 20).await;
    let mut command =
        process::command(&database, &["--json", "process-webhooks", "--time-limit=60"]);
    command.env("CMS_MAIL__FROM", "shop@example.org").env("CMS_MAIL__SMTP_URL", &smtp.url);
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let reply: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(reply["data"]["mails"], json!({"sent": 19, "retried": 1, "failed": 0}));
    assert_eq!((&reply["data"]["drained"], smtp.taken().len()), (&json!(true), 19));
}

/// A run of cron says what keeps mails waiting when somebody can mend it, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn process_webhooks_begins_no_mail_that_could_outlast_it() {
    let smtp = Smtp::start(Say::Take).await;
    let database = queued(&smtp, Clock::system(), 2).await;
    let run = |limit: &str, variables: &[(&str, &str)]| {
        let limit = format!("--time-limit={limit}");
        let mut command = process::command(&database, &["process-webhooks", &limit]);
        command.envs(variables.iter().copied());
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    };
    let slow = [
        ("CMS_MAIL__FROM", "shop@example.org"),
        ("CMS_MAIL__SMTP_URL", smtp.url.as_str()),
        ("CMS_MAIL__TIMEOUT_S", "30"),
    ];
    let told = run("25", &slow);
    assert!(told.contains("No mail is sent") && told.contains("--time-limit=32"), "{told}");
    assert_eq!(smtp.connections(), 0);
    let told = run("25", &[]);
    assert!(!told.contains("WARN"), "cron sends every line by mail: {told}");
    assert!(told.contains("2 mails waiting: set mail.from and"), "{told}");
    assert!(told.contains("no other work is due"), "{told}");
    run("32", &slow);
    assert_eq!(smtp.taken().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_a_kill_nothing_is_lost() {
    // Takes twenty mails, then holds every answer back.
    let smtp = Smtp::scripted(|number| if number < 20 { Say::Take } else { Say::Silence }).await;
    let now = Clock::system();
    let database = queued(&smtp, now.clone(), MAILS).await;
    let variables = [
        ("CMS_MAIL__FROM", "shop@example.org"),
        ("CMS_MAIL__SMTP_URL", smtp.url.as_str()),
        ("CMS_MAIL__TIMEOUT_S", "30"),
    ];
    let mut served = Served::start_with(&database, "warn", &variables);
    smtp.reached(20 + SLOTS).await;
    served.kill();
    assert_eq!(smtp.taken().len(), 20);
    // The leases of the dead process are over.
    let (second, later) = (Smtp::start(Say::Take).await, Clock::fixed(now.now() + 360_000));
    let cms = open(&database, &second, later.clone()).await;
    let mut postman = cms.mail().postman();
    let mut steps = 0;
    while cms.mail().waiting().await.unwrap().0 > 0 || steps < 8 {
        postman.step().await.unwrap();
        later.advance(1_000);
        steps += 1;
        assert!(steps < 100, "the mails go");
    }
    let mut arrived: BTreeMap<String, usize> = BTreeMap::new();
    let held = smtp.held();
    for got in smtp.taken().iter().chain(&held).chain(&second.taken()) {
        *arrived.entry(got.header("Message-ID").unwrap()).or_default() += 1;
    }
    assert_eq!(arrived.len(), MAILS, "nothing is lost");
    for got in &held {
        assert_eq!(arrived[&got.header("Message-ID").unwrap()], 2, "nobody said it was taken");
    }
    let twice = arrived.values().filter(|times| **times > 1).count();
    assert!(twice <= SLOTS, "{twice} mails came twice, more than were under way");
    assert!(arrived.values().all(|times| *times <= 2));
    cms.close().await;
}
