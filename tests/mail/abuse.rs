//! Addresses, headers and values that try to be more than they are; who gets automatic replies.

use cms_core::{
    Actor,
    mail::{Mail, MailAddress, Subject, escape_html, shortened},
};

use crate::support::{
    mail::{Say, mail, served},
    site::NOW,
};

const HOSTILE: &str =
    "x\r\nBcc: victim@example.org\r\n\r\n<script>alert(1)</script>\n.\r\nQUIT\r\n";

#[tokio::test]
async fn no_value_becomes_a_header_or_a_command() {
    let (smtp, site) = served(Say::Take).await;
    let mut mail = mail("ana@example.com");
    mail.subject = Subject::of(HOSTILE);
    mail.text = HOSTILE.to_owned();
    mail.html = Some(format!("<p>{}</p>", escape_html(HOSTILE)));
    site.queue_mail(&mail).await;
    site.send_mails().await;
    let [taken] = &smtp.taken()[..] else { panic!("one mail") };
    assert_eq!(taken.to, ["ana@example.com"]);
    assert_eq!(taken.header("Bcc"), None);
    assert!(taken.header("Subject").unwrap().starts_with("x Bcc: victim@example.org"));
    let unfolded = taken.message.replace("=\r\n", "");
    let (_, html) = unfolded.split_once("text/html").unwrap();
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    assert!(!html.contains("<script>"), "{html}");
    assert!(taken.message.contains("\r\n.\r\nQUIT\r\n"), "the dots arrive: {}", taken.message);
    for address in [
        "ana@example.com\r\nRCPT TO:<b@example.org>",
        "ana@example.com>, <b@example.org",
        "a,b@example.org",
        "Ana <ana@example.org>",
        "ana@localhost",
        "\"a b\"@example.org",
        "ana@[127.0.0.1]",
        "",
    ] {
        assert_eq!(MailAddress::parse(address).unwrap_err().fields()[0].field, "to", "{address:?}");
    }
}

#[tokio::test]
async fn international_addresses_arrive() {
    let (smtp, site) = served(Say::Take).await;
    for address in ["jörg@bücher.example", "用户@例子.example", "ana@bücher.example"] {
        let id = site.try_mail(address).await;
        assert_eq!(site.mail_detail(id).await.mail.status, "sent", "{address}");
    }
    let to: Vec<_> = smtp.taken().into_iter().flat_map(|taken| taken.to).collect();
    let bücher = "xn--bcher-kva.example";
    assert_eq!(
        to,
        [format!("jörg@{bücher}"), "用户@xn--fsqu00a.example".into(), format!("ana@{bücher}")]
    );
}

#[tokio::test]
async fn ten_megabytes_are_refused_and_shortened_values_arrive() {
    let (smtp, site) = served(Say::Take).await;
    let large = "ä\n".repeat(5 << 20);
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let mut mail = mail("ana@example.com");
    mail.text = large.clone();
    let error = site.cms.mail().queue(&mut change, &mail).await.unwrap_err();
    assert_eq!((error.fields()[0].field.as_str(), error.fields()[0].code), ("text", "max_length"));
    drop(change);
    mail.text = shortened(&large, 10_000).into_owned();
    mail.html = Some(escape_html(&"<".repeat(10 << 20)[..100_000]));
    mail.subject = Subject::of(&large);
    let id = site.queue_mail(&mail).await;
    site.send_mails().await;
    assert_eq!(site.mail_detail(id).await.mail.status, "sent");
    let taken = smtp.taken();
    assert_eq!(taken.len(), 1, "the refused one left no row");
    assert!(taken[0].message.lines().all(|line| line.len() <= 998), "RFC 5322, 2.1.1");
}

fn reply(to: &str) -> Mail {
    let mut reply =
        Mail::new("form.reply", MailAddress::parse(to).unwrap(), Subject::of("Thanks"), "");
    reply.auto_reply = true;
    reply
}

#[tokio::test]
async fn automatic_replies_are_rationed_by_mailbox_and_day() {
    let (smtp, site) = served(Say::Take).await;
    let mut dropped = 0;
    for n in 0..8 {
        let to = ["ana.b@gmail.com", "ANA.B@gmail.com", "anab+x@googlemail.com"][n % 3];
        let id = site.queue_mail(&reply(to)).await;
        let mail = site.mail_detail(id).await.mail;
        if n < 5 {
            assert_eq!((mail.status.as_str(), mail.reason), ("queued", None));
        } else {
            dropped += 1;
            assert_eq!(mail.status, "dropped");
            assert_eq!(mail.reason.unwrap(), "the address has had 5 automatic replies today");
        }
    }
    let other = site.queue_mail(&reply("ida@example.com")).await;
    assert_eq!(site.mail_detail(other).await.mail.status, "queued");
    site.send_mails().await;
    assert_eq!((smtp.taken().len(), dropped), (6, 3));
    // Other mails to the address are not replies.
    site.mail("ana.b@gmail.com").await;
    site.clock.advance(86_400_000 - NOW % 86_400_000);
    let next = site.queue_mail(&reply("ana.b@gmail.com")).await;
    assert_eq!(site.mail_detail(next).await.mail.status, "queued", "a new day");
}

#[tokio::test]
async fn replies_cannot_go_in_circles() {
    let (smtp, site) = served(Say::Take).await;
    for robot in ["mailer-daemon@example.com", "No-Reply@example.com", "shop@example.org"] {
        let id = site.queue_mail(&reply(robot)).await;
        assert_eq!(site.mail_detail(id).await.mail.status, "dropped", "{robot}");
    }
    site.queue_mail(&reply("ana@example.com")).await;
    site.try_mail("ana@example.com").await;
    let mut taken = smtp.taken();
    taken.sort_by_key(|taken| taken.header("Subject"));
    let told: Vec<_> = taken.iter().map(|t| (&*t.from, t.header("Auto-Submitted"))).collect();
    let auto = |text: &str| Some(text.to_owned());
    assert_eq!(told, [("shop@example.org", auto("auto-generated")), ("", auto("auto-replied"))]);
    assert!(taken.iter().all(|t| t.header("X-Auto-Response-Suppress") == auto("All")));
}
