//! Who is tried, in which order, and what each answer leads to.

use std::{sync::atomic::Ordering, time::Duration};

use cms_core::{Actor, Secret, mail::MailAddress};
use serde_json::json;

use crate::support::{
    Answer, Receiver, Site, has,
    mail::{
        Say, Smtp, failing_provider, from_shop, json_reply, mail, mailing, over_http, provider,
        scripted, served,
    },
};

/// A site with all three providers.
async fn site(transactional: &Receiver, newsletter: &Receiver, smtp: &Smtp) -> Site {
    mailing(|mail| {
        mail.transactional = over_http("postmark", &transactional.url);
        mail.newsletter = over_http("brevo", &newsletter.url);
        mail.smtp_url = Some(Secret::new(&*smtp.url));
        mail.timeout_s = 5;
    })
    .await
}

async fn states(site: &Site) -> Vec<String> {
    let providers = site.cms.mail().providers().await.unwrap();
    providers.iter().map(|p| format!("{} {} {}", p.name, p.state, p.faults)).collect()
}

#[tokio::test]
async fn the_first_provider_that_works_sends_and_nobody_else_is_asked() {
    let (first, second, smtp) = (provider().await, provider().await, Smtp::start(Say::Take).await);
    let site = site(&first, &second, &smtp).await;
    let id = site.mail("ana@example.com").await;
    assert_eq!(first.count(), 0, "nothing is sent with the request");
    site.send_mails().await;
    assert_eq!(site.mail_story(id).await, "sent: transactional sent");
    let detail = site.mail_detail(id).await;
    assert_eq!(detail.mail.provider.as_deref(), Some("transactional"));
    assert_eq!(detail.attempts[0].provider_id.as_deref(), Some("p0"));
    let [got] = &first.deliveries()[..] else { panic!("one request") };
    assert_eq!(got.headers["x-postmark-server-token"], "t0ken");
    assert_eq!(got.headers["idempotency-key"], detail.message_id);
    has!(got.json(), {"From": "\"Shop\" <shop@example.org>", "To": "ana@example.com"});
    site.send_mails().await;
    assert_eq!((first.count(), second.count(), smtp.connections()), (1, 0, 0));
}

#[tokio::test]
async fn a_dropped_change_sends_nothing_and_a_key_queues_once() {
    let (smtp, site) = served(Say::Take).await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    site.cms.mail().queue(&mut change, &mail("ana@example.com")).await.unwrap();
    drop(change);
    let mut once = mail("ida@example.com");
    once.once = Some("submission 7 notice".to_owned());
    let id = site.queue_mail(&once).await;
    assert_eq!(site.queue_mail(&once).await, id);
    site.send_mails().await;
    let to: Vec<_> = smtp.taken().into_iter().flat_map(|taken| taken.to).collect();
    assert_eq!(to, ["ida@example.com"]);
    assert_eq!(site.queue_mail(&once).await, id, "also when it was sent");
    site.send_mails().await;
    assert_eq!(smtp.taken().len(), 1);
}

#[tokio::test]
async fn another_order_can_be_set() {
    let (first, smtp) = (provider().await, Smtp::start(Say::Take).await);
    let site = mailing(|mail| {
        mail.transactional = over_http("json", &first.url);
        mail.smtp_url = Some(Secret::new(&*smtp.url));
        mail.chain = vec!["smtp".to_owned(), "transactional".to_owned()];
    })
    .await;
    site.try_mail("ana@example.com").await;
    assert_eq!((first.count(), smtp.taken().len()), (0, 1));
    assert_eq!(states(&site).await, ["smtp ready 0", "transactional ready 0"]);
}

#[tokio::test]
async fn providers_that_fail_are_passed_over_rest_and_come_back() {
    let (first, works) = failing_provider().await;
    let second = Receiver::scripted(|_, _| json_reply(401, r#"{"message":"bad t0ken"}"#)).await;
    let smtp = Smtp::start(Say::Take).await;
    let site = site(&first, &second, &smtp).await;
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.push(site.try_mail("ana@example.com").await);
    }
    let story = "sent: transactional fault, newsletter fault, smtp sent";
    assert_eq!(site.mail_story(ids[0]).await, story);
    assert_eq!(site.mail_story(ids[6]).await, "sent: smtp sent", "both rest after five faults");
    assert_eq!((first.count(), second.count(), smtp.taken().len()), (5, 5, 7));
    let resting = ["transactional resting 5", "newsletter resting 5", "smtp ready 0"];
    assert_eq!(states(&site).await, resting);
    let providers = site.cms.mail().providers().await.unwrap();
    assert_eq!(providers[1].reason.as_deref(), Some("answered 401 bad ***"), "no token is shown");
    works.store(true, Ordering::SeqCst);
    site.clock.advance(30_000);
    for _ in 0..3 {
        site.mail("ana@example.com").await;
    }
    site.send_mails().await;
    // One of the three tried each provider that had rested; the first one works again.
    assert_eq!((first.count(), second.count(), smtp.taken().len()), (6, 5, 9));
    assert_eq!(states(&site).await[0], "transactional ready 0");
    site.try_mail("ana@example.com").await;
    assert_eq!(first.count(), 7);
}

#[tokio::test]
async fn a_bad_address_ends_a_mail_and_nobody_else_is_asked() {
    let second = provider().await;
    for reply in [
        r#"{"ErrorCode":406,"Message":"inactive"}"#,
        r#"{"ErrorCode":300,"Message":"Invalid 'To' address: 'x'."}"#,
    ] {
        let first = Receiver::scripted(move |_, _| json_reply(422, reply)).await;
        let smtp = Smtp::start(Say::Take).await;
        let site = site(&first, &second, &smtp).await;
        let id = site.try_mail("ana@example.com").await;
        assert_eq!(site.mail_story(id).await, "failed: transactional recipient");
        assert_eq!(site.database.rows("cms_events where name = 'mail.failed'").await, 1);
        site.clock.advance(86_400_000);
        site.send_mails().await;
        assert_eq!((first.count(), second.count(), smtp.connections()), (1, 0, 0));
        assert_eq!(states(&site).await[0], "transactional ready 0", "not its fault");
    }
}

#[tokio::test]
async fn answers_of_a_mail_server() {
    for (say, story) in [
        (Say::To("550 5.1.1 no such user"), "failed: smtp recipient"),
        (Say::To("554 5.7.1 Relay access denied"), "failed: smtp refused"),
        (Say::To("450 4.2.0 greylisted"), "queued: smtp deferred"),
        (Say::Data("552 5.3.4 too large"), "failed: smtp refused"),
        (Say::Data("554 5.6.0 no"), "failed: smtp refused"),
        (Say::Data("451 later"), "queued: smtp deferred"),
        (Say::Greeting("554 no service"), "queued: smtp fault"),
        (Say::Greeting("421 busy"), "queued: smtp fault"),
        (Say::Greeting("<html>not SMTP</html>"), "queued: smtp fault"),
        (Say::Flood, "queued: smtp fault"),
    ] {
        let (_smtp, site) = served(say).await;
        let id = site.try_mail("ana@example.com").await;
        let detail = site.mail_detail(id).await;
        assert_eq!(site.mail_story(id).await, story, "{say:?} {detail:?}");
        let again = site.clock.now() + 30_000;
        let due = story.starts_with("queued").then(|| cms_core::rfc3339(again));
        assert_eq!(detail.mail.next_attempt_at, due, "{say:?}");
    }
}

#[tokio::test]
async fn what_is_deferred_is_tried_again_with_the_same_id() {
    let (smtp, site) = scripted(|number| match number {
        0 | 1 => Say::To("450 4.2.0 greylisted"),
        _ => Say::Take,
    })
    .await;
    let id = site.mail("ana@example.com").await;
    for wait in [30_000, 120_000] {
        site.send_mails().await;
        assert_eq!(site.mail_detail(id).await.mail.status, "queued");
        site.clock.advance(wait - 1);
        site.send_mails().await;
        site.clock.advance(1);
    }
    assert_eq!(smtp.connections(), 2, "never early");
    site.send_mails().await;
    let detail = site.mail_detail(id).await;
    assert_eq!((detail.mail.status.as_str(), detail.mail.tries), ("sent", 2));
    let [taken] = &smtp.taken()[..] else { panic!("one mail") };
    assert_eq!(taken.header("Message-ID"), Some(detail.message_id));
    assert_eq!(
        (taken.from.as_str(), &*taken.to),
        ("shop@example.org", &["ana@example.com".into()][..])
    );
}

#[tokio::test]
async fn a_provider_that_hangs_or_answers_garbage_is_passed_over() {
    for (answer, why) in [
        (Answer::Silence, "no complete reply within 1 s"),
        (Answer::HangUp, ""),
        (Answer::Raw(b"\x00\x01garbage\r\n\r\n".to_vec()), ""),
        (json_reply(200, "<html>Welcome to the hotel</html>"), "without \"id\""),
        (json_reply(200, &format!("{{\"id\":\"{}\"", "x".repeat(1 << 20))), "without \"id\""),
        (Answer::Status(302), "answered 302"),
        // What was not read may say that the account has no credits left.
        (json_reply(400, &"x".repeat(1 << 20)), "answered 400 without a complete body"),
        (
            Answer::Drip(b"HTTP/1.1 400 No\r\n\r\n{", Duration::from_millis(100)),
            "answered 400 without a complete body",
        ),
    ] {
        let first = Receiver::scripted(move |_, _| answer.clone()).await;
        let smtp = Smtp::start(Say::Take).await;
        let site = mailing(|mail| {
            mail.transactional = over_http("json", &first.url);
            mail.smtp_url = Some(Secret::new(&*smtp.url));
            mail.timeout_s = 1;
        })
        .await;
        let id = site.try_mail("ana@example.com").await;
        assert_eq!(site.mail_story(id).await, "sent: transactional fault, smtp sent", "{why}");
        let reason = site.mail_detail(id).await.attempts[0].reason.clone().unwrap();
        assert!(reason.contains(why) && reason.len() < 1000, "{reason}");
        assert_eq!(smtp.taken().len(), 1);
    }
}

#[tokio::test]
async fn a_mail_server_that_hangs_meets_the_deadline_and_one_that_scans_is_awaited() {
    let smtp = Smtp::scripted(|n| if n == 0 { Say::Mute } else { Say::Scan(3) }).await;
    let site = mailing(|mail| {
        mail.smtp_url = Some(Secret::new(&*smtp.url));
        mail.timeout_s = 1;
    })
    .await;
    let id = site.try_mail("ana@example.com").await;
    assert_eq!(site.mail_story(id).await, "queued: smtp fault");
    site.clock.advance(30_000);
    site.send_mails().await;
    assert_eq!(site.mail_story(id).await, "sent: smtp fault, smtp sent");
}

#[tokio::test]
async fn a_long_reply_of_a_provider_is_read_whole() {
    let body = json!({"padding": "x".repeat(5_000), "id": 7}).to_string();
    let first = Receiver::scripted(move |_, _| json_reply(200, &body)).await;
    let site = mailing(|mail| mail.transactional = over_http("json", &first.url)).await;
    let id = site.try_mail("ana@example.com").await;
    assert_eq!(site.mail_story(id).await, "sent: transactional sent");
}

#[tokio::test]
async fn who_takes_only_ascii_gets_no_other_reply_to_and_no_other_recipient() {
    let (first, smtp) = (provider().await, Smtp::start(Say::Ascii).await);
    let site = mailing(|mail| {
        mail.transactional = over_http("postmark", &first.url);
        mail.smtp_url = Some(Secret::new(&*smtp.url));
        mail.chain = vec!["smtp".to_owned(), "transactional".to_owned()];
    })
    .await;
    let mut notice = mail("ana@example.com");
    notice.reply_to = Some(MailAddress::parse("jörg@example.net").unwrap());
    let id = site.queue_mail(&notice).await;
    site.send_mails().await;
    assert_eq!(site.mail_story(id).await, "sent: smtp sent");
    assert_eq!(smtp.taken()[0].header("Reply-To"), None);
    let id = site.try_mail("jörg@example.net").await;
    assert_eq!(site.mail_story(id).await, "failed: smtp refused, transactional refused");
    assert_eq!(first.count(), 0);
}

#[tokio::test]
async fn a_mail_that_all_refuse_is_given_up_at_once() {
    let first = Receiver::scripted(|_, _| json_reply(422, r#"{"Message":"no"}"#)).await;
    let second = Receiver::scripted(|_, _| json_reply(400, r#"{"message":"no"}"#)).await;
    let smtp = Smtp::start(Say::Data("554 5.6.0 no")).await;
    let site = site(&first, &second, &smtp).await;
    let id = site.try_mail("ana@example.com").await;
    let story = "failed: transactional refused, newsletter refused, smtp refused";
    assert_eq!(site.mail_story(id).await, story);
    let why = site.mail_detail(id).await.mail.reason.unwrap();
    assert_eq!(why, "smtp: at the message: 554 5.6.0 no");
}

#[tokio::test]
async fn a_mail_is_given_up_after_three_days() {
    let (smtp, site) = served(Say::To("450 later")).await;
    let id = site.mail("ana@example.com").await;
    let mut rounds = 0;
    while site.mail_detail(id).await.mail.status == "queued" {
        site.send_mails().await;
        site.clock.advance(14_400_000);
        rounds += 1;
        assert!(rounds < 50, "it ends");
    }
    assert_eq!((rounds, smtp.connections()), (23, 23));
    assert_eq!(site.mail_detail(id).await.mail.status, "failed");
}

#[tokio::test]
async fn without_a_provider_mails_wait_and_are_sent_later() {
    let site = Site::open().await;
    let id = site.try_mail("ana@example.com").await;
    assert_eq!(site.mail_story(id).await, "queued");
    let refused = site.admin("POST /api/backend/mail/test").json(json!({"to": "a@example.com"}));
    refused.refused(409, "conflict").await;
    site.cms.close().await;
    let smtp = Smtp::start(Say::Take).await;
    let again = Site::on(site.database).settings(|settings| {
        from_shop(settings);
        settings.mail.smtp_url = Some(Secret::new(&*smtp.url));
    });
    again.open().await.send_mails().await;
    assert_eq!(smtp.taken().len(), 1);
}
