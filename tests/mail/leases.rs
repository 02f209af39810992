//! Mails whose postman died, lost its lease or is still at work, and mails that nobody ever sent.

use std::time::Duration;

use cms_core::{Actor, Outcomes, Until, mail::MailAddress};
use futures_util::StreamExt as _;
use serde_json::{Value as Json, json};
use tokio::task::JoinHandle;

use crate::support::{
    Site,
    mail::{Say, Smtp, scripted, served},
};

const DAY_MS: i64 = 86_400_000;
/// How long a worker owns a mail.
const LEASE_MS: i64 = 300_000;

#[tokio::test]
async fn a_lost_lease_is_a_try_and_a_mail_that_ends_its_workers_is_given_up() {
    let (smtp, site) = served(Say::Take).await;
    let (first, last) = (site.mail("ana@example.com").await, site.mail("ida@example.com").await);
    let now = site.clock.now();
    let claimed = format!("update cms_mails set status = 'sending', lease_until = {now} - 1");
    site.database.run(claimed).await;
    site.database.run(format!("update cms_mails set tries = 22 where id = {last}")).await;
    let mut failed = site.cms.events().subscribe("mail.failed").live().await.unwrap();
    site.send_mails().await;
    let event = failed.next().await.expect("an open site");
    let expected = json!({"mail": {"id": last, "purpose": "form.notice"}});
    assert_eq!(event.data_as::<Json>().unwrap(), expected);
    let (first, last) = (site.mail_detail(first).await.mail, site.mail_detail(last).await.mail);
    assert_eq!((first.status.as_str(), first.tries), ("sent", 1));
    assert_eq!((last.status.as_str(), last.tries), ("failed", 23));
    assert_eq!(last.reason.as_deref(), Some("its postman died or was too slow"));
    assert!(last.settled_at.is_some());
    assert_eq!(smtp.taken().len(), 1);
}

#[tokio::test]
async fn a_mail_that_waited_too_long_is_given_up_and_shown_until_retention_removes_it() {
    let (smtp, site) = served(Say::Take).await;
    let id = site.mail("ana@example.com").await;
    site.clock.advance(29 * DAY_MS);
    site.cms.upkeep().await;
    assert_eq!(site.mail_detail(id).await.mail.status, "queued");
    let mut failed = site.cms.events().subscribe("mail.failed").live().await.unwrap();
    site.clock.advance(2 * DAY_MS);
    site.cms.upkeep().await;
    let event = failed.next().await.expect("an open site");
    let expected = json!({"mail": {"id": id, "purpose": "form.notice"}});
    assert_eq!(event.data_as::<Json>().unwrap(), expected);
    let mail = site.mail_detail(id).await.mail;
    assert_eq!(mail.status, "failed");
    assert_eq!(mail.reason.as_deref(), Some("it waited longer than mails are kept"));
    site.clock.advance(31 * DAY_MS);
    site.cms.upkeep().await;
    assert!(site.cms.mail().detail(id).await.is_err(), "removed");
    assert_eq!(smtp.connections(), 0);
}

/// A round of another worker, under way until its server answers.
async fn under_way(site: &Site, smtp: &Smtp, connections: usize) -> JoinHandle<Outcomes> {
    let mut postman = site.cms.mail().postman();
    let round = tokio::spawn(async move { postman.step().await.unwrap() });
    smtp.reached(connections).await;
    round
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_changes_nothing_and_its_attempt_is_logged() {
    let (smtp, site) = scripted(|n| if n == 0 { Say::Wait } else { Say::To("450 later") }).await;
    let id = site.mail("ana@example.com").await;
    let slow = under_way(&site, &smtp, 1).await;
    site.clock.advance(LEASE_MS + 1);
    site.send_mails().await;
    smtp.open();
    let outcomes = slow.await.unwrap();
    assert_eq!((outcomes.done, outcomes.lost), (0, 1));
    let mail = site.mail_detail(id).await.mail;
    // A lease that was lost, and a round that failed.
    assert_eq!(mail.tries, 2);
    assert_eq!(site.mail_story(id).await, "queued: smtp deferred, smtp sent");
}

#[tokio::test]
async fn who_sent_a_mail_too_late_says_so_while_nobody_else_has_it() {
    for taken_back in ["status = 'queued'", "status = 'failed', settled_at = 1"] {
        let (smtp, site) = served(Say::Wait).await;
        let id = site.mail("ana@example.com").await;
        let slow = under_way(&site, &smtp, 1).await;
        let back = format!("update cms_mails set {taken_back}, lease_until = null where id = {id}");
        site.database.run(back).await;
        smtp.open();
        assert_eq!(slow.await.unwrap().done, 1, "{taken_back}");
        site.send_mails().await;
        assert_eq!(site.mail_detail(id).await.mail.status, "sent", "{taken_back}");
        assert_eq!(smtp.taken().len(), 1, "once");
    }
}

#[tokio::test]
async fn a_probe_that_dies_keeps_its_provider_at_rest_until_its_lease_ends() {
    let (smtp, site) = scripted(|n| match n {
        0..5 => Say::Greeting("421 busy"),
        5 => Say::Silence,
        _ => Say::Take,
    })
    .await;
    let first = site.mail("ana@example.com").await;
    while smtp.connections() < 5 {
        site.send_mails().await;
        site.clock.advance(2 * 3_600_000);
    }
    let probe = under_way(&site, &smtp, 6).await;
    probe.abort();
    assert!(probe.await.is_err());
    let second = site.mail("ida@example.com").await;
    site.clock.advance(LEASE_MS - 1);
    site.send_mails().await;
    let [provider] = &site.cms.mail().providers().await.unwrap()[..] else { panic!("one") };
    assert_eq!((provider.state.as_str(), smtp.connections()), ("resting", 6));
    site.clock.advance(2);
    for _ in 0..2 {
        site.send_mails().await;
    }
    for id in [first, second] {
        assert_eq!(site.mail_detail(id).await.mail.status, "sent");
    }
    assert_eq!(site.cms.mail().providers().await.unwrap()[0].state, "ready");
}

#[tokio::test]
async fn a_site_that_closes_waits_for_its_test_mails() {
    let (smtp, site) = served(Say::Wait).await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let to = MailAddress::parse("ana@example.com").unwrap();
    let claimed = site.cms.mail().claim_test(&mut change, to, None).await.unwrap();
    change.commit().await.unwrap();
    let id = claimed.id();
    // Nobody waits for its end.
    drop(site.cms.mail().begin(claimed));
    smtp.reached(1).await;
    let mut closing = Box::pin(site.cms.close());
    let early = tokio::time::timeout(Duration::from_millis(300), &mut closing).await;
    assert!(early.is_err(), "it waits");
    let mail = site.mail_detail(id).await.mail;
    assert_eq!((mail.status.as_str(), mail.tries), ("sending", 0), "for the mail");
    smtp.open();
    closing.await;
    let site = Site::on(site.database).open().await;
    assert_eq!(site.mail_story(id).await, "sent: smtp sent");
}

#[tokio::test]
async fn a_test_mail_whose_process_died_fails() {
    let (smtp, site) = served(Say::Take).await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let to = MailAddress::parse("ana@example.com").unwrap();
    let claimed = site.cms.mail().claim_test(&mut change, to, None).await.unwrap();
    change.commit().await.unwrap();
    site.clock.advance(LEASE_MS + 1);
    site.send_mails().await;
    let mail = site.mail_detail(claimed.id()).await.mail;
    assert_eq!((mail.status.as_str(), mail.tries), ("failed", 1));
    assert_eq!(smtp.connections(), 0);
}

/// The mail whose turn it is to try a provider that rested lets all others follow, in the same run.
#[tokio::test]
async fn a_run_that_drains_goes_on_after_its_probe() {
    let (smtp, site) =
        scripted(|n| if n < 5 { Say::Greeting("421 busy") } else { Say::Take }).await;
    site.mail("ana@example.com").await;
    while smtp.connections() < 5 {
        site.send_mails().await;
        site.clock.advance(2 * 3_600_000);
    }
    assert_eq!(site.cms.mail().providers().await.unwrap()[0].state, "probing");
    for _ in 0..2 {
        site.mail("ida@example.com").await;
    }
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let run = site.cms.mail().postman().run(stopped, true);
    let until = tokio::time::timeout(Duration::from_secs(60), run).await.expect("it drains");
    assert_eq!((until, smtp.taken().len()), (Until::Drained, 3));
}
