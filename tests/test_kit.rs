//! The kit for tests of programs: `cms_core::testing` and `cms_http::testing`.

use std::time::Duration;

use cms_core::{
    Result, content,
    mail::{Mail, MailAddress, Subject},
    plugins::{EventCall, Handlers, Manifest, Plugin},
    testing::{Answer, Receiver, TestSite, masked},
};
use cms_http::{Api, testing::ask};
use serde::{Deserialize, Serialize};
use serde_json::json;

content! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Note in "notes" {
        id: i64,
        text: String,
    }
}

/// Answers each note with a mail; a note that says `loop` with another one.
struct Notes;

impl Plugin for Notes {
    fn manifest(&self) -> Manifest {
        let text = json!({"name": "text", "type": "text", "required": true});
        let tables = json!([{"name": "notes", "columns": [text]}]);
        serde_json::from_value(json!({"id": "notes", "tables": tables})).unwrap()
    }

    fn handlers(&self) -> Handlers {
        Handlers::default().on("item.notes.created", "answer", answer)
    }
}

async fn answer(call: EventCall) -> Result<()> {
    let record: serde_json::Value = call.event().data_as()?;
    let text = record["record"]["text"].as_str().unwrap_or_default().to_owned();
    let mut change = call.change().await?;
    match text.as_str() {
        "loop" => {
            let note = Note { id: 0, text };
            call.items().of::<Note>().create(&mut change, &note).await?;
        }
        _ => {
            let to = MailAddress::parse("ada@example.org").expect("an address");
            let mail = Mail::new("note.answer", to, Subject::of("Noted"), format!("{text}\n"));
            call.cms()?.mail().queue(&mut change, &mail).await?;
        }
    }
    change.commit().await
}

const NOTHING: [&str; 0] = [];

fn note(number: usize) -> Note {
    Note { id: 0, text: format!("note {number}") }
}

#[tokio::test]
async fn a_program_is_tested_from_its_events_to_its_mails() {
    let site = TestSite::builder().await.plugin(Notes).content::<Note>().open().await;
    let receiver = Receiver::scripted(|number, _| match number {
        0 => Answer::Status(503),
        _ => Answer::Json(200, json!({})),
    })
    .await;
    let secret = site.subscribe(&receiver, &["item.notes.created"]).await;
    assert_eq!(site.fired().await, NOTHING);

    let notes = site.make(2, note).await;
    assert_eq!(notes[1], Note { id: 2, text: "note 2".to_owned() });
    assert_eq!(site.mails(), [], "nothing is sent by itself");
    site.step_until_idle().await;
    assert_eq!(site.fired().await, ["item.notes.created"; 2]);
    assert_eq!(site.fired().await, NOTHING, "each is told once");
    let mut mails = site.mails();
    mails.sort_by(|one, other| one.text.cmp(&other.text));
    let told: Vec<_> = mails.iter().map(|mail| (&*mail.to, &*mail.subject, &*mail.text)).collect();
    let expected = ["note 1\n", "note 2\n"].map(|text| ("ada@example.org", "Noted", text));
    assert_eq!(told, expected);

    assert_eq!(receiver.count(), 2, "one was refused");
    site.forward(Duration::from_secs(3600)).await;
    let deliveries = receiver.deliveries();
    assert_eq!(deliveries.len(), 3);
    assert_eq!(deliveries[2].verify(&secret, &site.clock), Ok(()));
    let mut forged = deliveries[2].clone();
    forged.body.push(b' ');
    assert!(forged.verify(&secret, &site.clock).is_err());
    site.close().await;
}

#[tokio::test]
#[should_panic(expected = "the site has work after 50 rounds")]
async fn work_without_end_is_told() {
    let site = TestSite::builder().await.plugin(Notes).open().await;
    site.make(1, |_| Note { id: 0, text: "loop".to_owned() }).await;
    site.step_until_idle().await;
}

#[tokio::test]
async fn a_site_opens_again_and_makes_other_ids() {
    let site = TestSite::builder().await.plugin(Notes).open().await;
    let (first, made) = (site.key(&["*"]).await, site.make(1, note).await);
    site.cms.close().await;
    let site = TestSite::on(site.database).await.plugin(Notes).open().await;
    assert_ne!(site.key(&["*"]).await, first);
    assert_eq!(site.cms.items().of::<Note>().get(made[0].id).await.unwrap(), made[0]);
    site.close().await;

    let same = TestSite::builder().await.plugin(Notes).open().await;
    assert_eq!(same.key(&["*"]).await, first, "the same seed, the same sequence");
    let other = TestSite::builder().await.plugin(Notes).seed(7).open().await;
    assert_ne!(other.key(&["*"]).await, first);
}

#[tokio::test]
async fn a_faulty_plugin_is_told_with_its_faults() {
    struct Faulty;
    impl Plugin for Faulty {
        fn manifest(&self) -> Manifest {
            let column = json!({"name": "a", "type": "no such"});
            let tables = json!([{"name": "cms_own", "columns": [column]}]);
            serde_json::from_value(json!({"id": "faulty", "tables": tables})).unwrap()
        }
    }
    let refused = TestSite::builder().await.plugin(Faulty).try_open().await;
    let refused = refused.err().expect("it is refused").to_string();
    assert!(refused.contains("/tables/0/name"), "{refused}");
}

#[tokio::test]
async fn replies_are_asked_for_and_masked() {
    let site = TestSite::builder().await.plugin(Notes).open().await;
    let api = Api::new(site.cms.clone()).unwrap();
    let key = site.key(&["*"]).await;
    let line = "POST /api/backend/item?table=notes";
    let made = ask(&api, line).key(&key).json(json!({"text": "hello"})).expect(201).await;
    assert_eq!(masked(&made.data()), json!({"id": "[id:1]", "text": "hello"}));
    let refused = ask(&api, line).json(json!({"text": "hello"})).refused(401, "login_required");
    refused.await;
    let keys = ask(&api, "GET /api/backend/keys").key(&key).expect(200).await.data();
    let seen =
        masked(&json!([keys[0]["id"], cms_core::rfc3339(site.clock.now()), key, key, "whsec_x"]));
    let expected = json!([keys[0]["id"], "[time:1]", "[secret:1]", "[secret:1]", "[secret:2]"]);
    assert_eq!(seen, expected);
    site.close().await;
}
